#include "csrc/engine/descriptors.h"

#include <cstdio>

#include "csrc/engine/memory_ranges.h"

namespace kvswap::engine {

bool DescriptorCopies::CheckArguments(std::uint32_t /*flags*/,
                                      kvswap_result* report) {
  if (given_.count != 0 &&
      (given_.sources == nullptr || given_.destinations == nullptr ||
       given_.sizes == nullptr)) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "%s is a null array, with count %zu",
                given_.sources == nullptr        ? "src_ptrs"
                : given_.destinations == nullptr ? "dst_ptrs"
                                                 : "sizes",
                given_.count);
  }
  for (std::size_t i = 0; i < given_.count; ++i) {
    const std::size_t size = given_.sizes[i];
    if (size == 0) {
      ++dropped_;
      continue;
    }
    bytes_ += size;
    const auto source = reinterpret_cast<std::uintptr_t>(given_.sources[i]);
    const auto destination =
        reinterpret_cast<std::uintptr_t>(given_.destinations[i]);
    const std::uintptr_t most = UINTPTR_MAX - size;
    if (source != 0 && destination != 0 && source <= most &&
        destination <= most) {
      continue;
    }
    report->index = i;
    report->source = given_.sources[i];
    report->destination = given_.destinations[i];
    report->size = size;
    const bool is_source = source == 0 || (destination != 0 && source > most);
    const char* argument = is_source ? "src_ptrs" : "dst_ptrs";
    if (source == 0 || destination == 0) {
      return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                  "%s[%zu] is null, with sizes[%zu] = %zu. Nothing was "
                  "submitted",
                  argument, i, i, size);
    }
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "sizes[%zu] = %zu runs past the end of the address space from "
                "%s[%zu] = %p: a negative size? Nothing was submitted",
                i, size, argument, i,
                is_source ? report->source : report->destination);
  }
  DropZeroSizes();
  return true;
}

void DescriptorCopies::DropZeroSizes() {
  if (dropped_ == 0) {
    kept_ = given_;
    return;
  }
  const std::size_t count = given_.count - dropped_;
  kept_sources_.reserve(count);
  kept_destinations_.reserve(count);
  kept_sizes_.reserve(count);
  given_indices_.reserve(count);
  for (std::size_t i = 0; i < given_.count; ++i) {
    if (given_.sizes[i] == 0) continue;
    kept_sources_.push_back(given_.sources[i]);
    kept_destinations_.push_back(given_.destinations[i]);
    kept_sizes_.push_back(given_.sizes[i]);
    given_indices_.push_back(i);
  }
  kept_ = {kept_sources_.data(), kept_destinations_.data(), kept_sizes_.data(),
           count};
}

bool DescriptorCopies::CheckMemory(MemoryRanges* ranges,
                                   kvswap_result* report) const {
  for (std::size_t i = 0; i < given_.count; ++i) {
    const std::size_t size = given_.sizes[i];
    if (size == 0) continue;
    if (!ranges->CheckSide(*this, i, Side::kSource, given_.sources[i], size,
                           report) ||
        !ranges->CheckSide(*this, i, Side::kDestination, given_.destinations[i],
                           size, report)) {
      return false;
    }
  }
  return true;
}

Copy DescriptorCopies::At(std::size_t number) const {
  return {given_.sources[number], given_.destinations[number],
          given_.sizes[number]};
}

void DescriptorCopies::Locate(std::size_t number, kvswap_result* report) const {
  report->index = number;
}

void DescriptorCopies::NameCopy(std::size_t number, char* text,
                                std::size_t capacity) const {
  std::snprintf(text, capacity, "the copy at index %zu", number);
}

void DescriptorCopies::NameSide(std::size_t number, Side side, char* text,
                                std::size_t capacity) const {
  const bool is_source = side == Side::kSource;
  std::snprintf(
      text, capacity, "%s[%zu] = %p with sizes[%zu] = %zu",
      is_source ? "src_ptrs" : "dst_ptrs", number,
      is_source ? given_.sources[number] : given_.destinations[number], number,
      given_.sizes[number]);
}

}  // namespace kvswap::engine
