// Kernel images, cubins and PTX, as the simulated driver reads them: whatever
// the bytes are, it takes them or refuses them, and reads none behind their
// end.

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "csrc/sim/images.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// Memory with an end that cannot be passed: a call with an image does not tell
// how long it is.
class EndOfMemory {
 public:
  EndOfMemory() {
    const auto page = static_cast<std::size_t>(getpagesize());
    void* memory = mmap(nullptr, kMostBytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(memory != MAP_FAILED);
    end_ = static_cast<char*>(memory) + kMostBytes;
    FUZZ_CHECK(mprotect(end_, page, PROT_NONE) == 0);
  }
  // Puts bytes right before it, and a null character.
  const char* Put(const std::uint8_t* data, std::size_t size) {
    char* const start = end_ - size - 1;
    if (size != 0) std::memcpy(start, data, size);
    start[size] = '\0';
    return start;
  }

 private:
  char* end_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static auto* const memory = new EndOfMemory;
  if (size >= kMostBytes) return 0;
  kvswap::sim::Image image;
  std::string why;
  const auto result =
      kvswap::sim::ParseImage(memory->Put(data, size), &image, &why);
  if (result == kvswap::abi::kSuccess) {
    for (const auto& kernel : image.kernels) FUZZ_CHECK(!kernel.name.empty());
    kvswap::sim::CheckImage(image, 13000, 90, &why);
  } else {
    FUZZ_CHECK(!why.empty());
  }
  return 0;
}
