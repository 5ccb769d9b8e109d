// Fills in kvswap_result, the report of a call.

#ifndef KVSWAP_ENGINE_REPORT_H_
#define KVSWAP_ENGINE_REPORT_H_

#include <cstddef>

#include "csrc/abi/cuda_driver_types.h"
#include "csrc/driver/driver_table.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// A report with nothing done and nothing at fault.
void InitReport(kvswap_result* report);

// Sets code and message (printf-like) and returns false, so that a function
// which answers "went well" can end with `return Fail(…)`.
bool Fail(kvswap_result* report, kvswap_status code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The driver's own name of an error, or a stand-in where it has none.
const char* DriverErrorName(const driver::DriverTable& table, int error);

// A driver call that answered with `error`; `what` says which and of what, as
// "cuStreamGetCtx of the stream". Returns false.
bool FailDriverCall(const driver::DriverTable& table, int error,
                    const char* what, kvswap_result* report);

// The same where no copies are submitted: functions of tickets, registrations.
bool FailOtherDriverCall(const driver::DriverTable& table, int error,
                         const char* what, kvswap_result* report);

// A copy call of `engine` that answered with `error`, out of `copies` to
// submit. `name` is Copies::NameCopy of the one at fault, which has been blamed
// by BlameCopy; null where the driver blamed none. Returns false.
bool FailCopy(const driver::DriverTable& table, int error, kvswap_engine engine,
              std::size_t copies, const char* name, kvswap_result* report);

// Writes to a caller's structure, null or of any version; of the message only
// the text, and not what lies behind it.
void WriteResult(const kvswap_result& report, kvswap_result* out);

// Enough for any text of DescribeMemory.
inline constexpr std::size_t kMemoryTextSize = 128;

// Text on one side of a descriptor, "memory of GPU 0, range 0x7f00 + 4096
// bytes".
void DescribeMemory(const kvswap_memory& memory, char* text,
                    std::size_t capacity);

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_REPORT_H_
