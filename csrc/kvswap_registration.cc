// Registration of host memory of the C ABI.

#include <memory>
#include <new>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/registration.h"
#include "csrc/engine/report.h"
#include "csrc/engine/structures.h"
#include "csrc/kvswap.h"

using kvswap::driver::GetDriverTable;

extern "C" {

int kvswap_register_host_memory(void* address, size_t size, int32_t device,
                                const kvswap_registration_options* options,
                                kvswap_registration** registration,
                                kvswap_result* result) {
  if (registration == nullptr ||
      (result != nullptr && !kvswap::engine::HasValidSize(result))) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  *registration = nullptr;
  kvswap_result report;
  kvswap::engine::InitReport(&report);
  try {
    auto made = std::make_unique<kvswap_registration>(GetDriverTable());
    if (made->Register(address, size, device, options, &report)) {
      *registration = made.release();
    }
  } catch (const std::bad_alloc&) {
    kvswap::engine::Fail(&report, KVSWAP_ERROR_OUT_OF_MEMORY,
                         "the host ran out of memory. Nothing is registered");
  }
  kvswap::engine::WriteResult(report, result);
  return report.code;
}

size_t kvswap_registration_chunk_count(
    const kvswap_registration* registration) {
  return registration == nullptr ? 0 : registration->chunk_count();
}

int kvswap_unregister_host_memory(kvswap_registration* registration,
                                  kvswap_result* result) {
  if (result != nullptr && !kvswap::engine::HasValidSize(result)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  kvswap_result report;
  kvswap::engine::InitReport(&report);
  if (registration != nullptr) {
    registration->Unregister(&report);
    delete registration;
  }
  kvswap::engine::WriteResult(report, result);
  return report.code;
}

}  // extern "C"
