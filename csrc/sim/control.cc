// The functions of cuda_sim.h.

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "csrc/sim/call.h"
#include "csrc/sim/cuda_sim.h"
#include "csrc/sim/devices.h"
#include "csrc/sim/driver.h"

namespace kvswap::sim {
namespace {

std::size_t CopyText(const std::string& text, char* buffer, std::size_t size) {
  const std::size_t needed = text.size() + 1;
  if (buffer != nullptr && size >= needed) {
    std::memcpy(buffer, text.c_str(), needed);
  }
  return needed;
}

std::int64_t CountLive(Driver& driver, const std::string& kind) {
  const AddressSpace& addresses = driver.addresses;
  const auto primaries = [&](bool retains) {
    std::size_t count = 0;
    for (const DeviceState& device : driver.devices) {
      if (retains) {
        count += device.primary_retained;
      } else if (device.primary != nullptr && device.primary->alive) {
        ++count;
      }
    }
    return count;
  };
  const auto created_contexts = [&] {
    std::size_t count = 0;
    for (const std::shared_ptr<Context>& context : driver.contexts.All()) {
      if (!context->primary) ++count;
    }
    return count;
  };
  const std::map<std::string, std::size_t> counts = {
      {"contexts", created_contexts()},
      {"primary_contexts", primaries(false)},
      {"primary_retained", primaries(true)},
      {"context_stack", driver.Thread().contexts.size()},
      {"streams", driver.streams.size()},
      {"events", driver.events.size()},
      {"captures", driver.captures.size()},
      {"graphs", driver.graphs.size()},
      {"graph_executables", driver.executables.size()},
      {"modules", driver.modules.size()},
      {"device_allocations", addresses.Count(RangeKind::kDevice)},
      {"pool_allocations", addresses.Count(RangeKind::kPool)},
      {"managed_allocations", addresses.Count(RangeKind::kManaged)},
      {"host_allocations", addresses.Count(RangeKind::kPinned)},
      {"registrations", addresses.Count(RangeKind::kRegistered)},
      {"reservations", addresses.Count(RangeKind::kReservation)},
      {"mappings", addresses.CountMappings()},
      {"physical_allocations", driver.physical_allocations.size()},
      {"pending", driver.scheduler.pending()},
  };
  const auto found = counts.find(kind);
  return found == counts.end() ? -1 : static_cast<std::int64_t>(found->second);
}

// Copies between `buffer` and known memory; false where it is not all known.
bool Transfer(Driver& driver, std::uint64_t address, char* buffer,
              std::size_t size, bool to_buffer) {
  for (std::size_t offset = 0; offset < size;) {
    const Piece piece =
        driver.addresses.PieceAt(address + offset, size - offset);
    if (piece.kind == Piece::Kind::kFreed ||
        driver.addresses.Find(address + offset) == nullptr) {
      return false;
    }
    if (to_buffer) {
      std::memcpy(buffer + offset, piece.data, piece.size);
    } else {
      std::memcpy(piece.data, buffer + offset, piece.size);
    }
    offset += piece.size;
  }
  return true;
}

}  // namespace
}  // namespace kvswap::sim

using kvswap::sim::Driver;

extern "C" {

int cuda_sim_control_version(void) { return CUDA_SIM_CONTROL_VERSION; }

void cuda_sim_reset(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Reset();
}

int cuda_sim_driver_version(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return Driver::Get().version;
}

int cuda_sim_set_driver_version(int version) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  const kvswap::sim::VersionRange range = kvswap::sim::VersionsOfThisLibrary();
  if (version < range.first || version > range.last) return -1;
  Driver::Get().version = version;
  return 0;
}

void cuda_sim_set_batch_capture(int enabled) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().batch_capture = enabled != 0;
}

int cuda_sim_set_device_attribute(int device, int attribute, int value) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver& driver = Driver::Get();
  if (!kvswap::sim::IsDevice(driver, device)) return -1;
  driver.devices[static_cast<std::size_t>(device)].attributes[attribute] =
      value;
  return 0;
}

int cuda_sim_set_compute_capability(int device, int capability) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver& driver = Driver::Get();
  if (!kvswap::sim::IsDevice(driver, device) || capability < 10) return -1;
  kvswap::sim::SetComputeCapability(
      &driver.devices[static_cast<std::size_t>(device)], capability);
  return 0;
}

uint64_t cuda_sim_seed(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return Driver::Get().scheduler.seed();
}

void cuda_sim_set_seed(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().scheduler.SetSeed(seed);
}

void cuda_sim_hold(int hold) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().scheduler.Hold(hold != 0);
}

size_t cuda_sim_pending(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return Driver::Get().scheduler.pending();
}

size_t cuda_sim_run(size_t count) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return Driver::Get().scheduler.Run(count);
}

int cuda_sim_peek(uint64_t address, void* to, size_t size) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return kvswap::sim::Transfer(Driver::Get(), address, static_cast<char*>(to),
                               size, true)
             ? 0
             : -1;
}

int cuda_sim_poke(uint64_t address, const void* from, size_t size) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  char* const buffer = const_cast<char*>(static_cast<const char*>(from));
  return kvswap::sim::Transfer(Driver::Get(), address, buffer, size, false)
             ? 0
             : -1;
}

size_t cuda_sim_trace(uint64_t first, char* buffer, size_t size) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return kvswap::sim::CopyText(Driver::Get().trace.Lines(first), buffer, size);
}

uint64_t cuda_sim_nanoseconds_in_calls(void) {
  return kvswap::sim::CallTimer::Nanoseconds();
}

void cuda_sim_clear_trace(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().trace.Clear();
}

size_t cuda_sim_violations(char* buffer, size_t size) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  std::string text;
  for (const std::string& violation : Driver::Get().violations) {
    text += violation + "\n";
  }
  return kvswap::sim::CopyText(text, buffer, size);
}

void cuda_sim_clear_violations(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().violations.clear();
}

int64_t cuda_sim_live(const char* kind) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  return kind == nullptr ? -1 : kvswap::sim::CountLive(Driver::Get(), kind);
}

int cuda_sim_fail(const char* function, uint64_t call, int code,
                  size_t failed_index, int after) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  if (function == nullptr || !kvswap::sim::IsEntryName(function) || call == 0) {
    return -1;
  }
  kvswap::sim::Fault fault;
  fault.entry = function;
  fault.call = call;
  fault.every_call = call == CUDA_SIM_EVERY_CALL;
  fault.code = static_cast<kvswap::sim::Result>(code);
  fault.after_work = after != 0;
  if (failed_index != CUDA_SIM_NO_INDEX) fault.failed_index = failed_index;
  Driver::Get().faults.Add(std::move(fault));
  return 0;
}

int cuda_sim_limit_batch(size_t count, int code) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().faults.SetBatchLimit(
      {count, static_cast<kvswap::sim::Result>(code)});
  return 0;
}

int cuda_sim_lookup(const char* name, const char* lie) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  kvswap::sim::LookupLie parsed;
  if (name == nullptr || lie == nullptr || !kvswap::sim::IsEntryName(name) ||
      !kvswap::sim::ParseLie(lie, &parsed)) {
    return -1;
  }
  Driver::Get().faults.SetLie(name, parsed);
  return 0;
}

int cuda_sim_leave_out(const char* name) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  if (name == nullptr || !kvswap::sim::IsEntryName(name)) return -1;
  Driver::Get().faults.LeaveOut(name);
  return 0;
}

void cuda_sim_clear_faults(void) {
  const std::lock_guard<std::mutex> lock(Driver::Mutex());
  Driver::Get().faults.Clear();
}

}  // extern "C"
