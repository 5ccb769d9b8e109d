#include "csrc/engine/descriptors.h"

#include <cstdio>

#include "csrc/engine/descriptor_span.h"
#include "csrc/engine/report.h"
#include "csrc/engine/runs.h"

namespace kvswap::engine {
namespace {

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// No address of a process and no size has this bit; negative numbers do.
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

// Whether no copy that the span is of can have a null pointer, or run past the
// end of the address space.
bool IsSound(const CopySpan& span) {
  return span.source.lowest != 0 && span.destination.lowest != 0 &&
         (span.bits & kSignBit) == 0;
}

}  // namespace

bool DescriptorCopies::CheckArguments(std::uint32_t /*flags*/,
                                      kvswap_result* report) {
  if (given_.count == 0) return true;
  if (given_.sources == nullptr || given_.destinations == nullptr ||
      given_.sizes == nullptr) {
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "%s is a null array, with count %zu",
                given_.sources == nullptr        ? "src_ptrs"
                : given_.destinations == nullptr ? "dst_ptrs"
                                                 : "sizes",
                given_.count);
  }
  kept_ = given_;
  span_ = SpanOf(given_);
  if (!IsSound(span_) && !CheckEach(report)) return false;
  if (span_.smallest == 0) {
    DropZeroSizes();
    span_ = SpanOf(kept_);
  }
  return true;
}

bool DescriptorCopies::CheckEach(kvswap_result* report) const {
  for (std::size_t i = 0; i < given_.count; ++i) {
    const std::size_t size = given_.sizes[i];
    if (size == 0) continue;
    const std::uint64_t source = Address(given_.sources[i]);
    const std::uint64_t destination = Address(given_.destinations[i]);
    if (source != 0 && destination != 0 &&
        ((source | destination | size) & kSignBit) == 0) {
      continue;
    }
    report->index = i;
    report->source = given_.sources[i];
    report->destination = given_.destinations[i];
    report->size = size;
    const bool is_null = source == 0 || destination == 0;
    const bool is_source = is_null ? source == 0 : (source & kSignBit) != 0;
    const char* argument = is_source ? "src_ptrs" : "dst_ptrs";
    if (is_null) {
      return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                  "%s[%zu] is null, with sizes[%zu] = %zu. Nothing was "
                  "submitted",
                  argument, i, i, size);
    }
    if ((size & kSignBit) != 0) {
      return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                  "sizes[%zu] = %zu is more than an address space holds: a "
                  "negative size? Nothing was submitted",
                  i, size);
    }
    return Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                "%s[%zu] = %p is no address of a process: a negative number? "
                "Nothing was submitted",
                argument, i, is_source ? report->source : report->destination);
  }
  return true;
}

void DescriptorCopies::DropZeroSizes() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < given_.count; ++i) {
    if (given_.sizes[i] != 0) ++count;
  }
  kept_arrays_.Resize(count);
  given_indices_.resize(count);
  std::size_t number = 0;
  // There is room for as many as there were, should the caller's other threads
  // change sizes meanwhile.
  for (std::size_t i = 0; i < given_.count && number < count; ++i) {
    const std::size_t size = given_.sizes[i];
    if (size == 0) continue;
    kept_arrays_.sources[number] = given_.sources[i];
    kept_arrays_.destinations[number] = given_.destinations[i];
    kept_arrays_.sizes[number] = size;
    given_indices_[number] = i;
    ++number;
  }
  kept_ = {kept_arrays_.sources.data(), kept_arrays_.destinations.data(),
           kept_arrays_.sizes.data(), number};
}

bool DescriptorCopies::FindRuns(MemoryRanges* ranges, RunList* runs,
                                kvswap_result* report) const {
  return engine::FindRuns(*this, 0, kept_.count, span_, ranges, runs, report);
}

Copy DescriptorCopies::At(std::size_t number) const {
  return {kept_.sources[number], kept_.destinations[number],
          kept_.sizes[number]};
}

Descriptors DescriptorCopies::View(std::size_t first, std::size_t count,
                                   DescriptorBuffer* /*buffer*/) const {
  return {kept_.sources + first, kept_.destinations + first,
          kept_.sizes + first, count};
}

void DescriptorCopies::Locate(std::size_t number, kvswap_result* report) const {
  report->index = GivenIndex(number);
}

void DescriptorCopies::NameCopy(std::size_t number, char* text,
                                std::size_t capacity) const {
  std::snprintf(text, capacity, "the copy at index %zu", GivenIndex(number));
}

void DescriptorCopies::NameSide(std::size_t number, Side side, char* text,
                                std::size_t capacity) const {
  const bool is_source = side == Side::kSource;
  const Copy copy = At(number);
  std::snprintf(text, capacity, "%s[%zu] = %p with sizes[%zu] = %zu",
                is_source ? "src_ptrs" : "dst_ptrs", GivenIndex(number),
                is_source ? copy.source : copy.destination, GivenIndex(number),
                copy.size);
}

}  // namespace kvswap::engine
