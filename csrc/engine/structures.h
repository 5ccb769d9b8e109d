// Structures of the C ABI across versions, by their struct_size.

#ifndef KVSWAP_ENGINE_STRUCTURES_H_
#define KVSWAP_ENGINE_STRUCTURES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace kvswap::engine {

// Whether the caller's structure is at least its own size field.
template <typename Structure>
bool HasValidSize(const Structure* structure) {
  return structure->struct_size >= sizeof(structure->struct_size);
}

// Reads a caller's structure of any version into `known`: fields that an older
// caller lacks stay as they are there. False where struct_size cannot be right,
// or a newer caller set a field that this library does not know.
template <typename Structure>
bool ReadStructure(const Structure* given, Structure* known) {
  if (!HasValidSize(given)) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Structure); i < given->struct_size; ++i) {
    if (bytes[i] != 0) return false;
  }
  std::memcpy(known, given, std::min(given->struct_size, sizeof(Structure)));
  known->struct_size = sizeof(Structure);
  return true;
}

// Writes to a caller's structure of any version: as much as it has room for.
// Its struct_size stays. False where struct_size cannot be right.
template <typename Structure>
bool WriteStructure(const Structure& known, Structure* out) {
  if (!HasValidSize(out)) return false;
  constexpr std::size_t kSkip = sizeof(known.struct_size);
  std::memcpy(reinterpret_cast<unsigned char*>(out) + kSkip,
              reinterpret_cast<const unsigned char*>(&known) + kSkip,
              std::min(out->struct_size, sizeof(Structure)) - kSkip);
  return true;
}

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_STRUCTURES_H_
