// The functions of the simulated driver as values: Entry::cuMemAlloc_v2.

#ifndef KVSWAP_SIM_ENTRIES_H_
#define KVSWAP_SIM_ENTRIES_H_

#include <cstddef>
#include <string_view>

#include "csrc/sim/entry_table.h"

namespace kvswap::sim {

enum class Entry : int {
#define KVSWAP_SIM_ROW(name, version, symbol, per_thread) symbol,
  KVSWAP_SIM_FUNCTION_TABLE(KVSWAP_SIM_ROW)
#undef KVSWAP_SIM_ROW
};

struct EntryDescription {
  const char* name;    // as cuGetProcAddress takes it
  int version;         // of the ABI
  const char* symbol;  // as exported
};

inline constexpr EntryDescription kEntryDescriptions[] = {
#define KVSWAP_SIM_ROW(name, version, symbol, per_thread) \
  {#name, version, #symbol},
    KVSWAP_SIM_FUNCTION_TABLE(KVSWAP_SIM_ROW)
#undef KVSWAP_SIM_ROW
};

inline constexpr const EntryDescription& Describe(Entry entry) {
  return kEntryDescriptions[static_cast<int>(entry)];
}

// Whether a name is that of an entry: its name (all versions of it are meant)
// or its exported symbol.
inline bool Names(std::string_view text, Entry entry) {
  const EntryDescription& description = Describe(entry);
  return text == description.name || text == description.symbol;
}

inline bool IsEntryName(std::string_view text) {
  for (const EntryDescription& description : kEntryDescriptions) {
    if (text == description.name || text == description.symbol) return true;
  }
  return false;
}

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_ENTRIES_H_
