// Arguments that name one of the C ABI's enumerators, as engine="batch".

#ifndef KVSWAP_BINDINGS_ENUMERATOR_NAMES_H_
#define KVSWAP_BINDINGS_ENUMERATOR_NAMES_H_

#include <cstdint>

#include "csrc/bindings/python_objects.h"

namespace kvswap::bindings {

// The C ABI's functions of an enumeration.
struct Enumeration {
  const char* (*name_of)(int32_t);
  int32_t (*number_of)(const char*);
};

extern const Enumeration kEngines;
extern const Enumeration kSourceAccesses;
extern const Enumeration kPriorities;
extern const Enumeration kDirections;
extern const Enumeration kKernels;

// The number of a name, `first` at least. Throws TypeError or ValueError,
// naming the argument and what it can be.
int32_t ParseName(py::handle value, const char* argument,
                  const Enumeration& enumeration, int32_t first = 0);

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_ENUMERATOR_NAMES_H_
