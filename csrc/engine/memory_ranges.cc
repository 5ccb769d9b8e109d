#include "csrc/engine/memory_ranges.h"

#include <algorithm>
#include <cinttypes>
#include <optional>

#include "csrc/engine/host_memory.h"

namespace kvswap::engine {
namespace {

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

bool MemoryRanges::Check(const Descriptors& descriptors,
                         kvswap_result* report) {
  for (std::size_t i = 0; i < descriptors.count; ++i) {
    const std::size_t size = descriptors.sizes[i];
    if (size == 0) continue;
    if (!last_[0].Contains(Address(descriptors.sources[i]), size) &&
        !CheckSide(descriptors, i, Side::kSource, report)) {
      return false;
    }
    if (!last_[1].Contains(Address(descriptors.destinations[i]), size) &&
        !CheckSide(descriptors, i, Side::kDestination, report)) {
      return false;
    }
  }
  return true;
}

bool MemoryRanges::CheckSide(const Descriptors& descriptors, std::size_t index,
                             Side side, kvswap_result* report) {
  const bool is_source = side == Side::kSource;
  const void* pointer =
      is_source ? descriptors.sources[index] : descriptors.destinations[index];
  const char* argument = is_source ? "src_ptrs" : "dst_ptrs";
  const std::uint64_t address = Address(pointer);
  const std::size_t size = descriptors.sizes[index];
  MemoryRange range;
  if (!FindRange(address, &range, report)) return false;

  if (range.kind == KVSWAP_MEMORY_PAGEABLE) {
    const std::optional<std::uint64_t> fault =
        is_source ? FirstUnreadableByte(address, size)
                  : FirstUnwritableByte(address, size);
    if (!fault.has_value()) return true;
    BlameDescriptor(table_, descriptors, index, report);
    return Fail(report, KVSWAP_ERROR_MEMORY,
                "%s[%zu] = %p with sizes[%zu] = %zu is neither memory that "
                "CUDA knows nor host memory that can be %s: address 0x%" PRIx64
                " cannot. Was it freed, or is a block number out of range? "
                "Nothing was submitted",
                argument, index, pointer, index, size,
                is_source ? "read" : "written", *fault);
  }

  std::uint64_t border = 0;
  const bool holds = Holds(range, address, size, &border, report);
  if (report->code != KVSWAP_OK) return false;
  if (!holds) {
    MemoryRange beyond;
    if (!FindRange(border, &beyond, report)) return false;
    const bool is_seam = range.kind == KVSWAP_MEMORY_PINNED &&
                         beyond.kind == KVSWAP_MEMORY_PINNED;
    BlameDescriptor(table_, descriptors, index, report);
    char kind[kMemoryTextSize];
    DescribeMemory(
        is_source ? report->source_memory : report->destination_memory, kind,
        sizeof(kind));
    return Fail(report, KVSWAP_ERROR_MEMORY,
                "%s[%zu] = %p with sizes[%zu] = %zu runs %" PRIu64
                " bytes past the end of its memory (%s)%s. Nothing was "
                "submitted",
                argument, index, pointer, index, size, address + size - border,
                kind,
                is_seam ? " into the next pinned range, and the driver refuses "
                          "copies across such a seam: split the copy there, or "
                          "pin both as one range"
                        : "");
  }
  if (!NoteDevice(descriptors, index, range, report)) return false;
  last_[static_cast<int>(side)] = range;
  return true;
}

bool MemoryRanges::FindRange(std::uint64_t address, MemoryRange* range,
                             kvswap_result* report) {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), address,
      [](std::uint64_t a, const MemoryRange& r) { return a < r.start; });
  if (after != ranges_.begin() && address < std::prev(after)->end) {
    *range = *std::prev(after);
    return true;
  }
  const int code = QueryRange(table_, address, range);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuPointerGetAttributes", report);
  }
  if (!range->IsEmpty()) {
    ranges_.insert(
        std::upper_bound(
            ranges_.begin(), ranges_.end(), range->start,
            [](std::uint64_t a, const MemoryRange& r) { return a < r.start; }),
        *range);
  }
  return true;
}

bool MemoryRanges::Holds(const MemoryRange& range, std::uint64_t address,
                         std::size_t size, std::uint64_t* border,
                         kvswap_result* report) {
  if (range.IsEmpty()) return true;
  *border = range.end;
  MemoryRange next = range;
  while (size > *border - address) {
    if (!next.continues) return false;
    if (!FindRange(*border, &next, report)) return false;
    if (next.start != *border || next.kind != range.kind ||
        next.device != range.device) {
      return false;
    }
    *border = next.end;
  }
  return true;
}

bool MemoryRanges::NoteDevice(const Descriptors& descriptors, std::size_t index,
                              const MemoryRange& range, kvswap_result* report) {
  if (range.kind != KVSWAP_MEMORY_DEVICE) {
    if (host_device_ < 0) host_device_ = range.device;
    return true;
  }
  if (device_ < 0) device_ = range.device;
  if (device_ == range.device) return true;
  BlameDescriptor(table_, descriptors, index, report);
  return Fail(report, KVSWAP_ERROR_DEVICES,
              "the copy at index %zu uses memory of GPU %d, and copies before "
              "it memory of GPU %d: one call serves one GPU. Make a call for "
              "each. Nothing was submitted",
              index, range.device, device_);
}

}  // namespace kvswap::engine
