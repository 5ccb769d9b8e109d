// torch's stable API, as far as this library uses it: C functions of
// libtorch_cpu.so that torch 2.10 has, and that every later torch keeps.

#ifndef KVSWAP_BINDINGS_TORCH_TORCH_API_H_
#define KVSWAP_BINDINGS_TORCH_TORCH_API_H_

// The oldest torch that a library compiled here runs with: 2.10.
#define TORCH_TARGET_VERSION (((0ULL + 2) << 56) | ((0ULL + 10) << 48))

// For the types of functions that only a torch with CUDA has. They are looked
// up when the program runs, and never linked.
#ifndef USE_CUDA
#define USE_CUDA
#endif

#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/stableivalue_conversions.h>
#include <torch/headeronly/version.h>

// Headers that are older than the target say nothing of their own.
static_assert(TORCH_ABI_VERSION >= TORCH_TARGET_VERSION,
              "the headers of torch 2.10 or newer are needed");

#endif  // KVSWAP_BINDINGS_TORCH_TORCH_API_H_
