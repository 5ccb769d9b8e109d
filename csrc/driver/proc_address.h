// Looks driver functions up by name and version.

#ifndef KVSWAP_DRIVER_PROC_ADDRESS_H_
#define KVSWAP_DRIVER_PROC_ADDRESS_H_

#include "csrc/abi/cuda_driver_types.h"

namespace kvswap::driver {

// What one lookup answered. The driver reports a missing function in any of
// three ways (return code, null pointer, status), so each alone means missing.
struct LookupAnswer {
  static constexpr int kStatusNotTold = -1;  // by the 4-argument form

  void* function = nullptr;
  int code = abi::kErrorNotFound;  // CUresult
  int status = kStatusNotTold;     // CUdriverProcAddressQueryResult

  bool Found() const {
    return code == abi::kSuccess && function != nullptr &&
           (status == kStatusNotTold ||
            status == abi::kProcAddressQuerySuccess);
  }
};

// The driver's own lookup function, in whichever of its two forms the library
// exports. cuGetProcAddress works before cuInit.
class ProcAddressLookup {
 public:
  // `library` is a dlopen handle of the driver.
  explicit ProcAddressLookup(void* library);

  // False where the library exports neither form: a driver before CUDA 11.3,
  // or no CUDA driver at all.
  bool Available() const;

  // `name` without a version suffix; `version` as 12080 for CUDA 12.8.
  // Functions are asked for with legacy-stream semantics: stream handle 0 is
  // the legacy default stream, however the caller was compiled.
  LookupAnswer Find(const char* name, int version) const;

 private:
  abi::GetProcAddress_v12000 with_status_ = nullptr;
  abi::GetProcAddress_v11030 without_status_ = nullptr;
};

}  // namespace kvswap::driver

#endif  // KVSWAP_DRIVER_PROC_ADDRESS_H_
