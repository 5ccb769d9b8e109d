"""pytest under Bazel."""

load("@rules_python//python:py_test.bzl", "py_test")

_MAIN = Label("//tests:pytest_main.py")

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
        data = data + tests,
        env = env | {
            # Not `args`: whoever runs the test as part of another one, as the ABI matrix
            # does, has arguments of its own.
            "KVSWAP_PYTEST_FILES": " ".join([
                "$(rootpath {})".format(native.package_relative_label(test))
                for test in tests
            ]),
        },
        # Bazel would put an empty __init__.py into every folder otherwise.
        legacy_create_init = 0,
        main = _MAIN,
        **kwargs
    )
