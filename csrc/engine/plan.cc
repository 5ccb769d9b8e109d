#include "csrc/engine/plan.h"

#include "csrc/engine/memory_ranges.h"
#include "csrc/engine/names.h"

namespace kvswap::engine {

bool Plan::Make(const kvswap_options* options, kvswap_result* report) {
  if (!ReadSettings(options, &settings_, report) || !CheckArguments(report)) {
    return false;
  }
  report->dropped = dropped_;
  DropZeroSizes();
  if (kept_.count == 0) return true;
  if (!table_.Usable()) {
    return Fail(report, KVSWAP_ERROR_NO_DRIVER, "%s", table_.message.c_str());
  }
  return ResolveContext(report) && ChooseEngine(report);
}

// Needs no driver, so that wrong arguments are reported everywhere alike.
bool Plan::CheckArguments(kvswap_result* report) {
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
  return true;
}

void Plan::DropZeroSizes() {
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

// The capture status of a created stream is asked before anything else of the
// driver. That of handles 0, 1 and 2 has a meaning only in the context that the
// pointers name; what is asked to find it, pointer attributes and contexts,
// disturbs no capture (contract page).
bool Plan::ResolveContext(kvswap_result* report) {
  const bool is_created = stream_.kind == KVSWAP_STREAM_CREATED;
  if (is_created && !AskCapturing(table_, stream_, &capturing_, report)) {
    return false;
  }
  MemoryRanges ranges(table_);
  if (!ranges.Check(given_, report) ||
      !context_.Enter(stream_, ranges.device(), report)) {
    return false;
  }
  report->device = context_.device();
  return is_created || AskCapturing(table_, stream_, &capturing_, report);
}

kvswap_reason Plan::WhyNoBatch() const {
  if (table_.MemcpyBatchAsync == nullptr) return KVSWAP_REASON_NO_BATCH_SYMBOL;
  if (stream_.kind == KVSWAP_STREAM_LEGACY) return KVSWAP_REASON_LEGACY_STREAM;
  if (capturing_) return KVSWAP_REASON_CAPTURING;
  return KVSWAP_REASON_NONE;
}

bool Plan::ChooseEngine(kvswap_result* report) {
  const bool asks_for_loop = settings_.engine == KVSWAP_ENGINE_LOOP;
  const kvswap_reason why_no_batch = WhyNoBatch();
  engine_ = asks_for_loop || why_no_batch != KVSWAP_REASON_NONE
                ? KVSWAP_ENGINE_LOOP
                : KVSWAP_ENGINE_BATCH;
  report->engine = engine_;
  if (!asks_for_loop) report->unavailable[KVSWAP_ENGINE_BATCH] = why_no_batch;

  if (settings_.source_access == KVSWAP_SOURCE_ACCESS_DURING_API_CALL &&
      engine_ != KVSWAP_ENGINE_BATCH) {
    report->unavailable[KVSWAP_ENGINE_LOOP] = KVSWAP_REASON_SOURCE_ACCESS;
    return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                "source access during_api_call cannot be honoured here: only "
                "the batch engine can, and %s. Use stream access, and keep the "
                "sources unchanged until the stream has passed the copies. "
                "Nothing was submitted",
                asks_for_loop ? "the loop engine was asked for"
                              : ReasonText(why_no_batch));
  }
  const bool asks_for_batch = settings_.engine == KVSWAP_ENGINE_BATCH;
  if (settings_.strict && asks_for_batch && engine_ != KVSWAP_ENGINE_BATCH) {
    return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                "the batch engine was asked for strictly and cannot run: %s. "
                "Nothing was submitted",
                ReasonText(why_no_batch));
  }
  return true;
}

std::size_t Plan::DriverCalls() const {
  if (engine_ != KVSWAP_ENGINE_BATCH) return kept_.count;
  return kept_.count / settings_.max_batch +
         (kept_.count % settings_.max_batch != 0 ? 1 : 0);
}

bool Plan::End(kvswap_result* report) {
  const int code = context_.Leave();
  if (code == abi::kSuccess || report->code != KVSWAP_OK) {
    return report->code == KVSWAP_OK;
  }
  return FailDriverCall(table_, code,
                        "giving the thread its former context back", report);
}

}  // namespace kvswap::engine
