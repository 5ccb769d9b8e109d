"""The command that gathers a release."""

load("@rules_python//python:py_binary.bzl", "py_binary")

_MAIN = Label("//tools/release:command.py")
_LIBRARY = Label("//tools/release:library")

def release_command(name, wheels = [], **kwargs):
    """A program that gathers wheels, their checksums and a bill of materials.

    `bazel run :name -- --output FOLDER`; wheels can also be given as arguments.

    Args:
      name: name of the target.
      wheels: targets whose files are the wheels of the release.
      **kwargs: other attributes of py_binary.
    """
    py_binary(
        name = name,
        srcs = [_MAIN],
        args = ["$(rootpaths {})".format(wheel) for wheel in wheels],
        data = wheels,
        legacy_create_init = 0,
        main = _MAIN,
        deps = [_LIBRARY],
        **kwargs
    )
