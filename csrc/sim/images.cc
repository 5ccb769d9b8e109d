#include "csrc/sim/images.h"

#include <algorithm>
#include <cstring>

#include "csrc/sim/cubin.h"
#include "csrc/sim/options.h"
#include "csrc/sim/ptx.h"

namespace kvswap::sim {
namespace {

// Kernels with more parameters came with this version.
constexpr std::size_t kSmallParameterBytes = 4096;
constexpr int kLargeParametersVersion = 12010;

std::string FormatCapability(int capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

}  // namespace

bool Image::RunsOn(int device_capability) const {
  switch (runs) {
    case Runs::kNewer:
      return device_capability >= compute_capability;
    case Runs::kSameMajor:
      return device_capability >= compute_capability &&
             device_capability / 10 == compute_capability / 10;
    case Runs::kNothingElse:
      break;
  }
  return device_capability == compute_capability;
}

Result ParseImage(const void* data, Image* image, std::string* why) {
  if (IsElf(data)) return ParseCubin(data, image, why);
  return ParsePtx(static_cast<const char*>(data), image, why);
}

Result CheckImage(const Image& image, int driver_version, int device_capability,
                  std::string* why) {
  const bool large =
      std::any_of(image.kernels.begin(), image.kernels.end(),
                  [](const ImageKernel& kernel) {
                    return kernel.parameter_bytes > kSmallParameterBytes;
                  });
  const int oldest =
      std::max(image.oldest_driver, large ? kLargeParametersVersion : 0);
  if (driver_version < oldest) {
    *why = "the image needs a driver of CUDA " + FormatVersion(oldest) +
           ", this one is of " + FormatVersion(driver_version);
    if (!image.is_ptx) return abi::kErrorInvalidImage;
    return driver_version < image.oldest_driver
               ? abi::kErrorUnsupportedPtxVersion
               : abi::kErrorInvalidPtx;
  }
  if (!image.RunsOn(device_capability)) {
    *why = "the image is for compute capability " +
           FormatCapability(image.compute_capability) + ", the device has " +
           FormatCapability(device_capability);
    return image.is_ptx ? abi::kErrorInvalidPtx : abi::kErrorNoBinaryForGpu;
  }
  return abi::kSuccess;
}

}  // namespace kvswap::sim
