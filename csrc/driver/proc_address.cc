#include "csrc/driver/proc_address.h"

#include <dlfcn.h>

namespace kvswap::driver {

// The exported plain name is the 4-argument form in every driver; only the
// header's macro makes it mean the other one.
ProcAddressLookup::ProcAddressLookup(void* library)
    : with_status_(reinterpret_cast<abi::GetProcAddress_v12000>(
          dlsym(library, "cuGetProcAddress_v2"))),
      without_status_(reinterpret_cast<abi::GetProcAddress_v11030>(
          dlsym(library, "cuGetProcAddress"))) {}

bool ProcAddressLookup::Available() const {
  return with_status_ != nullptr || without_status_ != nullptr;
}

LookupAnswer ProcAddressLookup::Find(const char* name, int version) const {
  LookupAnswer answer;
  if (with_status_ != nullptr) {
    auto status = abi::kProcAddressQuerySymbolNotFound;
    answer.code = with_status_(name, &answer.function, version,
                               abi::kProcAddressLegacyStream, &status);
    answer.status = status;
  } else if (without_status_ != nullptr) {
    answer.code = without_status_(name, &answer.function, version,
                                  abi::kProcAddressLegacyStream);
  }
  return answer;
}

}  // namespace kvswap::driver
