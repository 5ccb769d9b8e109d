// Kernel images, cubins and PTX, as the simulated driver reads them: whatever
// the bytes are, it takes them or refuses them, and reads none behind their
// end.

#include <cstring>
#include <string>

#include "csrc/sim/images.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/guarded_memory.h"

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// Where an image and its null character end: a call does not tell how long it
// is.
char* EndOfMemory() {
  static unsigned char* const memory = kvswap::tests::GuardedMemory(kMostBytes);
  return reinterpret_cast<char*>(memory) + kMostBytes;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size >= kMostBytes) return 0;
  char* const image_bytes = EndOfMemory() - size - 1;
  if (size != 0) std::memcpy(image_bytes, data, size);
  image_bytes[size] = '\0';
  kvswap::sim::Image image;
  std::string why;
  const auto result = kvswap::sim::ParseImage(image_bytes, &image, &why);
  if (result == kvswap::abi::kSuccess) {
    for (const auto& kernel : image.kernels) FUZZ_CHECK(!kernel.name.empty());
    kvswap::sim::CheckImage(image, 13000, 90, &why);
  } else {
    FUZZ_CHECK(!why.empty());
  }
  return 0;
}
