// Lists of mappings as /proc/self/maps has them, to kvswap and to the simulated
// driver, which read them by themselves: neither passes an end, and in a list
// that is in order both agree with a slow model.
//
// An input is a range, of 4 bytes its start and of 4 its size, and the list.

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "csrc/engine/process_maps.h"
#include "csrc/sim/host_memory.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace engine = kvswap::engine;
namespace sim = kvswap::sim;

// Of a line, readers look at no more.
constexpr std::size_t kMostCharacters = 511;

struct Mapping {
  std::uint64_t begin;
  std::uint64_t end;
  bool readable;
  bool writable;
};

// Nothing where the list is not in order, or has lines that are not text.
std::optional<std::vector<Mapping>> Mappings(const std::string& list) {
  if (list.find('\0') != std::string::npos) return std::nullopt;
  std::vector<Mapping> found;
  std::size_t start = 0;
  while (start < list.size()) {
    const std::size_t end = std::min(list.find('\n', start), list.size());
    const std::string line =
        list.substr(start, std::min(end - start, kMostCharacters));
    start = end + 1;
    Mapping mapping = {};
    char permissions[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &mapping.begin,
                    &mapping.end, permissions) != 3) {
      continue;
    }
    mapping.readable = permissions[0] == 'r';
    mapping.writable = permissions[1] == 'w';
    const std::uint64_t least = found.empty() ? 0 : found.back().end;
    if (mapping.begin < least || mapping.end <= mapping.begin) {
      return std::nullopt;
    }
    found.push_back(mapping);
  }
  return found;
}

// The first byte of [start, end) that no mapping permits; `end`: there is none.
std::uint64_t FirstByteDenied(const std::vector<Mapping>& mappings,
                              std::uint64_t start, std::uint64_t end,
                              bool to_write) {
  std::uint64_t byte = start;
  bool moved = true;
  while (moved && byte < end) {
    moved = false;
    for (const Mapping& mapping : mappings) {
      const bool permitted = to_write ? mapping.writable : mapping.readable;
      if (permitted && mapping.begin <= byte && byte < mapping.end) {
        byte = mapping.end;
        moved = true;
      }
    }
  }
  return std::min(byte, end);
}

// A file of these bytes, closed at the end.
class File {
 public:
  explicit File(const std::string& content)
      : file_(
            fmemopen(const_cast<char*>(content.data()), content.size(), "r")) {
    FUZZ_CHECK(file_ != nullptr);
  }
  ~File() { std::fclose(file_); }
  std::FILE* get() { return file_; }

 private:
  std::FILE* file_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  kvswap::tests::FuzzInput input(data, size);
  const std::uint64_t start = input.Take<std::uint32_t>();
  const std::uint64_t bytes = input.Take<std::uint32_t>();
  const std::string list = input.Rest();
  const auto mappings = Mappings(list);
  for (const bool to_write : {false, true}) {
    const auto denied = engine::FirstByteWithoutPermission(
        File(list).get(), start, bytes,
        to_write ? engine::Access::kWrite : engine::Access::kRead);
    FUZZ_CHECK(!denied.has_value() ||
               (*denied >= start && *denied < start + bytes));
    const bool accessible =
        sim::HostMemoryMap(File(list).get())
            .Accessible(start, bytes,
                        to_write ? sim::Access::kWrite : sim::Access::kRead);
    if (!mappings.has_value()) continue;
    const std::uint64_t expected =
        FirstByteDenied(*mappings, start, start + bytes, to_write);
    FUZZ_CHECK(denied.value_or(start + bytes) == expected);
    FUZZ_CHECK(accessible == (expected == start + bytes));
  }
  return 0;
}
