// Devices, as the simulation presents them.

#ifndef KVSWAP_SIM_DEVICES_H_
#define KVSWAP_SIM_DEVICES_H_

#include <map>

#include "csrc/sim/driver.h"

namespace kvswap::sim {

// By CUdevice_attribute.
std::map<int, int> PresetDeviceAttributes();

bool IsDevice(const Driver& driver, Device device);

// Makes a device one of that capability, 90 for 9.0: its attributes for it, and
// for shared memory.
void SetComputeCapability(DeviceState* device, int capability);
int ComputeCapability(const Driver& driver, Device device);

int DeviceAttribute(const Driver& driver, Device device, int attribute);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_DEVICES_H_
