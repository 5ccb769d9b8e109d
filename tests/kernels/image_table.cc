// Prints the table of device images that it is linked with, a line of JSON for
// each, and writes their data into the folder that it is given: 0, 1, ….

#include <cstddef>
#include <cstdio>
#include <string>

#include "csrc/kernels/kernel_images.h"

int main(int argc, char** argv) {
  using kvswap::kernels::kKernelImageCount;
  using kvswap::kernels::kKernelImages;
  if (argc != 2) return 2;
  for (std::size_t i = 0; i < kKernelImageCount; ++i) {
    const kvswap::kernels::KernelImage& image = kKernelImages[i];
    std::printf(
        "{\"name\": \"%s\", \"compute_capability\": %d, \"is_ptx\": %s, "
        "\"parameter_bytes\": %u, \"has_bulk\": %s}\n",
        image.name, image.compute_capability, image.is_ptx ? "true" : "false",
        image.parameter_bytes, image.has_bulk ? "true" : "false");
    const std::string path = std::string(argv[1]) + "/" + std::to_string(i);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr ||
        std::fwrite(image.data, 1, image.size, file) != image.size ||
        std::fclose(file) != 0) {
      return 1;
    }
  }
  return 0;
}
