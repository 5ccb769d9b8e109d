// What the copies of descriptor arrays have in common.

#ifndef KVSWAP_ENGINE_DESCRIPTOR_SPAN_H_
#define KVSWAP_ENGINE_DESCRIPTOR_SPAN_H_

#include "csrc/engine/copies.h"
#include "csrc/engine/span.h"

namespace kvswap::engine {

// The span of all copies; of none, an empty one. Where an address has its
// highest bit set, `bits` has it too and the lowest and highest are not to be
// used.
CopySpan SpanOf(const Descriptors& descriptors);

// The same in two ways, of which SpanOf takes the faster one that the CPU has.
CopySpan SpanOneByOne(const Descriptors& descriptors);
#if defined(__x86_64__)
bool HasAvx2();
// Needs a CPU with AVX2.
CopySpan SpanByFours(const Descriptors& descriptors);
#endif

}  // namespace kvswap::engine

#endif  // KVSWAP_ENGINE_DESCRIPTOR_SPAN_H_
