// The words that kernels load and store, on a GPU and on the host.

#ifndef KVSWAP_KERNELS_WORDS_H_
#define KVSWAP_KERNELS_WORDS_H_

#ifdef __CUDACC_RTC__
#define KVSWAP_KERNEL_FUNCTION __device__ __forceinline__
#define KVSWAP_UNROLL _Pragma("unroll")
#else
#define KVSWAP_KERNEL_FUNCTION inline
#define KVSWAP_UNROLL
#endif

namespace kvswap::kernels {

using Byte = unsigned char;
using Word2 = unsigned short;
using Word4 = unsigned int;
using Word8 = unsigned long long;
#ifdef __CUDACC_RTC__
using Word16 = uint4;
#else
struct alignas(16) Word16 {
  unsigned long long halves[2];
};
#endif

static_assert(sizeof(Word16) == 16 && alignof(Word16) == 16);

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_WORDS_H_
