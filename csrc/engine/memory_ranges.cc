#include "csrc/engine/memory_ranges.h"

#include <algorithm>
#include <cinttypes>
#include <optional>

#include "csrc/engine/host_memory.h"
#include "csrc/engine/report.h"

namespace kvswap::engine {
namespace {

SideMemory MemoryOf(const MemoryRange& range) {
  return {range.kind, range.kernel_reads, range.kernel_writes};
}

}  // namespace

void MemoryRanges::Forget() {
  ranges_.clear();
  order_.clear();
  for (Table& table : tables_) table.slots.clear();
  for (MemoryRange& range : last_) range = MemoryRange();
  allocation_ = Allocation();
  device_ = -1;
  host_device_ = -1;
}

bool MemoryRanges::CheckSpan(const Copies& copies, std::size_t number,
                             Side side, const AddressSpan& span,
                             std::size_t largest, SideMemory* memory,
                             bool* holds, kvswap_result* report) {
  MemoryRange range;
  if (!FindRange(span.lowest, &range, report)) return false;
  *holds = range.Contains(span.lowest, largest) &&
           range.Contains(span.highest, largest);
  if (!*holds) return true;
  last_[static_cast<int>(side)] = range;
  *memory = MemoryOf(range);
  return NoteDevice(copies, number, range, report);
}

bool MemoryRanges::BeginPrepare(Side side, const AddressSpan& span,
                                std::size_t count) {
  Table& table = tables_[static_cast<int>(side)];
  table.first_slot = span.lowest >> kSlotShift;
  const std::uint64_t slots =
      (span.highest >> kSlotShift) - table.first_slot + 1;
  if (slots / kSlotsForBlock >= count) {
    table.slots.clear();
    return false;
  }
  table.slots.assign(slots, 0);
  return true;
}

bool MemoryRanges::EndPrepare(Side side, kvswap_result* report) {
  Table& table = tables_[static_cast<int>(side)];
  MemoryRange range;
  for (std::uint64_t& slot : table.slots) {
    if (slot == 0) continue;
    if (!range.Contains(slot, 1)) {
      if (!FindRange(slot, &range, report)) return false;
    }
    const std::size_t position = range.IsEmpty() ? 0 : PositionAfter(slot);
    slot = position == 0 ? 0 : order_[position - 1].position + 1;
  }
  return true;
}

const MemoryRange* MemoryRanges::Known(std::uint64_t address) const {
  const std::size_t position = PositionAfter(address);
  if (position == 0) return nullptr;
  const MemoryRange& range = ranges_[order_[position - 1].position];
  return range.Contains(address, 1) ? &range : nullptr;
}

bool MemoryRanges::CheckUnknownSide(const Copies& copies, std::size_t number,
                                    Side side, std::uint64_t address,
                                    std::size_t size, SideMemory* memory,
                                    kvswap_result* report) {
  MemoryRange range;
  if (!FindRange(address, &range, report)) return false;
  *memory = MemoryOf(range);
  if (range.kind == KVSWAP_MEMORY_PAGEABLE) {
    return CheckPageable(copies, number, side, address, size, report);
  }
  std::uint64_t border = 0;
  const bool holds = Holds(range, address, size, memory, &border, report);
  if (report->code != KVSWAP_OK) return false;
  if (!holds) {
    return FailOverrun(copies, number, side, address, size, border, report);
  }
  if (!NoteDevice(copies, number, range, report)) return false;
  last_[static_cast<int>(side)] = range;
  return true;
}

bool MemoryRanges::CheckPageable(const Copies& copies, std::size_t number,
                                 Side side, std::uint64_t address,
                                 std::size_t size, kvswap_result* report) {
  const bool is_source = side == Side::kSource;
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
              " is not mapped for %s in this process. Check that its tensor or "
              "buffer still lives, that block number, stride and size are "
              "right, and that the address is of this process, not of another. "
              "Nothing was submitted",
              name, is_source ? "read" : "written", *fault,
              is_source ? "reading" : "writing");
}

bool MemoryRanges::FailOverrun(const Copies& copies, std::size_t number,
                               Side side, std::uint64_t address,
                               std::size_t size, std::uint64_t border,
                               kvswap_result* report) {
  BlameCopy(table_, copies, number, report);
  char name[kCopyTextSize];
  copies.NameSide(number, side, name, sizeof(name));
  char kind[kMemoryTextSize];
  DescribeMemory(side == Side::kSource ? report->source_memory
                                       : report->destination_memory,
                 kind, sizeof(kind));
  return Fail(report, KVSWAP_ERROR_MEMORY,
              "%s runs %" PRIu64
              " bytes past the end of its memory (%s). Check block number, "
              "stride and size. Nothing was submitted",
              name, address + size - border, kind);
}

std::size_t MemoryRanges::PositionAfter(std::uint64_t address) const {
  const auto after = std::upper_bound(
      order_.begin(), order_.end(), address,
      [](std::uint64_t a, const Start& start) { return a < start.address; });
  return static_cast<std::size_t>(after - order_.begin());
}

void MemoryRanges::Keep(const MemoryRange& range) {
  const std::size_t position = PositionAfter(range.start);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position),
                {range.start, ranges_.size()});
  ranges_.push_back(range);
}

bool MemoryRanges::FindRange(std::uint64_t address, MemoryRange* range,
                             kvswap_result* report) {
  const MemoryRange* known = Known(address);
  if (known != nullptr) {
    *range = *known;
    return true;
  }
  const int code = allocation_.Contains(address)
                       ? QueryMapping(table_, address, allocation_, range)
                       : QueryRange(table_, address, range);
  if (code != abi::kSuccess) {
    return FailDriverCall(table_, code, "cuPointerGetAttributes", report);
  }
  if (!range->IsEmpty()) Keep(*range);
  if (range->allocation.has_mappings) allocation_ = range->allocation;
  return true;
}

bool MemoryRanges::Holds(const MemoryRange& range, std::uint64_t address,
                         std::size_t size, SideMemory* memory,
                         std::uint64_t* border, kvswap_result* report) {
  if (range.IsEmpty()) return true;
  *border = range.end;
  MemoryRange next = range;
  while (size > *border - address) {
    // Behind the end of a registration another one may begin: the copy is split
    // there for engines that the driver would refuse it to.
    const bool may_be_seam = range.kind == KVSWAP_MEMORY_PINNED;
    if (!next.continues && !may_be_seam) return false;
    if (!FindRange(*border, &next, report)) return false;
    if (next.start != *border || next.kind != range.kind ||
        (next.device != range.device && !may_be_seam)) {
      return false;
    }
    memory->kernel_reads = memory->kernel_reads && next.kernel_reads;
    memory->kernel_writes = memory->kernel_writes && next.kernel_writes;
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
