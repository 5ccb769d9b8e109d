"""The C headers of the machine's Pythons, as a repository."""

load(":interpreter.bzl", "PYTHON_VARIABLE", "find_python", "last_line")
load(":versions.bzl", "PYTHON_VERSIONS")

# Environment variable that names further interpreters, by path or by name, with colons
# between: --repo_env=KVSWAP_PYTHONS=/opt/python3.10/bin/python3:python3.13
_PYTHONS_VARIABLE = "KVSWAP_PYTHONS"

# Prints the version and the folders of headers.
_DESCRIBE = """
import os, sys, sysconfig
folders = []
for name in ("include", "platinclude"):
    folder = sysconfig.get_path(name)
    if folder not in folders:
        folders.append(folder)
if not os.path.isfile(os.path.join(folders[0], "Python.h")):
    sys.exit("no Python.h in " + folders[0])
print("%d.%d" % sys.version_info[:2])
print(os.path.realpath(sys.executable))
print("\\n".join(folders))
"""

_BUILD = """\
load("{cc_library_bzl}", "cc_library")
load("{version_flag_bzl}", "missing_python_headers")

package(default_visibility = ["//visibility:public"])

alias(
    name = "headers",
    actual = select({{
{branches}
        "//conditions:default": ":headers_{machine_version}",
    }}),
)
"""

_BRANCH = """        "{setting}": ":headers_{version}","""

_HEADERS = """
cc_library(
    name = "headers_{version}",
    hdrs = glob(["{version}/include*/**/*.h"]),
    includes = {includes},
)
"""

_MISSING = """
missing_python_headers(
    name = "headers_{version}",
    tags = ["manual"],
    version = "{version}",
)
"""

_PYTHONS = """\
\"\"\"The machine's Pythons; written by headers_repository.bzl.\"\"\"

# Version of the default one.
MACHINE_VERSION = "{machine_version}"

# From version to interpreter.
INTERPRETERS = {interpreters}
"""

def _describe(repository_ctx, python):
    result = repository_ctx.execute([python, "-c", _DESCRIBE])
    if result.return_code != 0:
        return struct(problem = last_line(result.stderr))
    lines = result.stdout.splitlines()
    return struct(
        folders = lines[2:],
        interpreter = lines[1],
        problem = None,
        version = lines[0],
    )

def _further_pythons(repository_ctx):
    """Interpreters that KVSWAP_PYTHONS names, and those on the PATH."""
    named = [name for name in repository_ctx.os.environ.get(_PYTHONS_VARIABLE, "").split(":") if name]
    pythons = []
    for name in named + ["python" + version for version in PYTHON_VERSIONS]:
        python = repository_ctx.path(name) if name.startswith("/") else repository_ctx.which(name)
        if python and python.exists:
            pythons.append(python)
        elif name in named:
            fail("kvswap: {} names {}, which is not there".format(_PYTHONS_VARIABLE, name))
    return pythons

def _python_headers_repository_impl(repository_ctx):
    python = find_python(repository_ctx)
    machine = _describe(repository_ctx, python)
    if machine.problem:
        fail("kvswap: {} has no C headers: {}. Install them (Debian: apt-get install python3-dev)".format(
            python,
            machine.problem,
        ))

    found = {machine.version: machine}
    for further in _further_pythons(repository_ctx):
        # One that does not run or has no headers is not for building: version managers
        # put programs on the PATH that only say so.
        description = _describe(repository_ctx, further)
        if not description.problem:
            found.setdefault(description.version, description)

    build = [_BUILD.format(
        branches = "\n".join([
            _BRANCH.format(
                setting = Label("//toolchains/python:is_" + version),
                version = version,
            )
            for version in PYTHON_VERSIONS
        ]),
        cc_library_bzl = Label("@rules_cc//cc:cc_library.bzl"),
        machine_version = machine.version,
        version_flag_bzl = Label("//toolchains/python:version_flag.bzl"),
    )]
    for version, description in found.items():
        includes = []
        for folder in description.folders:
            include = "{}/include{}".format(version, len(includes))
            repository_ctx.symlink(folder, include)
            includes.append(include)
        build.append(_HEADERS.format(version = version, includes = repr(includes)))
    build += [_MISSING.format(version = version) for version in PYTHON_VERSIONS if version not in found]
    repository_ctx.file("BUILD.bazel", "".join(build))
    repository_ctx.file("pythons.bzl", _PYTHONS.format(
        interpreters = repr({version: found[version].interpreter for version in sorted(found)}),
        machine_version = machine.version,
    ))

python_headers_repository = repository_rule(
    doc = """\
`//:headers`: Python.h of the version that //toolchains/python:version selects, by default
that of the machine's Python, or of the one that KVSWAP_PYTHON names. Others are looked for
on the PATH, as python3.12, and in KVSWAP_PYTHONS.
""",
    implementation = _python_headers_repository_impl,
    configure = True,
    environ = [
        PYTHON_VARIABLE,
        _PYTHONS_VARIABLE,
    ],
    local = True,
)
