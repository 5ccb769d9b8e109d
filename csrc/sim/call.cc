#include "csrc/sim/call.h"

#include <atomic>

#include "csrc/sim/report.h"

namespace kvswap::sim {

namespace {

std::atomic<std::uint64_t> nanoseconds_in_calls{0};

}  // namespace

CallTimer::~CallTimer() {
  const auto duration = std::chrono::steady_clock::now() - start_;
  nanoseconds_in_calls.fetch_add(
      static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count()),
      std::memory_order_relaxed);
}

std::uint64_t CallTimer::Nanoseconds() {
  return nanoseconds_in_calls.load(std::memory_order_relaxed);
}

Call& Call::Text(std::string_view name, const char* value) {
  if (value == nullptr) return Argument(name, nullptr);
  arguments_.Add(name, std::string_view(value));
  return *this;
}

void Call::Die(const std::string& text) {
  note_ = text;
  Record(Driver::Get(), std::nullopt);
  DieBySegmentationFault(std::string(Describe(entry_).symbol) + ": " + text);
}

Result Call::ApplyFault(const Fault& fault) {
  if (fault.failed_index.has_value() && failed_index_ != nullptr) {
    *failed_index_ = *fault.failed_index;
  }
  note_ = "failed on demand";
  return fault.code;
}

void Call::Record(Driver& driver, std::optional<int> result) {
  const EntryDescription& description = Describe(entry_);
  JsonObject record;
  record.Add("sequence", driver.trace.next_sequence());
  record.Add("thread", driver.Thread().system_id);
  record.Add("name", std::string_view(description.name));
  record.Add("version", std::int64_t{description.version});
  record.Add("symbol", std::string_view(description.symbol));
  record.AddJson("arguments", arguments_.Text());
  if (!outputs_.empty()) record.AddJson("outputs", outputs_.Text());
  if (result.has_value()) {
    record.Add("result", std::int64_t{*result});
  } else {
    record.AddJson("result", "null");
  }
  if (!note_.empty()) record.Add("note", std::string_view(note_));
  driver.trace.Add(record.Text());
}

}  // namespace kvswap::sim
