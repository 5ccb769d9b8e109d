"""Checks of the sources as tests."""

load("@rules_python//python:py_test.bzl", "py_test")

def lint_test(name, check, size = "small", args = [], data = []):
    """Runs one check of tools/lint.py on the source tree.

    Args:
      name: name of the test.
      check: name of the check.
      size: size of the test.
      args: further arguments.
      data: what they refer to.
    """
    py_test(
        name = name,
        size = size,
        srcs = ["//tools:lint_sources"],
        args = args + [check],
        data = data,
        imports = ["../../tools"],
        # Bazel would put an empty __init__.py into the folder otherwise.
        legacy_create_init = 0,
        main = "//tools:lint.py",
        tags = [
            # What it reads is the source tree itself, with files that no target names, so
            # Bazel cannot tell whether an old result still holds, ...
            "external",
            "no-cache",
            # ... and the tree is on this machine, outside any sandbox.
            "local",
            "no-remote",
        ],
    )
