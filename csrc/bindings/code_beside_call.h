// Python code that runs beside a call, which goes on whatever becomes of it:
// handlers of logging, ranges of traces.

#ifndef KVSWAP_BINDINGS_CODE_BESIDE_CALL_H_
#define KVSWAP_BINDINGS_CODE_BESIDE_CALL_H_

#include <pybind11/pybind11.h>

namespace kvswap::bindings {

namespace py = pybind11;

// Around such code, with the GIL. Its errors are reported as Python reports
// those that nobody can catch.
//
// A signal's handler can run in the midst of it, and what it raises (Ctrl-C,
// the SystemExit of SIGTERM, the TimeoutError of an alarm) is the caller's: it
// is raised again once the call is over. Handlers of signals that came before
// run first, so that an Exception of theirs is not taken for one of the code's.
class CodeBesideCall {
 public:
  CodeBesideCall();
  ~CodeBesideCall();
  CodeBesideCall(const CodeBesideCall&) = delete;
  CodeBesideCall& operator=(const CodeBesideCall&) = delete;

  // Deals with an error that the code raised; `where` says which code.
  void SetAside(py::error_already_set& error, const char* where);

 private:
  void Keep(py::error_already_set& error, const char* where);

  const py::error_scope error_of_caller_;
  PyObject* kept_ = nullptr;  // what a handler raised
};

}  // namespace kvswap::bindings

#endif  // KVSWAP_BINDINGS_CODE_BESIDE_CALL_H_
