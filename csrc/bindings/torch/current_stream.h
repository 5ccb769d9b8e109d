// torch's current stream, found when the program runs: a torch without CUDA has
// none.

#ifndef KVSWAP_BINDINGS_TORCH_CURRENT_STREAM_H_
#define KVSWAP_BINDINGS_TORCH_CURRENT_STREAM_H_

#include <cstdint>

namespace kvswap::torch_ops {

struct Stream {
  void* handle;
  // False where torch has no streams, as it is built without CUDA or sees no
  // such GPU: then the handle is null, the legacy default stream.
  bool is_of_torch;
};

// torch's current stream of a GPU; of torch's current GPU if `device` is
// negative.
Stream CurrentStream(int32_t device);

// Waits for a stream of torch's; does nothing for another. Throws OpError.
void Synchronize(const Stream& stream, int32_t device);

}  // namespace kvswap::torch_ops

#endif  // KVSWAP_BINDINGS_TORCH_CURRENT_STREAM_H_
