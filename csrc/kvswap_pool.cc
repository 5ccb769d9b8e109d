// Block pools and tickets of the C ABI.

#include <memory>
#include <new>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/call_counts.h"
#include "csrc/engine/call_log.h"
#include "csrc/engine/plan.h"
#include "csrc/engine/pool_copies.h"
#include "csrc/engine/report.h"
#include "csrc/engine/statistics.h"
#include "csrc/engine/structures.h"
#include "csrc/engine/submit_pools.h"
#include "csrc/engine/ticket.h"
#include "csrc/kvswap.h"

namespace kvswap {
namespace {

// The ticket for what the plan will submit; null, with `report`, where there
// can be none.
std::unique_ptr<kvswap_ticket> MakeTicket(const engine::Plan& plan,
                                          const engine::PoolCopies& copies,
                                          kvswap_result* report) {
  if (plan.capturing()) {
    engine::Fail(report, KVSWAP_ERROR_UNSUPPORTED,
                 "the stream captures a graph, whose copies run when it is "
                 "launched: no ticket can tell when. Make the call without a "
                 "ticket (ticket=False in Python), and synchronise with the "
                 "stream that launches the graph. Nothing was submitted");
    return nullptr;
  }
  auto ticket = std::make_unique<kvswap_ticket>(plan.table());
  if (!ticket->CreateEvents(copies, report->device, report)) return nullptr;
  return ticket;
}

std::unique_ptr<kvswap_ticket> SwapPools(
    engine::PoolCopies* copies, void* stream, const kvswap_options* options,
    bool wants_ticket, engine::CallCounts* counts, kvswap_result* report) {
  std::unique_ptr<kvswap_ticket> ticket;
  try {
    engine::Plan plan(driver::GetDriverTable(), copies, stream);
    if (plan.Make(options, report)) {
      if (wants_ticket) ticket = MakeTicket(plan, *copies, report);
      if (report->code == KVSWAP_OK) {
        engine::SubmitPools(plan, *copies, ticket.get(), counts, report);
      }
    }
    plan.End(report);
    plan.Log();
  } catch (const std::bad_alloc&) {
    engine::Fail(report, KVSWAP_ERROR_OUT_OF_MEMORY,
                 "the host ran out of memory while planning copies between "
                 "pools. Nothing was submitted");
  }
  if (report->code != KVSWAP_OK) ticket.reset();
  return ticket;
}

// Calls `function(report)` and gives its report to the caller.
template <typename Function>
int WithReport(kvswap_result* result, const Function& function) {
  if (result != nullptr && !engine::HasValidSize(result)) {
    return KVSWAP_ERROR_INVALID_ARGUMENT;
  }
  kvswap_result report;
  engine::InitReport(&report);
  function(&report);
  engine::WriteResult(report, result);
  return report.code;
}

bool FailNullTicket(kvswap_result* report) {
  return engine::Fail(report, KVSWAP_ERROR_INVALID_ARGUMENT,
                      "the ticket, or what is to be written, is null");
}

}  // namespace
}  // namespace kvswap

extern "C" {

int kvswap_swap_pools(const kvswap_pool* source, const kvswap_pool* destination,
                      const int64_t* pairs, size_t pair_count, void* stream,
                      const kvswap_options* options, kvswap_ticket** ticket,
                      kvswap_result* result) {
  if (ticket != nullptr) *ticket = nullptr;
  return kvswap::WithReport(result, [&](kvswap_result* report) {
    kvswap::engine::PoolCopies copies(source, destination, pairs, pair_count);
    kvswap::engine::CallCounts counts;
    std::unique_ptr<kvswap_ticket> made = kvswap::SwapPools(
        &copies, stream, options, ticket != nullptr, &counts, report);
    kvswap::engine::CountCall(*report, counts);
    kvswap::engine::LogCall(kvswap::engine::kOperationOnPools, stream, *report,
                            counts);
    if (ticket != nullptr) *ticket = made.release();
  });
}

int kvswap_ticket_query(const kvswap_ticket* ticket, int32_t layer,
                        int32_t* done, kvswap_result* result) {
  return kvswap::WithReport(result, [&](kvswap_result* report) {
    if (ticket == nullptr || done == nullptr) {
      kvswap::FailNullTicket(report);
      return;
    }
    bool is_done = false;
    ticket->Query(layer, &is_done, report);
    *done = is_done ? 1 : 0;
  });
}

int kvswap_ticket_wait(const kvswap_ticket* ticket, int32_t layer,
                       kvswap_result* result) {
  return kvswap::WithReport(result, [&](kvswap_result* report) {
    if (ticket == nullptr) {
      kvswap::FailNullTicket(report);
    } else {
      ticket->Wait(layer, report);
    }
  });
}

int kvswap_ticket_wait_stream(const kvswap_ticket* ticket, int32_t layer,
                              void* stream, kvswap_result* result) {
  return kvswap::WithReport(result, [&](kvswap_result* report) {
    if (ticket == nullptr) {
      kvswap::FailNullTicket(report);
    } else {
      ticket->WaitStream(layer, stream, report);
    }
  });
}

void kvswap_ticket_destroy(kvswap_ticket* ticket) { delete ticket; }

}  // extern "C"
