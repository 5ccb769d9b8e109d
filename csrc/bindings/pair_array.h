// The `pairs` argument of pool calls: int64 of shape (N, 2) in host memory.

#ifndef KVSWAP_BINDINGS_PAIR_ARRAY_H_
#define KVSWAP_BINDINGS_PAIR_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "csrc/bindings/integer_array.h"
#include "csrc/bindings/python_objects.h"
#include "csrc/bindings/torch_objects.h"

namespace kvswap::bindings {

// Borrows the memory of a torch CPU tensor, a NumPy array or another buffer;
// copies lists and tuples of pairs. Throws TypeError or ValueError.
class PairArray {
 public:
  PairArray(py::handle object, const TorchObjects* torch);

  const std::int64_t* data() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  void CopySequence(py::handle sequence);

  std::optional<IntegerArray> array_;
  std::vector<std::int64_t> copied_;
  const std::int64_t* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_PAIR_ARRAY_H_
