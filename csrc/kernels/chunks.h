// The order in which a CTA of the bulk kernel goes through its copies.

#ifndef KVSWAP_KERNELS_CHUNKS_H_
#define KVSWAP_KERNELS_CHUNKS_H_

#include "csrc/kernels/plain_copy.h"

namespace kvswap::kernels {

// A part of a copy that fits into a stage.
struct Chunk {
  Address source;
  Address destination;
  Number size;  // 0: there are no more
};

// Goes through copies cta, cta + ctas, cta + 2 * ctas, …, each in chunks of a
// stage.
template <typename Parameters>
class Chunks {
 public:
  KVSWAP_KERNEL_FUNCTION Chunks(const Parameters& parameters, Number cta,
                                Number ctas)
      : parameters_(parameters), item_(cta), step_(ctas) {}

  KVSWAP_KERNEL_FUNCTION Chunk Next() {
    const CopyHeader& header = parameters_.header;
    if (item_ >= header.count) return {0, 0, 0};
    const SizedCopy copy = Unpack(header, parameters_.items[item_]);
    const Size left = copy.size - offset_;
    const Number size = left < header.stage_bytes ? static_cast<Number>(left)
                                                  : header.stage_bytes;
    const Chunk chunk = {copy.source + offset_, copy.destination + offset_,
                         size};
    offset_ += size;
    if (size == left) {
      item_ += step_;
      offset_ = 0;
    }
    return chunk;
  }

 private:
  const Parameters& parameters_;
  Number item_;
  const Number step_;
  Size offset_ = 0;
};

}  // namespace kvswap::kernels

#endif  // KVSWAP_KERNELS_CHUNKS_H_
