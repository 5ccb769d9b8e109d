#include "csrc/kvswap.h"

#include <cstring>
#include <new>

#include "csrc/abi/toolkit_version.h"
#include "csrc/driver/driver_table.h"
#include "csrc/engine/call_counts.h"
#include "csrc/engine/call_log.h"
#include "csrc/engine/descriptors.h"
#include "csrc/engine/kernel_info.h"
#include "csrc/engine/memory_query.h"
#include "csrc/engine/names.h"
#include "csrc/engine/out_of_memory.h"
#include "csrc/engine/plan.h"
#include "csrc/engine/report.h"
#include "csrc/engine/statistics.h"
#include "csrc/engine/structures.h"
#include "csrc/engine/submit.h"
#include "csrc/log/log.h"

#define KVSWAP_TEXT_OF(number) #number
#define KVSWAP_TEXT(number) KVSWAP_TEXT_OF(number)

namespace kvswap {
namespace {

using engine::Descriptors;

static_assert(KVSWAP_ENGINE_BRIDGE < KVSWAP_ENGINE_SLOTS);
static_assert(KVSWAP_REASON_NO_BRIDGE < KVSWAP_REASON_SLOTS);

void DescribePlan(const engine::Plan& plan, const kvswap_result& report,
                  kvswap_plan* described) {
  described->engine = report.engine;
  described->stream_kind = plan.stream().kind;
  described->capturing = plan.capturing() ? 1 : 0;
  described->device = report.device;
  described->copies = plan.copies().count();
  described->dropped = report.dropped;
  described->bytes = plan.copies().bytes();
  described->max_batch = plan.settings().max_batch;
  std::memcpy(described->unavailable, report.unavailable,
              sizeof(described->unavailable));
  if (plan.copies().count() == 0) return;
  engine::Submitter submitter(plan, engine::Mode::kCount);
  kvswap_result counted;
  engine::InitReport(&counted);
  submitter.Submit(0, plan.copies().count(), &counted);
  const engine::CallCounts counts = submitter.counts();
  described->driver_calls = counts.driver_calls;
  described->coalesced = counts.coalesced;
  std::memcpy(described->engine_copies, counted.copies, sizeof(counted.copies));
}

// Plans the call and, without `described`, submits it.
void Run(const Descriptors& descriptors, void* stream,
         const kvswap_options* options, kvswap_plan* described,
         engine::CallCounts* counts, kvswap_result* report) {
  try {
    engine::DescriptorCopies copies(descriptors);
    engine::Plan plan(driver::GetDriverTable(), &copies, stream);
    if (plan.Make(options, report)) {
      if (described != nullptr) {
        DescribePlan(plan, *report, described);
      } else {
        engine::SubmitAll(plan, counts, report);
      }
    }
    plan.End(report);
    plan.Log();
  } catch (const std::bad_alloc&) {
    engine::Fail(report, KVSWAP_ERROR_OUT_OF_MEMORY,
                 "the host ran out of memory while planning %zu copies. "
                 "Nothing was submitted",
                 descriptors.count);
  }
}

// Fills an output structure; what there is to tell is a valid struct_size.
template <typename Structure>
int Write(const Structure& known, Structure* out) {
  return out != nullptr && engine::WriteStructure(known, out)
             ? KVSWAP_OK
             : KVSWAP_ERROR_INVALID_ARGUMENT;
}

}  // namespace
}  // namespace kvswap

using kvswap::driver::DriverTable;
using kvswap::driver::EntryReport;
using kvswap::driver::GetDriverTable;
using kvswap::engine::WithoutThrowing;

extern "C" {

int kvswap_swap_blocks_batch(const void* const* src_ptrs, void* const* dst_ptrs,
                             const size_t* sizes, size_t count, void* stream,
                             const kvswap_options* options,
                             kvswap_result* result) {
  if (result != nullptr && !kvswap::engine::HasValidSize(result)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  kvswap_result report;
  kvswap::engine::InitReport(&report);
  kvswap::engine::CallCounts counts;
  kvswap::Run({src_ptrs, dst_ptrs, sizes, count}, stream, options, nullptr,
              &counts, &report);
  kvswap::engine::CountCall(report, counts);
  kvswap::engine::LogCall(kvswap::engine::kOperationOnPointers, stream, report,
                          counts);
  kvswap::engine::WriteResult(report, result);
  return report.code;
}

int kvswap_plan_blocks_batch(const void* const* src_ptrs, void* const* dst_ptrs,
                             const size_t* sizes, size_t count, void* stream,
                             const kvswap_options* options, kvswap_plan* plan,
                             kvswap_result* result) {
  if (plan == nullptr || !kvswap::engine::HasValidSize(plan) ||
      (result != nullptr && !kvswap::engine::HasValidSize(result))) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  kvswap_result report;
  kvswap::engine::InitReport(&report);
  kvswap_plan described = KVSWAP_PLAN_INIT;
  described.device = -1;
  kvswap::Run({src_ptrs, dst_ptrs, sizes, count}, stream, options, &described,
              nullptr, &report);
  kvswap::engine::WriteStructure(described, plan);
  kvswap::engine::WriteResult(report, result);
  return report.code;
}

int kvswap_find_device(const void* const* src_ptrs, void* const* dst_ptrs,
                       const size_t* sizes, size_t count, int32_t* device) {
  if (device == nullptr ||
      (count != 0 &&
       (src_ptrs == nullptr || dst_ptrs == nullptr || sizes == nullptr))) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  *device = -1;
  return WithoutThrowing([&] {
    *device = kvswap::engine::FirstDevice(GetDriverTable(),
                                          {src_ptrs, dst_ptrs, sizes, count});
    return KVSWAP_OK;
  });
}

int kvswap_get_driver_info(kvswap_driver_info* info) {
  return WithoutThrowing([info] {
    const DriverTable& table = GetDriverTable();
    kvswap_driver_info known = KVSWAP_DRIVER_INFO_INIT;
    known.usable = table.Usable() ? 1 : 0;
    known.driver_version = table.version;
    known.batch_available = table.MemcpyBatchAsync != nullptr ? 1 : 0;
    known.toolkit_version = kvswap::abi::kToolkitVersion;
    known.entry_count = table.entries.size();
    known.path = table.library.path.c_str();
    known.message = table.message.c_str();
    known.tried = table.library.tried.c_str();
    return kvswap::Write(known, info);
  });
}

int kvswap_get_driver_entry(size_t position, kvswap_driver_entry* entry) {
  return WithoutThrowing([position, entry]() -> int {
    const DriverTable& table = GetDriverTable();
    if (position >= table.entries.size()) return KVSWAP_ERROR_INVALID_ARGUMENT;
    const EntryReport& report = table.entries[position];
    kvswap_driver_entry known = KVSWAP_DRIVER_ENTRY_INIT;
    known.name = report.name.c_str();
    known.version = report.version;
    known.required = report.need == kvswap::driver::Need::kRequired ? 1 : 0;
    known.present = report.answer.Found() ? 1 : 0;
    known.cuda_error = report.answer.code;
    known.query_status = report.answer.status;
    known.message = report.message.c_str();
    return kvswap::Write(known, entry);
  });
}

int kvswap_get_kernel_info(kvswap_kernel_info* info) {
  if (info == nullptr || !kvswap::engine::HasValidSize(info)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  return WithoutThrowing([info] {
    kvswap_kernel_info known = KVSWAP_KERNEL_INFO_INIT;
    kvswap::engine::DescribeKernels(GetDriverTable(), &known);
    return kvswap::Write(known, info);
  });
}

int kvswap_get_statistics(kvswap_statistics* statistics) {
  kvswap_statistics known = KVSWAP_STATISTICS_INIT;
  kvswap::engine::ReadStatistics(&known);
  return kvswap::Write(known, statistics);
}

int kvswap_set_log(kvswap_log_callback callback, void* user_data,
                   int32_t level) {
  if (level != KVSWAP_LOG_FROM_ENVIRONMENT && !kvswap::log::IsLevel(level)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  return WithoutThrowing([=] {
    kvswap::log::SetSink(callback, user_data, level);
    return KVSWAP_OK;
  });
}

const char* kvswap_version_string(void) {
  return KVSWAP_TEXT(KVSWAP_VERSION_MAJOR) "." KVSWAP_TEXT(
      KVSWAP_VERSION_MINOR) "." KVSWAP_TEXT(KVSWAP_VERSION_PATCH);
}

int32_t kvswap_version_number(void) {
  return KVSWAP_VERSION_MAJOR * 10000 + KVSWAP_VERSION_MINOR * 100 +
         KVSWAP_VERSION_PATCH;
}

const char* kvswap_status_name(int32_t status) {
  return kvswap::engine::StatusName(status);
}
const char* kvswap_engine_name(int32_t engine) {
  return kvswap::engine::EngineName(engine);
}
const char* kvswap_reason_name(int32_t reason) {
  return kvswap::engine::ReasonName(reason);
}
const char* kvswap_source_access_name(int32_t source_access) {
  return kvswap::engine::SourceAccessName(source_access);
}
const char* kvswap_stream_kind_name(int32_t stream_kind) {
  return kvswap::engine::StreamKindName(stream_kind);
}
const char* kvswap_memory_kind_name(int32_t memory_kind) {
  return kvswap::engine::MemoryKindName(memory_kind);
}
const char* kvswap_priority_name(int32_t priority) {
  return kvswap::engine::PriorityName(priority);
}
const char* kvswap_direction_name(int32_t direction) {
  return kvswap::engine::DirectionName(direction);
}
const char* kvswap_kernel_name(int32_t kernel) {
  return kvswap::engine::KernelName(kernel);
}
const char* kvswap_log_level_name(int32_t level) {
  return kvswap::log::LevelName(level);
}
int32_t kvswap_engine_from_name(const char* name) {
  return kvswap::engine::EngineFromName(name);
}
int32_t kvswap_source_access_from_name(const char* name) {
  return kvswap::engine::SourceAccessFromName(name);
}
int32_t kvswap_priority_from_name(const char* name) {
  return kvswap::engine::PriorityFromName(name);
}
int32_t kvswap_direction_from_name(const char* name) {
  return kvswap::engine::DirectionFromName(name);
}
int32_t kvswap_kernel_from_name(const char* name) {
  return kvswap::engine::KernelFromName(name);
}
int32_t kvswap_log_level_from_name(const char* name) {
  return kvswap::log::LevelFromName(name);
}
const char* kvswap_reason_text(int32_t reason) {
  return kvswap::engine::ReasonText(reason);
}

}  // extern "C"
