// Tells when the copies of a call are done, by events.

#ifndef KVSWAP_ENGINE_TICKET_H_
#define KVSWAP_ENGINE_TICKET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "csrc/driver/driver_table.h"
#include "csrc/engine/pool_copies.h"
#include "csrc/kvswap.h"

namespace kvswap::engine {

// Its events are those of the context that was current when it was made, and
// destroyed with it.
class Ticket {
 public:
  explicit Ticket(const driver::DriverTable& table) : table_(table) {}
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  // Makes an event for each layer of the copies, in the current context, which
  // is of `device`. False: `report` says what is wrong. May throw
  // std::bad_alloc.
  bool CreateEvents(const PoolCopies& copies, int device,
                    kvswap_result* report);

  // Records the next event: the copies of its layer have been submitted to the
  // stream.
  bool RecordNext(abi::Stream stream, kvswap_result* report);

  // The functions of the C ABI.
  bool Query(std::int32_t layer, bool* done, kvswap_result* report) const;
  bool Wait(std::int32_t layer, kvswap_result* report) const;
  bool WaitStream(std::int32_t layer, void* stream,
                  kvswap_result* report) const;

 private:
  struct LayerEvent {
    std::int32_t layer;
    abi::Event event;
  };

  // The event of a layer, or of all; null where nothing was to copy. False:
  // there is no such layer.
  bool Find(std::int32_t layer, abi::Event* event, kvswap_result* report) const;

  // Calls `function(event)`; where the driver misses a current context on this
  // thread, once more with one of the copies' device.
  template <typename Function>
  int CallWithContext(Function function, abi::Event event) const;

  const driver::DriverTable& table_;
  int device_ = -1;
  std::vector<LayerEvent> events_;  // in the order in which they are recorded
  std::size_t recorded_ = 0;
};

}  // namespace kvswap::engine

// The C ABI's name of it.
struct kvswap_ticket final : kvswap::engine::Ticket {
  using Ticket::Ticket;
};

#endif  // KVSWAP_ENGINE_TICKET_H_
