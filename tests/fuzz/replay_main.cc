// Gives a fuzz target the inputs that the command line names: files, and
// folders of files. In place of libFuzzer's main.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

namespace files = std::filesystem;

std::vector<files::path> FilesIn(const files::path& path) {
  if (!files::is_directory(path)) return {path};
  std::vector<files::path> found;
  for (const auto& entry : files::directory_iterator(path)) {
    found.push_back(entry.path());
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const files::path& path : FilesIn(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      const std::string content((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
      if (!file.good() && !file.eof()) {
        std::fprintf(stderr, "%s cannot be read\n", path.c_str());
        return 1;
      }
      // Before the target has it: the last line names the input that it died
      // of.
      std::fprintf(stderr, "%s\n", path.c_str());
      LLVMFuzzerTestOneInput(
          reinterpret_cast<const std::uint8_t*>(content.data()),
          content.size());
      ++inputs;
    }
  }
  std::fprintf(stderr, "%zu inputs\n", inputs);
  // A test without inputs would show nothing.
  return inputs == 0 ? 1 : 0;
}
