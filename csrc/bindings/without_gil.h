#ifndef KVSWAP_CSRC_BINDINGS_WITHOUT_GIL_H_
#define KVSWAP_CSRC_BINDINGS_WITHOUT_GIL_H_

#include <Python.h>

#include "csrc/bindings/log_queue.h"

namespace kvswap::bindings {

// PyEval_RestoreThread, but a thread that finds the interpreter at its end
// stays here and sleeps, as CPython 3.14 has it.
//
// Older ones end such a thread (a daemon thread: the others have been waited
// for) by pthread_exit, which unwinds its stack: C++ frames above would run
// their destructors, which release Python objects, without the GIL and while
// the interpreter is taken apart; and a frame that must not be unwound ends the
// process with an error.
void RestoreThread(PyThreadState* state);

// Calls a function of the C ABI, which throws nothing, without the GIL. With it
// again, what the library had to say goes to Python's logging.
template <typename Call>
auto WithoutGil(const Call& call) {
  PyThreadState* state = PyEval_SaveThread();
  auto result = call();
  RestoreThread(state);
  HandOverLog();
  return result;
}

}  // namespace kvswap::bindings

#endif  // KVSWAP_CSRC_BINDINGS_WITHOUT_GIL_H_
