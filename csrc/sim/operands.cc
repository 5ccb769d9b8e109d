#include "csrc/sim/operands.h"

#include "csrc/sim/report.h"

namespace kvswap::sim {
namespace {

std::string DescribeRange(DevicePointer address, std::size_t size) {
  return "[" + Hexadecimal(address) + ", " + Hexadecimal(address + size) + ")";
}

Operand Refuse(std::string reason) {
  Operand operand;
  operand.verdict = Operand::Verdict::kRefused;
  operand.reason = std::move(reason);
  return operand;
}

bool Allows(const Mapping& mapping, Device device, Access access) {
  const MemAccessFlags flags = mapping.AccessOf(device);
  return access == Access::kRead ? flags != kMemAccessNone
                                 : flags == kMemAccessReadWrite;
}

// Adjacent mappings of a reservation count as one range.
Operand CheckMappings(const Range& reservation, Device device,
                      DevicePointer address, std::size_t size, Access access) {
  DevicePointer position = address;
  while (position < address + size) {
    const Mapping* mapping = reservation.FindMapping(position);
    if (mapping == nullptr) {
      return Refuse(DescribeRange(address, size) + " is not mapped from " +
                    Hexadecimal(position) + " on");
    }
    if (!Allows(*mapping, device, access)) {
      return Refuse("device " + std::to_string(device) + " has no access to " +
                    Hexadecimal(position));
    }
    position = mapping->base + mapping->size;
  }
  return Operand();
}

}  // namespace

Operand CheckOperand(Driver& driver, const Context& context,
                     HostMemoryMap* host_memory, DevicePointer address,
                     std::size_t size, Access access) {
  if (address == 0) return Refuse("null pointer");
  if (address + size < address) {
    return Refuse(DescribeRange(address, size) + " wraps around");
  }
  const Range* range = driver.addresses.Find(address);
  const bool mapped =
      range != nullptr && (range->kind != RangeKind::kReservation ||
                           range->FindMapping(address) != nullptr);
  if (!mapped) {
    if (host_memory->Accessible(address, size, access)) {
      Operand operand;
      operand.pageable = true;
      operand.host = true;
      return operand;
    }
    Operand operand;
    operand.verdict = Operand::Verdict::kWild;
    operand.reason =
        DescribeRange(address, size) + " is neither the driver's memory nor " +
        (access == Access::kRead ? "readable" : "writable") + " host memory";
    return operand;
  }
  if (range->kind == RangeKind::kReservation) {
    if (address + size > range->end()) {
      return Refuse(DescribeRange(address, size) + " runs past " +
                    Hexadecimal(range->end()) + ", the end of its reservation");
    }
    return CheckMappings(*range, context.device, address, size, access);
  }
  const bool by_host = address >= range->base && address < range->end();
  const std::uint64_t end =
      (by_host ? range->base : range->device_base) + range->size;
  if (address + size > end) {
    return Refuse(DescribeRange(address, size) + " runs past " +
                  Hexadecimal(end) + ", the end of its " +
                  (range->kind == RangeKind::kRegistered ? "registration"
                                                         : "allocation"));
  }
  if (access == Access::kWrite && range->kind == RangeKind::kRegistered &&
      (range->flags & kHostRegisterReadOnly) != 0) {
    return Refuse(DescribeRange(address, size) +
                  " is registered for reading only");
  }
  Operand operand;
  operand.host = range->IsHost();
  return operand;
}

}  // namespace kvswap::sim
