#include "csrc/bindings/code_beside_call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace kvswap::bindings {
namespace {

// What the main thread is to raise as soon as it runs the caller's code; null:
// nothing. The GIL guards it.
PyObject* postponed = nullptr;

// Takes the reference.
void Raise(PyObject* exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
}

// A pending call of Python's.
int RaisePostponed(void* /*argument*/) {
  PyObject* const exception = std::exchange(postponed, nullptr);
  if (exception == nullptr) return 0;
  Raise(exception);
  return -1;
}

// It alone runs signal handlers, and pending calls.
bool IsMainThread() { return syscall(SYS_gettid) == getpid(); }

}  // namespace

CodeBesideCall::CodeBesideCall() {
  if (!IsMainThread()) return;
  // Of earlier code beside the same call; else it would be raised in this one.
  kept_ = std::exchange(postponed, nullptr);
  if (PyErr_CheckSignals() == 0) return;
  py::error_already_set error;
  Keep(error, "the handler of a signal");
}

CodeBesideCall::~CodeBesideCall() {
  if (kept_ == nullptr) return;
  // A handler may have made a call of its own, with code beside it.
  if (postponed == nullptr &&
      Py_AddPendingCall(&RaisePostponed, nullptr) == 0) {
    postponed = kept_;
    return;
  }
  Raise(kept_);
  PyErr_WriteUnraisable(nullptr);
}

void CodeBesideCall::SetAside(py::error_already_set& error, const char* where) {
  if (!error.matches(PyExc_Exception) && IsMainThread()) {
    Keep(error, where);
  } else {
    error.discard_as_unraisable(where);
  }
}

void CodeBesideCall::Keep(py::error_already_set& error, const char* where) {
  if (kept_ != nullptr) {
    error.discard_as_unraisable(where);
  } else {
    kept_ = py::object(error.value()).release().ptr();
  }
}

}  // namespace kvswap::bindings
