"""The C headers of the machine's Python, as a repository."""

load(":interpreter.bzl", "PYTHON_VARIABLE", "find_python", "last_line")

_FIND_HEADERS = """
import os, sys, sysconfig
folders = []
for name in ("include", "platinclude"):
    folder = sysconfig.get_path(name)
    if folder not in folders:
        folders.append(folder)
if not os.path.isfile(os.path.join(folders[0], "Python.h")):
    sys.exit("no Python.h in " + folders[0])
print("\\n".join(folders))
"""

_BUILD = """\
load("{cc_library_bzl}", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["include*/**/*.h"]),
    includes = {includes},
    visibility = ["//visibility:public"],
)
"""

def _python_headers_repository_impl(repository_ctx):
    python = find_python(repository_ctx)
    result = repository_ctx.execute([python, "-c", _FIND_HEADERS])
    if result.return_code != 0:
        fail("kvswap: {} has no C headers: {}. Install them (Debian: apt-get install python3-dev)".format(
            python,
            last_line(result.stderr),
        ))
    includes = []
    for folder in result.stdout.splitlines():
        include = "include{}".format(len(includes))
        repository_ctx.symlink(folder, include)
        includes.append(include)
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        cc_library_bzl = Label("@rules_cc//cc:cc_library.bzl"),
        includes = repr(includes),
    ))

python_headers_repository = repository_rule(
    doc = "`//:headers`: Python.h of the machine's Python, or of the one that KVSWAP_PYTHON names.",
    implementation = _python_headers_repository_impl,
    configure = True,
    environ = [PYTHON_VARIABLE],
    local = True,
)
