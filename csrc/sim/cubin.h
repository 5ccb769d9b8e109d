// Cubins: ELF files with code for one GPU family.

#ifndef KVSWAP_SIM_CUBIN_H_
#define KVSWAP_SIM_CUBIN_H_

#include <string>

#include "csrc/sim/images.h"

namespace kvswap::sim {

bool IsElf(const void* data);

Result ParseCubin(const void* data, Image* image, std::string* why);

}  // namespace kvswap::sim

#endif  // KVSWAP_SIM_CUBIN_H_
