// The naive op as a Python module, so that its import can be tried.

#include <Python.h>

#include "tests/abi/naive_op.h"

namespace {

PyObject* SwapNothing(PyObject*, PyObject*) {
  return PyLong_FromLong(
      NaiveSwapBlocksBatch(nullptr, nullptr, nullptr, 0, nullptr));
}

PyMethodDef methods[] = {
    {"swap_nothing", SwapNothing, METH_NOARGS, "Calls the op without a block."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "naive_op",
    nullptr,
    0,
    methods,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_naive_op() { return PyModule_Create(&module); }
