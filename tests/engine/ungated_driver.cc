// The simulated driver for programs whose allocations fail
// (failing_allocations.h): each of its functions says when it begins and when
// it ends, so that its own allocations do not.
//
// KVSWAP_TESTS_DRIVER names the file of the simulated driver.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_entries.h"

namespace kvswap::tests {
namespace {

using Notice = void (*)();

Notice FindNotice(const char* name) {
  return reinterpret_cast<Notice>(dlsym(RTLD_DEFAULT, name));
}

const Notice enter = FindNotice("kvswap_tests_enter_driver");
const Notice leave = FindNotice("kvswap_tests_leave_driver");

class InDriver {
 public:
  InDriver() { enter(); }
  ~InDriver() { leave(); }
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
};

// One type for each entry of the driver table.
template <typename Entry, typename Function>
struct Gated;

template <typename Entry, typename Result, typename... Arguments>
struct Gated<Entry, Result (*)(Arguments...)> {
  static inline Result (*function)(Arguments...) = nullptr;

  static Result Call(Arguments... arguments) {
    const InDriver in_driver;
    return function(arguments...);
  }
};

#define KVSWAP_ENTRY_TYPE(name, version, need) struct name##Entry;
KVSWAP_DRIVER_ENTRIES(KVSWAP_ENTRY_TYPE)
#undef KVSWAP_ENTRY_TYPE

// Puts a function of ours in the place of the driver's.
void Gate(const char* symbol, void** function) {
#define KVSWAP_GATE(name, version, need)                                   \
  if (std::strcmp(symbol, "cu" #name) == 0) {                              \
    using Entry = Gated<name##Entry, abi::name##_v##version>;              \
    Entry::function = reinterpret_cast<abi::name##_v##version>(*function); \
    *function = reinterpret_cast<void*>(&Entry::Call);                     \
    return;                                                                \
  }
  KVSWAP_DRIVER_ENTRIES(KVSWAP_GATE)
#undef KVSWAP_GATE
  std::fprintf(stderr, "%s is no entry of the driver table\n", symbol);
  std::abort();
}

abi::GetProcAddress_v12000 FindLookup() {
  const char* path = std::getenv("KVSWAP_TESTS_DRIVER");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "KVSWAP_TESTS_DRIVER: %s\n",
                 path == nullptr ? "is not set" : dlerror());
    std::abort();
  }
  return reinterpret_cast<abi::GetProcAddress_v12000>(
      dlsym(library, "cuGetProcAddress_v2"));
}

}  // namespace
}  // namespace kvswap::tests

extern "C" __attribute__((visibility("default"))) kvswap::abi::Result
cuGetProcAddress_v2(const char* symbol, void** function, int version,
                    std::uint64_t flags,
                    kvswap::abi::ProcAddressQueryResult* status) {
  const kvswap::tests::InDriver in_driver;
  static const auto lookup = kvswap::tests::FindLookup();
  const kvswap::abi::Result code =
      lookup(symbol, function, version, flags, status);
  if (code == kvswap::abi::kSuccess && *function != nullptr) {
    kvswap::tests::Gate(symbol, function);
  }
  return code;
}
