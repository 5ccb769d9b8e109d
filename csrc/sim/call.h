// The frame of every driver call: lock, record, faults, a step of the
// scheduler, and then the function's own body.

#ifndef KVSWAP_SIM_CALL_H_
#define KVSWAP_SIM_CALL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "csrc/sim/driver.h"
#include "csrc/sim/entries.h"
#include "csrc/sim/faults.h"
#include "csrc/sim/trace.h"

namespace kvswap::sim {

// Adds the time between its making and its end to that spent in the driver.
class CallTimer {
 public:
  CallTimer() : start_(std::chrono::steady_clock::now()) {}
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;
  ~CallTimer();

  // Of all calls and threads, since the library was loaded.
  static std::uint64_t Nanoseconds();

 private:
  const std::chrono::steady_clock::time_point start_;
};

class Call {
 public:
  explicit Call(Entry entry) : entry_(entry), lock_(Driver::Mutex()) {}

  Entry entry() const { return entry_; }

  // An argument, as it was received: a number, an enumerator or an address.
  template <typename Value>
  Call& Argument(std::string_view name, Value value) {
    AddNumber(&arguments_, name, value);
    return *this;
  }
  Call& Text(std::string_view name, const char* value);
  // The elements of an array argument, or its address where it has too many or
  // is null.
  template <typename Value>
  Call& Array(std::string_view name, const Value* values, std::size_t count);

  // What the call gave back through a pointer.
  template <typename Value>
  void Output(std::string_view name, Value value) {
    AddNumber(&outputs_, name, value);
  }

  // Where a batch call reports the copy at fault, for faults on demand.
  void SetFailedIndex(std::size_t* failed_index) {
    failed_index_ = failed_index;
  }

  // A remark for the record.
  void Note(const std::string& text) { note_ = text; }

  // A wild address in an argument, what the driver would die of.
  [[noreturn]] void Die(const std::string& text);

  // Runs the body if the driver is initialised.
  template <typename Body>
  Result Run(Body body) {
    return Execute(true, body);
  }
  // The same for what also works before cuInit.
  template <typename Body>
  Result RunBeforeInit(Body body) {
    return Execute(false, body);
  }

 private:
  template <typename Value>
  static void AddNumber(JsonObject* object, std::string_view name,
                        Value value) {
    if constexpr (std::is_null_pointer_v<Value>) {
      object->Add(name, std::uint64_t{0});
    } else if constexpr (std::is_pointer_v<Value>) {
      object->Add(name, reinterpret_cast<std::uint64_t>(value));
    } else if constexpr (std::is_enum_v<Value> || std::is_signed_v<Value>) {
      object->Add(name, static_cast<std::int64_t>(value));
    } else {
      object->Add(name, static_cast<std::uint64_t>(value));
    }
  }

  template <typename Body>
  Result Execute(bool needs_initialisation, Body body) {
    Driver& driver = Driver::Get();
    const std::optional<Fault> fault = driver.faults.Next(entry_);
    Result result;
    if (needs_initialisation && (driver.forked || !driver.initialized)) {
      result = abi::kErrorNotInitialized;
      if (failed_index_ != nullptr) *failed_index_ = SIZE_MAX;
    } else {
      driver.scheduler.RunSome();
      if (fault.has_value() && !fault->after_work) {
        result = fault->code;
      } else {
        result = body(driver);
      }
      if (fault.has_value()) result = ApplyFault(*fault);
    }
    Record(driver, static_cast<int>(result));
    return result;
  }

  Result ApplyFault(const Fault& fault);
  void Record(Driver& driver, std::optional<int> result);

  static constexpr std::size_t kMostElements = 4096;

  // The first member: all others are gone when it ends.
  CallTimer timer_;
  const Entry entry_;
  std::unique_lock<std::mutex> lock_;
  JsonObject arguments_;
  JsonObject outputs_;
  std::string note_;
  std::size_t* failed_index_ = nullptr;
};

template <typename Value>
Call& Call::Array(std::string_view name, const Value* values,
                  std::size_t count) {
  if (values == nullptr || count > kMostElements) {
    return Argument(name, values);
  }
  std::string json = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) json += ", ";
    if constexpr (std::is_pointer_v<Value>) {
      json += std::to_string(reinterpret_cast<std::uint64_t>(values[i]));
    } else {
      json += std::to_string(values[i]);
    }
  }
  arguments_.AddJson(name, json + "]");
  return *this;
}

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_CALL_H_
