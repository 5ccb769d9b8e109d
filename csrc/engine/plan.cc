#include "csrc/engine/plan.h"

#include "csrc/engine/memory_ranges.h"
#include "csrc/engine/names.h"

namespace kvswap::engine {

bool Plan::Make(const kvswap_options* options, kvswap_result* report) {
  if (!ReadSettings(options, copies_->KnownFlags(), &settings_, report) ||
      !copies_->CheckArguments(settings_.flags, report)) {
    return false;
  }
  report->dropped = copies_->dropped();
  if (copies_->count() == 0) return true;
  if (!table_.Usable()) {
    return Fail(report, KVSWAP_ERROR_NO_DRIVER, "%s", table_.message.c_str());
  }
  return ResolveContext(report) && ChooseEngine(report);
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
  if (!copies_->CheckMemory(&ranges, report) ||
      !context_.Enter(stream_, ranges.device(), report)) {
    return false;
  }
  report->pageable = ranges.pageable();
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
  if (settings_.Has(KVSWAP_FLAG_STRICT) && asks_for_batch &&
      engine_ != KVSWAP_ENGINE_BATCH) {
    return Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                "the batch engine was asked for strictly and cannot run: %s. "
                "Nothing was submitted",
                ReasonText(why_no_batch));
  }
  return true;
}

std::size_t Plan::DriverCalls() const {
  if (engine_ != KVSWAP_ENGINE_BATCH) return copies_->count();
  return copies_->count() / settings_.max_batch +
         (copies_->count() % settings_.max_batch != 0 ? 1 : 0);
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
