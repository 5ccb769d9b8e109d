// cuGetProcAddress in both forms.

#include <cstddef>
#include <optional>
#include <string>

#include "csrc/sim/call.h"
#include "csrc/sim/driver_functions.h"

namespace kvswap::sim {
namespace {

struct LookupRow {
  const char* name;
  int version;
  void* function;
  void* per_thread;  // null: the function has no stream
};

#define KVSWAP_SIM_PER_THREAD_NONE(symbol) nullptr
#define KVSWAP_SIM_PER_THREAD_ptsz(symbol) \
  reinterpret_cast<void*>(&symbol##_ptsz)
#define KVSWAP_SIM_PER_THREAD_ptds(symbol) \
  reinterpret_cast<void*>(&symbol##_ptds)
#define KVSWAP_SIM_ROW(name, version, symbol, per_thread) \
  {#name, version, reinterpret_cast<void*>(&symbol),      \
   KVSWAP_SIM_PER_THREAD_##per_thread(symbol)},

const LookupRow kRows[] = {KVSWAP_SIM_FUNCTION_TABLE(KVSWAP_SIM_ROW)};

#undef KVSWAP_SIM_ROW

struct Answer {
  Result result = abi::kSuccess;
  void* function = nullptr;
  ProcAddressQueryResult status = abi::kProcAddressQuerySuccess;
};

// The truth, before any fault.
Answer FindFunction(const Driver& driver, const std::string& name, int version,
                    std::uint64_t flags) {
  constexpr std::uint64_t kBothFlags =
      abi::kProcAddressLegacyStream | abi::kProcAddressPerThreadDefaultStream;
  Answer answer;
  if (version > driver.version || (flags & ~kBothFlags) != 0) {
    answer.result = abi::kErrorInvalidValue;
    return answer;
  }
  // Seen on driver 580: a negative version is taken for the newest.
  if (version < 0) version = driver.version;
  const LookupRow* best = nullptr;
  bool known = false;
  for (const LookupRow& row : kRows) {
    if (name != row.name || row.version > driver.version) continue;
    known = true;
    if (row.version <= version &&
        (best == nullptr || row.version > best->version)) {
      best = &row;
    }
  }
  if (!known || driver.faults.IsLeftOut(name)) {
    answer.status = abi::kProcAddressQuerySymbolNotFound;
  } else if (best == nullptr) {
    answer.status = abi::kProcAddressQueryVersionNotSufficient;
  } else if (flags == abi::kProcAddressPerThreadDefaultStream &&
             best->per_thread != nullptr) {
    answer.function = best->per_thread;
  } else {
    answer.function = best->function;
  }
  return answer;
}

Answer WithLie(const Driver& driver, const std::string& name, Answer answer) {
  const std::optional<LookupLie> lie = driver.faults.LieAbout(name);
  if (!lie.has_value() || answer.function == nullptr) return answer;
  switch (*lie) {
    case LookupLie::kCode:
      answer.result = abi::kErrorUnknown;
      break;
    case LookupLie::kNull:
      answer.function = nullptr;
      break;
    case LookupLie::kStatus:
      answer.status = abi::kProcAddressQuerySymbolNotFound;
      break;
  }
  return answer;
}

}  // namespace

extern "C" {

Result cuGetProcAddress(const char* symbol, void** function, int version,
                        std::uint64_t flags) {
  Call call(Entry::cuGetProcAddress);
  call.Text("symbol", symbol)
      .Argument("function", function)
      .Argument("version", version)
      .Argument("flags", flags);
  return call.RunBeforeInit([&](Driver& driver) -> Result {
    if (symbol == nullptr || function == nullptr) call.Die("null argument");
    const Answer answer =
        WithLie(driver, symbol, FindFunction(driver, symbol, version, flags));
    call.Output("status", answer.status);
    call.Output("function", answer.function);
    if (answer.result == abi::kErrorInvalidValue) return answer.result;
    // Without a status to give, the code says that there is nothing, and the
    // pointer stays as it was.
    if (answer.status != abi::kProcAddressQuerySuccess &&
        answer.function == nullptr) {
      return abi::kErrorNotFound;
    }
    *function = answer.function;
    return answer.result;
  });
}

Result cuGetProcAddress_v2(const char* symbol, void** function, int version,
                           std::uint64_t flags,
                           ProcAddressQueryResult* status) {
  Call call(Entry::cuGetProcAddress_v2);
  call.Text("symbol", symbol)
      .Argument("function", function)
      .Argument("version", version)
      .Argument("flags", flags)
      .Argument("status", status);
  return call.RunBeforeInit([&](Driver& driver) -> Result {
    if (symbol == nullptr || function == nullptr) call.Die("null argument");
    const Answer answer =
        WithLie(driver, symbol, FindFunction(driver, symbol, version, flags));
    call.Output("status", answer.status);
    call.Output("function", answer.function);
    if (answer.result == abi::kErrorInvalidValue) return answer.result;
    *function = answer.function;
    if (status != nullptr) *status = answer.status;
    return answer.result;
  });
}

}  // extern "C"

}  // namespace kvswap::sim
