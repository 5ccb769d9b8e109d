#include "csrc/bindings/pair_array.h"

#include <iterator>
#include <string>

namespace kvswap::bindings {
namespace {

constexpr char kPairs[] = "pairs";

bool IsSequence(py::handle object) {
  return PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0;
}

[[noreturn]] void ThrowNotAPair(std::size_t index, py::handle value) {
  throw py::type_error(std::string(kPairs) + "[" + std::to_string(index) +
                       "] must be a pair of ints (source block, destination "
                       "block), not " +
                       Represent(value));
}

std::int64_t IdOf(py::handle value, std::size_t index, py::handle pair) {
  // NumPy's integers are no ints, and can stand for one.
  if (PyBool_Check(value.ptr()) != 0 || PyIndex_Check(value.ptr()) == 0) {
    ThrowNotAPair(index, pair);
  }
  auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  const long long id = PyLong_AsLongLong(number.ptr());
  if (id == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::value_error(std::string(kPairs) + "[" + std::to_string(index) +
                          "] = " + Represent(pair) + ": an id is below 2**63");
  }
  return id;
}

}  // namespace

PairArray::PairArray(py::handle object, const TorchObjects* torch) {
  if (IsSequence(object)) {
    CopySequence(object);
    return;
  }
  array_.emplace(object, kPairs, torch, /*columns=*/2);
  // Ids of unsigned arrays that do not fit are out of range as negative ones.
  data_ = static_cast<const std::int64_t*>(array_->data());
  count_ = array_->size() / 2;
}

void PairArray::CopySequence(py::handle sequence) {
  const auto size =
      static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
  copied_.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto index = static_cast<Py_ssize_t>(i);
    // An id's own code can change the list meanwhile.
    if (PySequence_Fast_GET_SIZE(sequence.ptr()) <= index) break;
    auto pair = py::reinterpret_borrow<py::object>(
        PySequence_Fast_GET_ITEM(sequence.ptr(), index));
    if (!IsSequence(pair) || PySequence_Fast_GET_SIZE(pair.ptr()) != 2) {
      ThrowNotAPair(i, pair);
    }
    // Both, before either one's own code can change the pair.
    const auto source = py::reinterpret_borrow<py::object>(
        PySequence_Fast_GET_ITEM(pair.ptr(), 0));
    const auto destination = py::reinterpret_borrow<py::object>(
        PySequence_Fast_GET_ITEM(pair.ptr(), 1));
    const std::int64_t ids[] = {IdOf(source, i, pair),
                                IdOf(destination, i, pair)};
    copied_.insert(copied_.end(), std::begin(ids), std::end(ids));
  }
  data_ = copied_.data();
  count_ = copied_.size() / 2;
}

}  // namespace kvswap::bindings
