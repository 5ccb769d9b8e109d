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

bool MemoryRanges::CheckUnknownSide(const Copies& copies, std::size_t number,
                                    Side side, const void* pointer,
                                    std::size_t size, kvswap_result* report) {
  const bool is_source = side == Side::kSource;
  const std::uint64_t address = Address(pointer);
  MemoryRange range;
  if (!FindRange(address, &range, report)) return false;

  if (range.kind == KVSWAP_MEMORY_PAGEABLE) {
    if (number != last_pageable_) ++pageable_;
    last_pageable_ = number;
    const std::optional<std::uint64_t> fault =
        is_source ? FirstUnreadableByte(address, size)
                  : FirstUnwritableByte(address, size);
    if (!fault.has_value()) return true;
    BlameCopy(table_, copies, number, report);
    char name[kCopyTextSize];
    copies.NameSide(number, side, name, sizeof(name));
    return Fail(report, KVSWAP_ERROR_MEMORY,
                "%s is neither memory that CUDA knows nor host memory that can "
                "be %s: address 0x%" PRIx64
                " cannot. Was it freed, or is a block number out of range? "
                "Nothing was submitted",
                name, is_source ? "read" : "written", *fault);
  }

  std::uint64_t border = 0;
  const bool holds = Holds(range, address, size, &border, report);
  if (report->code != KVSWAP_OK) return false;
  if (!holds) {
    MemoryRange beyond;
    if (!FindRange(border, &beyond, report)) return false;
    const bool is_seam = range.kind == KVSWAP_MEMORY_PINNED &&
                         beyond.kind == KVSWAP_MEMORY_PINNED;
    BlameCopy(table_, copies, number, report);
    char name[kCopyTextSize];
    copies.NameSide(number, side, name, sizeof(name));
    char kind[kMemoryTextSize];
    DescribeMemory(
        is_source ? report->source_memory : report->destination_memory, kind,
        sizeof(kind));
    return Fail(report, KVSWAP_ERROR_MEMORY,
                "%s runs %" PRIu64
                " bytes past the end of its memory (%s)%s. Nothing was "
                "submitted",
                name, address + size - border, kind,
                is_seam ? " into the next pinned range, and the driver refuses "
                          "copies across such a seam: split the copy there, or "
                          "pin both as one range"
                        : "");
  }
  if (!NoteDevice(copies, number, range, report)) return false;
  last_[static_cast<int>(side)] = range;
  return true;
}

bool MemoryRanges::CheckSpan(const Copies& copies, std::size_t number,
                             const void* pointer, std::size_t size, bool* holds,
                             kvswap_result* report) {
  MemoryRange range;
  if (!FindRange(Address(pointer), &range, report)) return false;
  *holds = range.Contains(Address(pointer), size);
  return !*holds || NoteDevice(copies, number, range, report);
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

bool MemoryRanges::NoteDevice(const Copies& copies, std::size_t number,
                              const MemoryRange& range, kvswap_result* report) {
  if (range.kind != KVSWAP_MEMORY_DEVICE) {
    if (host_device_ < 0) host_device_ = range.device;
    return true;
  }
  if (device_ < 0) device_ = range.device;
  if (device_ == range.device) return true;
  BlameCopy(table_, copies, number, report);
  char name[kCopyTextSize];
  copies.NameCopy(number, name, sizeof(name));
  return Fail(report, KVSWAP_ERROR_DEVICES,
              "%s uses memory of GPU %d, and copies before it memory of GPU "
              "%d: one call serves one GPU. Make a call for each. Nothing was "
              "submitted",
              name, range.device, device_);
}

}  // namespace kvswap::engine
