#include "csrc/bindings/pool_objects.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "csrc/bindings/call_options.h"
#include "csrc/bindings/conversions.h"
#include "csrc/bindings/integer_array.h"
#include "csrc/bindings/pair_array.h"
#include "csrc/bindings/stream_handle.h"
#include "csrc/bindings/swap_result.h"
#include "csrc/bindings/torch_objects.h"
#include "csrc/bindings/trace_range.h"
#include "csrc/bindings/without_gil.h"
#include "csrc/kvswap.h"

namespace kvswap::bindings {
namespace {

// Whether the interpreter is there still. While it is taken apart the driver
// may be gone too, and the process takes back what is left.
bool InterpreterIsThere() { return Py_IsInitialized() != 0; }

// ---------------------------------------------------------------------------
// Regions
// ---------------------------------------------------------------------------

// The regions of a pool. The GIL guards it.
class Regions {
 public:
  Regions(const py::sequence& regions, std::size_t block_count)
      : block_count_(block_count) {
    for (const py::handle item : regions) {
      const auto fields = py::reinterpret_borrow<py::tuple>(item);
      kvswap_region region = {};
      region.base = reinterpret_cast<void*>(fields[0].cast<std::uintptr_t>());
      region.stride = fields[1].cast<std::size_t>();
      region.block_bytes = fields[2].cast<std::size_t>();
      region.layer = fields[3].cast<std::int32_t>();
      regions_.push_back(region);
    }
  }

  kvswap_pool pool() const {
    kvswap_pool pool = KVSWAP_POOL_INIT;
    pool.regions = regions_.data();
    pool.region_count = regions_.size();
    pool.block_count = block_count_;
    return pool;
  }

  void Invalidate(const std::string& reason) { invalid_ = reason; }
  const std::string& invalid() const { return invalid_; }

  // Calls that are being made.
  int uses() const { return uses_; }

  class Use {
   public:
    explicit Use(Regions& regions) : regions_(regions) { ++regions_.uses_; }
    ~Use() { --regions_.uses_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Regions& regions_;
  };

 private:
  std::vector<kvswap_region> regions_;
  std::size_t block_count_;
  std::string invalid_;  // why it cannot be used any more
  int uses_ = 0;
};

void RefuseInvalid(const Regions& regions, const char* name) {
  if (regions.invalid().empty()) return;
  throw py::value_error(std::string("the ") + name +
                        " pool was invalidated: " + regions.invalid() +
                        ". Make a new BlockPool of the cache as it is now");
}

// ---------------------------------------------------------------------------
// Tickets
// ---------------------------------------------------------------------------

class Ticket {
 public:
  Ticket() = default;
  ~Ticket() {
    if (InterpreterIsThere()) kvswap_ticket_destroy(ticket_);
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  void Set(kvswap_ticket* ticket) { ticket_ = ticket; }

  bool IsDone(std::int32_t layer) const {
    kvswap_result result = KVSWAP_RESULT_INIT;
    std::int32_t done = 0;
    const int status = WithoutGil(
        [&] { return kvswap_ticket_query(ticket_, layer, &done, &result); });
    ThrowUnlessOk(status, result);
    return done != 0;
  }

  void Wait(std::int32_t layer) const {
    kvswap_result result = KVSWAP_RESULT_INIT;
    const int status =
        WithoutGil([&] { return kvswap_ticket_wait(ticket_, layer, &result); });
    ThrowUnlessOk(status, result);
  }

  void WaitStream(std::int32_t layer, py::handle stream,
                  std::int32_t device) const {
    void* handle =
        StreamHandle(stream, FindTorch(), [device] { return device; });
    kvswap_result result = KVSWAP_RESULT_INIT;
    const int status = WithoutGil([&] {
      return kvswap_ticket_wait_stream(ticket_, layer, handle, &result);
    });
    ThrowUnlessOk(status, result);
  }

 private:
  kvswap_ticket* ticket_ = nullptr;
};

// ---------------------------------------------------------------------------
// The call
// ---------------------------------------------------------------------------

// The GPU of the first region of either pool, for the choice of a stream.
std::int32_t FindDevice(const kvswap_pool& source,
                        const kvswap_pool& destination) {
  if (source.region_count == 0 || destination.region_count == 0) return -1;
  const void* sources[] = {source.regions[0].base};
  void* destinations[] = {destination.regions[0].base};
  const std::size_t sizes[] = {1};
  std::int32_t device = -1;
  WithoutGil([&] {
    return kvswap_find_device(sources, destinations, sizes, 1, &device);
  });
  return device;
}

// `keep((ticket, kept))` is called where there is a ticket, before the pools
// can be invalidated: what invalidates them waits for what is kept. It is a
// function in C, in which no signal handler runs: one that raises there would
// leave copies under way whose memory nothing keeps.
py::tuple SwapPools(Regions& source, Regions& destination, py::handle pairs,
                    py::handle stream, py::handle engine, py::handle src_access,
                    py::handle max_batch, py::handle strict,
                    py::handle priority, py::handle policy,
                    py::handle prefer_overlap, bool check, bool layers,
                    bool wants_ticket, py::handle keep, py::handle kept) {
  const Regions::Use source_use(source);
  const Regions::Use destination_use(destination);
  RefuseInvalid(source, "source");
  RefuseInvalid(destination, "destination");
  const TorchObjects* torch = FindTorch();
  const PairArray pair_array(pairs, torch);
  CallArguments arguments;
  arguments.engine = engine;
  arguments.src_access = src_access;
  arguments.max_batch = max_batch;
  arguments.strict = strict;
  arguments.priority = priority;
  arguments.policy = policy;
  arguments.prefer_overlap = prefer_overlap;
  CallOptions call_options = MakeOptions(arguments);
  kvswap_options& options = call_options.options;
  if (check) options.flags |= KVSWAP_FLAG_CHECK;
  if (layers) options.flags |= KVSWAP_FLAG_LAYERS;

  const kvswap_pool source_pool = source.pool();
  const kvswap_pool destination_pool = destination.pool();
  void* handle = StreamHandle(
      stream, torch, [&] { return FindDevice(source_pool, destination_pool); });

  // Made first: nothing may fail between the copies and what is kept for them.
  py::object events = py::none();
  if (wants_ticket) events = py::cast(std::make_unique<Ticket>());
  TraceRange range("copy_blocks", pair_array.count(), torch);
  kvswap_result result = KVSWAP_RESULT_INIT;
  kvswap_ticket* ticket = nullptr;
  const int status = WithoutGil([&] {
    return kvswap_swap_pools(&source_pool, &destination_pool, pair_array.data(),
                             pair_array.count(), handle, &options,
                             wants_ticket ? &ticket : nullptr, &result);
  });
  ThrowUnlessOk(status, result);
  if (ticket != nullptr) {
    events.cast<Ticket&>().Set(ticket);
    try {
      keep(py::make_tuple(events, kept));
    } catch (...) {
      // Nothing keeps the pools' memory: the copies have to be over.
      WithoutGil([&] {
        return kvswap_ticket_wait(ticket, KVSWAP_ALL_LAYERS, nullptr);
      });
      throw;
    }
  }
  const SwapResult submitted(result);
  range.End(submitted);
  return py::make_tuple(submitted, std::move(events));
}

// ---------------------------------------------------------------------------
// Registrations
// ---------------------------------------------------------------------------

class Registration {
 public:
  Registration(std::uintptr_t address, std::size_t size, std::int32_t device,
               std::size_t block_bytes, std::size_t max_chunk_bytes,
               bool read_only, py::object memory)
      : memory_(std::move(memory)) {
    kvswap_registration_options options = KVSWAP_REGISTRATION_OPTIONS_INIT;
    options.block_bytes = block_bytes;
    options.max_chunk_bytes = max_chunk_bytes;
    if (read_only) options.flags |= KVSWAP_REGISTER_READ_ONLY;
    kvswap_result result = KVSWAP_RESULT_INIT;
    const int status = WithoutGil([&] {
      return kvswap_register_host_memory(reinterpret_cast<void*>(address), size,
                                         device, &options, &registration_,
                                         &result);
    });
    ThrowUnlessOk(status, result);
  }
  ~Registration() {
    // Large memory takes seconds.
    if (registration_ == nullptr || !InterpreterIsThere()) return;
    // What the driver holds on to must not be given back to the system, which
    // would hand out its addresses again.
    if (Unregister(nullptr) != KVSWAP_OK) memory_.release();
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  std::size_t chunk_count() const {
    return kvswap_registration_chunk_count(registration_);
  }

  void Close() {
    kvswap_result result = KVSWAP_RESULT_INIT;
    ThrowUnlessOk(Unregister(&result), result);
  }

 private:
  int Unregister(kvswap_result* result) {
    kvswap_registration* closed = std::exchange(registration_, nullptr);
    return WithoutGil(
        [&] { return kvswap_unregister_host_memory(closed, result); });
  }

  py::object memory_;  // what owns it; let go of after the registration
  kvswap_registration* registration_ = nullptr;
};

// Where a buffer lies, for as long as its owner lends it.
py::tuple LocateBuffer(const py::buffer& buffer) {
  BufferView view;
  if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_SIMPLE) != 0) {
    throw py::error_already_set();
  }
  return py::make_tuple(reinterpret_cast<std::uintptr_t>(view.get()->buf),
                        view.get()->len, view.get()->readonly != 0);
}

}  // namespace

void AddPoolObjects(py::module_& module) {
  py::class_<Regions>(module, "_Regions", "The regions of a pool.")
      .def(py::init<const py::sequence&, std::size_t>())
      .def("invalidate", &Regions::Invalidate)
      .def_property_readonly("invalid", &Regions::invalid)
      .def_property_readonly("uses", &Regions::uses);
  py::class_<Ticket>(module, "_Ticket", "The events of a call.")
      .def("done", &Ticket::IsDone)
      .def("wait", &Ticket::Wait)
      .def("wait_stream", &Ticket::WaitStream);
  py::class_<Registration>(module, "_Registration",
                           "Host memory registered with the driver.")
      .def(py::init<std::uintptr_t, std::size_t, std::int32_t, std::size_t,
                    std::size_t, bool, py::object>())
      .def("close", &Registration::Close)
      .def_property_readonly("chunk_count", &Registration::chunk_count);
  module.def("_swap_pools", &SwapPools);
  module.def("_locate_buffer", &LocateBuffer);
}

}  // namespace kvswap::bindings
