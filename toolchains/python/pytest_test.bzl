"""pytest under Bazel."""

load("@rules_python//python:py_test.bzl", "py_test")

_MAIN = Label("//tests:pytest_main.py")

# What each sanitizer needs of a process whose interpreter was not compiled with it.
_SANITIZERS = {
    "asan": {
        # Leaks would be those of the interpreter, and what Python objects hold until the
        # process ends. Tests expect the signal of a process that dies.
        "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0",
    },
    "tsan": {
        # What is not compiled with it takes no part: races between our own code and
        # the memory functions that other libraries call would be reported.
        "TSAN_OPTIONS": "handle_segv=0:ignore_noninstrumented_modules=1",
    },
}

def _runtime(sanitizer):
    return Label("//toolchains/cc/sanitizers:" + sanitizer)

def _select_by_sanitizer(choices, otherwise):
    return select({
        Label("//toolchains/cc/sanitizers:is_" + sanitizer): choice
        for sanitizer, choice in choices.items()
    } | {"//conditions:default": otherwise})

def _is_test_file(label):
    name = label.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))

def pytest_test(name, srcs, env = {}, data = [], **kwargs):
    """A py_test that runs pytest on its sources.

    Arguments go to pytest; --test_filter selects like pytest's -k. A run in which no
    test is collected fails. The Python of the registered toolchain needs pytest.

    Args:
      name: name of the test.
      srcs: files of tests, named *_test.py or test_*.py, and what else stands with them:
        conftest.py, helpers.
      env: environment of the test.
      data: files that it needs when it runs.
      **kwargs: other attributes of py_test.
    """
    tests = [source for source in srcs if _is_test_file(source)]
    if not tests:
        fail("pytest_test {}: none of srcs is named *_test.py or test_*.py".format(name))
    py_test(
        name = name,
        srcs = srcs + [_MAIN],
        data = data + tests + _select_by_sanitizer(
            {sanitizer: [_runtime(sanitizer)] for sanitizer in _SANITIZERS},
            otherwise = [],
        ),
        env = env | {
            # Not `args`: whoever runs the test as part of another one, as the ABI matrix
            # does, has arguments of its own.
            "KVSWAP_PYTEST_FILES": " ".join([
                "$(rootpath {})".format(native.package_relative_label(test))
                for test in tests
            ]),
        } | _select_by_sanitizer(
            {
                sanitizer: {"SANITIZER_RUNTIME": "$(rootpaths {})".format(_runtime(sanitizer))} | options
                for sanitizer, options in _SANITIZERS.items()
            },
            otherwise = {},
        ),
        # Bazel would put an empty __init__.py into every folder otherwise.
        legacy_create_init = 0,
        main = _MAIN,
        **kwargs
    )
