// The caller's arrays: 64-bit integers in host memory, borrowed from a torch
// tensor, a NumPy array or any other buffer, without a copy.

#ifndef KVSWAP_BINDINGS_INTEGER_ARRAY_H_
#define KVSWAP_BINDINGS_INTEGER_ARRAY_H_

#include <cstddef>
#include <string>

#include "csrc/bindings/python_objects.h"
#include "csrc/bindings/torch_objects.h"

namespace kvswap::bindings {

// A Py_buffer that is released with it.
class BufferView {
 public:
  BufferView() = default;
  ~BufferView() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;

  Py_buffer* get() { return &view_; }

 private:
  Py_buffer view_ = {};
};

// A contiguous array of int64 or uint64, of one dimension or of rows of two.
// The memory is the Python object's: it is borrowed, and the object kept, while
// this lives.
class IntegerArray {
 public:
  // `argument` names the array in messages and outlives this object; `torch` is
  // FindTorch(). `columns` is 1 for one dimension, 2 for shape (N, 2). Throws
  // TypeError for what is no such array, ValueError for one of another shape.
  IntegerArray(py::handle object, const char* argument,
               const TorchObjects* torch, py::ssize_t columns = 1);

  // Items, over all rows.
  size_t size() const { return size_; }
  const void* data() const { return data_; }

  // Throws ValueError naming the first element below zero, which the C ABI's
  // unsigned types could not tell from a large number.
  void RefuseNegative() const;

 private:
  void BorrowTensor(py::handle tensor, const TorchObjects& torch);
  void BorrowBuffer(py::handle object);
  void RefuseDimensions(py::ssize_t dimensions) const;
  void RefuseColumns(py::ssize_t columns) const;
  [[noreturn]] void ThrowNotAnArray(py::handle object) const;
  [[noreturn]] void ThrowNotContiguous() const;

  std::string Name() const { return argument_; }

  const char* argument_;
  const py::ssize_t columns_;
  const void* data_ = nullptr;
  size_t size_ = 0;
  bool is_signed_ = false;
  py::object tensor_;  // one of these two keeps the memory
  BufferView buffer_;
};

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_INTEGER_ARRAY_H_
