// PTX: text that the driver compiles for the device.

#ifndef KVSWAP_SIM_PTX_H_
#define KVSWAP_SIM_PTX_H_

#include <string>

#include "csrc/sim/images.h"

namespace kvswap::sim {

// `text` ends with a null character.
Result ParsePtx(const char* text, Image* image, std::string* why);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_PTX_H_
