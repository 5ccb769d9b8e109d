// The plain copy kernel: a warp for each copy, of any size and alignment.
//
// Written over a `Memory` that loads and stores, so that the same source runs
// on a GPU and, thread after thread, in the simulated driver: threads of it
// neither talk to one another nor wait.

#ifndef KVSWAP_KERNELS_PLAIN_COPY_H_
#define KVSWAP_KERNELS_PLAIN_COPY_H_

#include "csrc/kernels/kernel_parameters.h"
#include "csrc/kernels/words.h"

namespace kvswap::kernels {

inline constexpr Number kWarp = 32;
// Loads that a thread has in flight: enough to cover the latency of host memory
// by few warps.
inline constexpr Number kLoadsInFlight = 8;

// Where a thread stands in its launch.
struct Thread {
  Number index;  // in its CTA
  Number count;  // of threads in a CTA
  Number cta;
  Number ctas;
};

KVSWAP_KERNEL_FUNCTION SizedCopy Unpack(const CopyHeader& header,
                                        const CompactCopy& item) {
  return {header.source_base + (Address{item.source} << header.unit_shift),
          header.destination_base +
              (Address{item.destination} << header.unit_shift),
          header.size};
}
KVSWAP_KERNEL_FUNCTION SizedCopy Unpack(const CopyHeader& /*header*/,
                                        const SizedCopy& item) {
  return item;
}

// Copies `count` words from `source` to `destination`, both aligned to Word.
template <typename Word, typename Memory>
KVSWAP_KERNEL_FUNCTION void CopyWords(const Memory& memory, Address source,
                                      Address destination, Size count,
                                      Number lane) {
  constexpr Number kStep = kWarp * kLoadsInFlight;
  Word words[kLoadsInFlight];
  Size first = lane;
  for (Size end = kStep; end <= count; end += kStep, first += kStep) {
    KVSWAP_UNROLL
    for (Number k = 0; k < kLoadsInFlight; ++k) {
      words[k] = memory.template Load<Word>(source +
                                            (first + k * kWarp) * sizeof(Word));
    }
    KVSWAP_UNROLL
    for (Number k = 0; k < kLoadsInFlight; ++k) {
      memory.Store(destination + (first + k * kWarp) * sizeof(Word), words[k]);
    }
  }
  // The same for what remains, with the same number of loads in flight. In the
  // array of the loop, words that are not loaded would count as kept from copy
  // to copy, and be spilled.
  Word last[kLoadsInFlight] = {};
  KVSWAP_UNROLL
  for (Number k = 0; k < kLoadsInFlight; ++k) {
    if (first + k * kWarp < count) {
      last[k] = memory.template Load<Word>(source +
                                           (first + k * kWarp) * sizeof(Word));
    }
  }
  KVSWAP_UNROLL
  for (Number k = 0; k < kLoadsInFlight; ++k) {
    if (first + k * kWarp < count) {
      memory.Store(destination + (first + k * kWarp) * sizeof(Word), last[k]);
    }
  }
}

// Copies by words that source and destination are both aligned to from some
// byte on; the bytes ahead of the first word and behind the last one singly.
template <typename Word, typename Memory>
KVSWAP_KERNEL_FUNCTION void CopyByWords(const Memory& memory, Address source,
                                        Address destination, Size size,
                                        Number lane) {
  constexpr Size kMask = sizeof(Word) - 1;
  Size head = (0 - destination) & kMask;
  if (head > size) head = size;
  const Size words = (size - head) / sizeof(Word);
  const Size tail = (size - head) & kMask;
  const Size tail_start = size - tail;
  // Both are less than a warp.
  if (lane < head) {
    memory.Store(destination + lane, memory.template Load<Byte>(source + lane));
  }
  if (lane < tail) {
    memory.Store(destination + tail_start + lane,
                 memory.template Load<Byte>(source + tail_start + lane));
  }
  CopyWords<Word>(memory, source + head, destination + head, words, lane);
}

template <typename Memory>
KVSWAP_KERNEL_FUNCTION void CopyBlock(const Memory& memory, Address source,
                                      Address destination, Size size,
                                      Number lane) {
  const Address shift = source ^ destination;
  if ((shift & 15) == 0) {
    CopyByWords<Word16>(memory, source, destination, size, lane);
  } else if ((shift & 7) == 0) {
    CopyByWords<Word8>(memory, source, destination, size, lane);
  } else if ((shift & 3) == 0) {
    CopyByWords<Word4>(memory, source, destination, size, lane);
  } else if ((shift & 1) == 0) {
    CopyByWords<Word2>(memory, source, destination, size, lane);
  } else {
    CopyWords<Byte>(memory, source, destination, size, lane);
  }
}

// What one thread of the kernel does.
template <typename Parameters, typename Memory>
KVSWAP_KERNEL_FUNCTION void PlainCopy(const Parameters& parameters,
                                      const Thread& thread,
                                      const Memory& memory) {
  const Number warps_in_cta = thread.count / kWarp;
  const Number warps = thread.ctas * warps_in_cta;
  const Number lane = thread.index % kWarp;
  for (Number i = thread.cta * warps_in_cta + thread.index / kWarp;
       i < parameters.header.count; i += warps) {
    const SizedCopy copy = Unpack(parameters.header, parameters.items[i]);
    CopyBlock(memory, copy.source, copy.destination, copy.size, lane);
  }
}

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_PLAIN_COPY_H_
