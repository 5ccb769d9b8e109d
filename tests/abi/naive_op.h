// The op that everybody writes first.

#ifndef KVSWAP_TESTS_ABI_NAIVE_OP_H_
#define KVSWAP_TESTS_ABI_NAIVE_OP_H_

#include <cstddef>

// Returns a CUresult.
int NaiveSwapBlocksBatch(void** srcs, void** dsts, std::size_t* sizes,
                         std::size_t count, void* stream);

#endif  // KVSWAP_TESTS_ABI_NAIVE_OP_H_
