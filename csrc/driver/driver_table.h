// The driver table: every driver function that kvswap calls, resolved at run
// time, once a process.

#ifndef KVSWAP_DRIVER_DRIVER_TABLE_H_
#define KVSWAP_DRIVER_DRIVER_TABLE_H_

#include <string>
#include <vector>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_entries.h"
#include "csrc/driver/library.h"
#include "csrc/driver/proc_address.h"

namespace kvswap::driver {

enum class Need { kRequired, kOptional };

// How the lookup of one entry went, kept for reports.
struct EntryReport {
  std::string name;  // with "cu"
  int version;
  Need need;
  LookupAnswer answer;
  std::string message;  // why it is missing; empty where it is present
};

struct DriverTable {
  Library library;
  int version = 0;      // as 12080 for CUDA 12.8; 0: no driver
  std::string message;  // why the driver is not usable; empty where it is
  std::vector<EntryReport> entries;

  // The functions; null where `entries` says missing.
#define KVSWAP_DECLARE_FUNCTION(name, version, need) \
  abi::name##_v##version name = nullptr;
  KVSWAP_DRIVER_ENTRIES(KVSWAP_DECLARE_FUNCTION)
#undef KVSWAP_DECLARE_FUNCTION

  bool Usable() const { return message.empty(); }
};

// The process's table. The first call loads the library and resolves every
// entry, other threads wait for it; no call initialises CUDA. Lives until the
// process ends, also through exit handlers. May throw std::bad_alloc; the next
// call then tries again.
const DriverTable& GetDriverTable();

}  // namespace kvswap::driver

#endif  // KVSWAP_DRIVER_DRIVER_TABLE_H_
