"""A Python of one's own: here a virtual environment of the machine's."""

_FIND_HEADERS = "import sysconfig; print(sysconfig.get_path('include'))"

_BUILD = """\
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_python//python:py_runtime.bzl", "py_runtime")
load("@rules_python//python:py_runtime_pair.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    stub_shebang = "#!{interpreter}",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
)
"""

def _execute(repository_ctx, *arguments):
    result = repository_ctx.execute(arguments)
    if result.return_code != 0:
        fail(result.stderr)
    return result.stdout.strip()

def _own_python_impl(repository_ctx):
    python = repository_ctx.which("python3")
    _execute(repository_ctx, python, "-m", "venv", "--without-pip", "environment")
    interpreter = repository_ctx.path("environment/bin/python3")
    repository_ctx.symlink(_execute(repository_ctx, interpreter, "-c", _FIND_HEADERS), "include")
    repository_ctx.file("BUILD.bazel", _BUILD.format(interpreter = interpreter))

own_python = repository_rule(
    doc = "`//:runtime_pair`, and the headers that belong to it: `//:headers`.",
    implementation = _own_python_impl,
)
