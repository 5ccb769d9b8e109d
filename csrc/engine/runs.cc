#include "csrc/engine/runs.h"

#include <algorithm>

namespace kvswap::engine {
namespace {

// Copies that are looked at together: arrays that stay in a cache.
constexpr std::size_t kChunk = 1024;

int SizeClassOf(std::size_t size) {
  // Of zero, which is no size of a copy, the function would be undefined.
  return 63 - __builtin_clzll(static_cast<unsigned long long>(size) | 1);
}

bool IsDevice(int memory_kind) {
  return memory_kind == KVSWAP_MEMORY_DEVICE ||
         memory_kind == KVSWAP_MEMORY_MANAGED;
}

kvswap_direction DirectionOf(int source_kind, int destination_kind) {
  if (IsDevice(source_kind)) {
    return IsDevice(destination_kind) ? KVSWAP_DIRECTION_DEVICE_TO_DEVICE
                                      : KVSWAP_DIRECTION_DEVICE_TO_HOST;
  }
  return IsDevice(destination_kind) ? KVSWAP_DIRECTION_HOST_TO_DEVICE
                                    : KVSWAP_DIRECTION_HOST_TO_HOST;
}

RunKind KindOf(const SideMemory& source, const SideMemory& destination,
               int size_class) {
  const auto either = [&](int kind) {
    return source.kind == kind || destination.kind == kind;
  };
  RunKind kind;
  kind.direction = DirectionOf(source.kind, destination.kind);
  kind.kernel_reaches = source.kernel_reads && destination.kernel_writes;
  kind.has_pinned = either(KVSWAP_MEMORY_PINNED);
  kind.has_managed = either(KVSWAP_MEMORY_MANAGED);
  kind.has_pageable = either(KVSWAP_MEMORY_PAGEABLE);
  kind.size_class = size_class;
  return kind;
}

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Asks about the ranges that one side of copies [first, end) lies in.
bool Prepare(const Copies& copies, std::size_t first, std::size_t end,
             Side side, const AddressSpan& span, DescriptorBuffer* buffer,
             MemoryRanges* ranges, kvswap_result* report) {
  if (!ranges->BeginPrepare(side, span, end - first)) return true;
  for (std::size_t chunk = first; chunk < end; chunk += kChunk) {
    const std::size_t count = std::min(kChunk, end - chunk);
    const Descriptors view = copies.View(chunk, count, buffer);
    for (std::size_t i = 0; i < count; ++i) {
      ranges->Note(side, Address(side == Side::kSource ? view.sources[i]
                                                       : view.destinations[i]));
    }
  }
  return ranges->EndPrepare(side, report);
}

}  // namespace

void RunList::Add(std::size_t first, std::size_t end, const RunKind& kind,
                  const CopySpan& span, bool in_one_range) {
  const std::size_t count = end - first;
  counts_[kind.direction] += count;
  if (kind.has_pageable) pageable_ += count;
  if (!runs_.empty() && runs_.back().kind == kind) {
    runs_.back().end = end;
    runs_.back().span.Add(span);
    runs_.back().in_one_range = false;
    return;
  }
  runs_.push_back({first, end, kind, span, in_one_range});
}

bool FindRuns(const Copies& copies, std::size_t first, std::size_t end,
              const CopySpan& span, MemoryRanges* ranges, RunList* runs,
              kvswap_result* report) {
  SideMemory memory[2];
  bool holds[2] = {};
  for (const Side side : {Side::kSource, Side::kDestination}) {
    const int index = static_cast<int>(side);
    if (!ranges->CheckSpan(
            copies, first, side,
            side == Side::kSource ? span.source : span.destination,
            span.largest, &memory[index], &holds[index], report)) {
      return false;
    }
  }
  const int size_class = SizeClassOf(span.largest);
  if (holds[0] && holds[1] && size_class == SizeClassOf(span.smallest)) {
    runs->Add(first, end, KindOf(memory[0], memory[1], size_class), span, true);
    return true;
  }

  DescriptorBuffer buffer;
  copies.MakeRoom(std::min(kChunk, end - first), &buffer);
  for (const Side side : {Side::kSource, Side::kDestination}) {
    if (!holds[static_cast<int>(side)] &&
        !Prepare(copies, first, end, side,
                 side == Side::kSource ? span.source : span.destination,
                 &buffer, ranges, report)) {
      return false;
    }
  }
  for (std::size_t chunk = first; chunk < end; chunk += kChunk) {
    const std::size_t count = std::min(kChunk, end - chunk);
    const Descriptors view = copies.View(chunk, count, &buffer);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = chunk + i;
      const std::size_t size = view.sizes[i];
      if ((!holds[0] &&
           !ranges->CheckSide(copies, number, Side::kSource, view.sources[i],
                              size, &memory[0], report)) ||
          (!holds[1] && !ranges->CheckSide(copies, number, Side::kDestination,
                                           view.destinations[i], size,
                                           &memory[1], report))) {
        return false;
      }
      CopySpan one;
      one.Add(Address(view.sources[i]), Address(view.destinations[i]), size);
      runs->Add(number, number + 1,
                KindOf(memory[0], memory[1], SizeClassOf(size)), one, false);
    }
  }
  return true;
}

}  // namespace kvswap::engine
