#include "csrc/bindings/integer_array.h"

#include <cstdint>

#include "csrc/bindings/bitwise_or.h"

namespace kvswap::bindings {
namespace {

constexpr size_t kItemSize = sizeof(int64_t);

// How an item of a buffer is to be read.
enum class ItemFormat { kSigned, kUnsigned, kOther };

// `format` is in the struct module's notation; null means bytes. The byte order
// of this machine may be spelled out, as ctypes does.
ItemFormat ClassifyFormat(const char* format, py::ssize_t item_size) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                "'<' is taken for this machine's byte order");
  if (format == nullptr || item_size != static_cast<py::ssize_t>(kItemSize)) {
    return ItemFormat::kOther;
  }
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return ItemFormat::kOther;
  switch (format[0]) {
    case 'q':
    case 'l':
    case 'n':
      return ItemFormat::kSigned;
    case 'Q':
    case 'L':
    case 'N':
    case 'P':
      return ItemFormat::kUnsigned;
    default:
      return ItemFormat::kOther;
  }
}

}  // namespace

IntegerArray::IntegerArray(py::handle object, const char* argument,
                           const TorchObjects* torch, py::ssize_t columns)
    : argument_(argument), columns_(columns) {
  if (torch != nullptr &&
      PyObject_TypeCheck(object.ptr(), torch->tensor_type) != 0) {
    BorrowTensor(object, *torch);
  } else if (PyObject_CheckBuffer(object.ptr()) != 0) {
    BorrowBuffer(object);
  } else {
    ThrowNotAnArray(object);
  }
  // An empty array may lie anywhere.
  if (size_ != 0 && reinterpret_cast<uintptr_t>(data_) % kItemSize != 0) {
    throw py::value_error(Name() +
                          " is not aligned: its items start at an address "
                          "that is no multiple of 8; pass a copy");
  }
}

void IntegerArray::RefuseNegative() const {
  if (!is_signed_) return;
  const auto* values = static_cast<const int64_t*>(data_);
  if (BitwiseOr(values, size_) >= 0) return;
  size_t i = 0;
  while (i < size_ && values[i] >= 0) ++i;
  if (i == size_) return;  // Another thread has changed it meanwhile.
  throw py::value_error(Name() + "[" + std::to_string(i) +
                        "] is negative: " + std::to_string(values[i]));
}

void IntegerArray::BorrowTensor(py::handle tensor, const TorchObjects& torch) {
  const Names& names = GetNames();
  tensor_ = py::reinterpret_borrow<py::object>(tensor);

  py::object dtype = GetAttribute(tensor, names.dtype);
  is_signed_ = dtype.ptr() == torch.int64;
  if (!is_signed_ && dtype.ptr() != torch.uint64) {
    throw py::type_error(Name() + " has dtype " + ToString(dtype) +
                         "; it must be torch.int64 or torch.uint64");
  }
  if (GetAttribute(tensor, names.is_cpu).ptr() != Py_True) {
    throw py::type_error(Name() + " is a tensor on device " +
                         ToString(tensor.attr("device")) +
                         "; the arrays of pointers and sizes are read by the "
                         "CPU and must be CPU tensors (the pointers in them "
                         "may be of any device)");
  }
  // A subclass of torch's can answer what it likes.
  const auto check = [] {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  };
  const py::ssize_t dimensions =
      PyLong_AsSsize_t(CallMethod(tensor, names.dimensions).ptr());
  check();
  RefuseDimensions(dimensions);
  if (columns_ != 1) {
    RefuseColumns(
        GetAttribute(tensor, names.shape)[py::int_(1)].cast<py::ssize_t>());
  }
  size_ = PyLong_AsSize_t(CallMethod(tensor, names.element_count).ptr());
  check();
  py::object address;
  try {
    if (CallMethod(tensor, names.is_contiguous).ptr() != Py_True) {
      ThrowNotContiguous();
    }
    address = CallMethod(tensor, names.data_ptr);
  } catch (py::error_already_set& cause) {
    ThrowFrom(cause, PyExc_TypeError,
              Name() + " is a tensor without memory that can be read (" +
                  DescribeType(tensor) + ")");
  }
  data_ = PyLong_AsVoidPtr(address.ptr());
  check();
  if (data_ == nullptr && size_ != 0) {
    throw py::type_error(Name() +
                         " is a tensor without memory that can be read (" +
                         DescribeType(tensor) + ")");
  }
}

void IntegerArray::BorrowBuffer(py::handle object) {
  if (PyObject_GetBuffer(object.ptr(), buffer_.get(), PyBUF_RECORDS_RO) != 0) {
    py::error_already_set cause;
    ThrowFrom(cause, PyExc_TypeError,
              Name() +
                  " does not lend its memory as a buffer of 64-bit integers (" +
                  DescribeType(object) + ")");
  }
  const Py_buffer& view = *buffer_.get();
  const ItemFormat format = ClassifyFormat(view.format, view.itemsize);
  if (format == ItemFormat::kOther) {
    py::object dtype = FindAttribute(object, GetNames().dtype);
    const std::string items =
        dtype
            ? " has dtype " + ToString(dtype)
            : " has items of format '" +
                  std::string(view.format == nullptr ? "B" : view.format) + "'";
    throw py::type_error(Name() + items +
                         "; it must hold 64-bit integers (int64 or uint64; "
                         "buffer formats q, Q, l, L, n, N, P) in this "
                         "machine's byte order");
  }
  RefuseDimensions(view.ndim);
  if (columns_ != 1) RefuseColumns(view.shape[1]);
  is_signed_ = format == ItemFormat::kSigned;
  data_ = view.buf;
  size_ = static_cast<size_t>(view.len) / kItemSize;
  // No strides mean contiguous, and ctypes gives none even when asked for them.
  if (size_ <= 1 || view.strides == nullptr) return;
  py::ssize_t expected = static_cast<py::ssize_t>(kItemSize);
  for (int dimension = view.ndim - 1; dimension >= 0; --dimension) {
    if (view.shape[dimension] > 1 && view.strides[dimension] != expected) {
      ThrowNotContiguous();
    }
    expected *= view.shape[dimension];
  }
}

void IntegerArray::RefuseDimensions(py::ssize_t dimensions) const {
  const py::ssize_t expected = columns_ == 1 ? 1 : 2;
  if (dimensions == expected) return;
  throw py::value_error(Name() + " has " + std::to_string(dimensions) +
                        " dimensions; it must have " +
                        std::to_string(expected));
}

void IntegerArray::RefuseColumns(py::ssize_t columns) const {
  if (columns == columns_) return;
  throw py::value_error(Name() + " has rows of " + std::to_string(columns) +
                        "; it must have the shape (N, " +
                        std::to_string(columns_) + ")");
}

void IntegerArray::ThrowNotAnArray(py::handle object) const {
  const bool is_table = columns_ != 1;
  std::string message =
      Name() + " must be " + (is_table ? "a list of pairs, " : "") +
      "a torch CPU tensor, a NumPy array or another buffer, of int64 or "
      "uint64, not " +
      DescribeType(object);
  if (!is_table &&
      (PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0)) {
    message += "; array.array(\"q\", " + Name() + ") makes a buffer of it";
  }
  throw py::type_error(message);
}

void IntegerArray::ThrowNotContiguous() const {
  throw py::value_error(Name() +
                        " is not contiguous; pass a contiguous copy "
                        "(tensor.contiguous(), numpy.ascontiguousarray)");
}

}  // namespace kvswap::bindings
