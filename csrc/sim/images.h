// Kernel images: what a driver reads out of a cubin or out of PTX before it
// runs either.

#ifndef KVSWAP_SIM_IMAGES_H_
#define KVSWAP_SIM_IMAGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "csrc/sim/driver_abi.h"

namespace kvswap::sim {

struct ImageKernel {
  std::string name;
  std::size_t parameter_bytes = 0;
  unsigned max_threads = 0;  // of a block, by its launch bounds; 0: none
  std::size_t static_shared_bytes = 0;
};

struct Image {
  // Which devices run it, beside the capability that it was made for.
  enum class Runs {
    kNewer,        // all newer ones: PTX
    kSameMajor,    // newer ones of the same major: cubins and sm_100f
    kNothingElse,  // sm_90a
  };

  bool is_ptx = false;
  int compute_capability = 0;  // as 90 for 9.0
  Runs runs = Runs::kNewer;
  int ptx_version = 0;    // as 87 for 8.7
  int oldest_driver = 0;  // as 12080
  std::vector<ImageKernel> kernels;

  bool RunsOn(int device_capability) const;
};

// Reads an image. kErrorInvalidImage or kErrorInvalidPtx where it is none that
// is understood, and then why.
Result ParseImage(const void* data, Image* image, std::string* why);

// What a driver of a version says to an image for a device: kSuccess, or the
// code of its refusal and why.
Result CheckImage(const Image& image, int driver_version, int device_capability,
                  std::string* why);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_IMAGES_H_
