"""The pinned compiler of releases, as a repository: clang against an old glibc.

The compiler is the one inside the ziglang wheel, which has the headers and the symbol
lists of every glibc. What programs are linked with (libc++, stand-ins for the C library,
start files) it makes on first use and keeps in a cache of its own, for about a minute.
Here this happens once, when the repository is fetched: actions then compile and link
with plain files, without a cache, and without finding anything by themselves.
"""

load("//toolchains:wheel_download.bzl", "unpack_wheels")
load("//toolchains/python:interpreter.bzl", "PYTHON_VARIABLE", "last_line")
load(":system_libraries.bzl", "SYSTEM_LIBRARIES_SCRIPT", "system_libraries_script")

_BUILD = """\
load("{toolchain_bzl}", "release_cc_toolchain")

package(default_visibility = ["//visibility:public"])

filegroup(
    name = "compiler",
    srcs = [
        "archive",
        "compile",
        "ziglang/zig",
    ] + glob([
        "ziglang/lib/include/**",
        "ziglang/lib/libc/include/any-linux-any/**",
        "ziglang/lib/libc/include/generic-glibc/**",
        "ziglang/lib/libc/include/{header_cpu}-linux-any/**",
        "ziglang/lib/libc/include/{header_cpu}-linux-gnu/**",
        "ziglang/lib/libcxx/include/**",
        "ziglang/lib/libcxxabi/include/**",
        "ziglang/lib/libunwind/include/**",
    ]),
)

filegroup(
    name = "runtime",
    srcs = glob(["runtime/**"]),
)

# Licences of what is linked into the binaries.
filegroup(
    name = "licenses",
    srcs = ["licenses/libcxx/LICENSE.TXT"],
)

release_cc_toolchain(
    name = "cc_toolchain",
    builtin_include_directories = ["%package(@@{repository}//)%/ziglang/lib"],
    compiler = ":compiler",
    cpu = "{cpu}",
    glibc = "{glibc}",
    runtime = ":runtime",
    runtime_directory = "{runtime_directory}",
    triple = "{triple}",
)
"""

# {program} is the compiler's name for what it is to do. The cache is for the call alone.
_WRAPPER = """\
#!/bin/bash
# Runs the compiler; written by release_compiler_repository.bzl.
set -eu
here=${{0%/*}}
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export ZIG_GLOBAL_CACHE_DIR=$cache ZIG_LOCAL_CACHE_DIR=$cache ZIG_LIB_DIR=$here/ziglang/lib
{choose}
"$here/ziglang/zig" {program} "${{arguments[@]}}"
"""

# The C library's parts are among what every link ends with; by their names the compiler
# would go and make them anew.
_CHOOSE_COMPILATION = """\
language=c++
arguments=()
for argument; do
  case $argument in
    *.c | *.S | *.s) language=cc ;;
    -lc | -ldl | -lm | -lpthread | -lrt) continue ;;
  esac
  arguments+=("$argument")
done
"""

_CHOOSE_NOTHING = """\
arguments=("$@")
"""

# Left out of the link: a second unwinder, for which libgcc_s stands in, and what
# sanitizers need.
_UNUSED_LIBRARIES = [
    "libubsan_rt.a",
    "libunwind.a",
]

def _run(repository_ctx, arguments):
    result = repository_ctx.execute(
        ["ziglang/zig"] + arguments,
        environment = {
            "ZIG_GLOBAL_CACHE_DIR": str(repository_ctx.path("cache")),
            "ZIG_LOCAL_CACHE_DIR": str(repository_ctx.path("cache")),
        },
        timeout = repository_ctx.attr.timeout,
    )
    if result.return_code != 0:
        fail("kvswap: @{}: the release compiler does not work here: zig {}: {}".format(
            repository_ctx.name,
            arguments[0],
            last_line(result.stderr + result.stdout),
        ))
    return result.stdout + result.stderr

def _linked_files(repository_ctx, link_arguments):
    """The files of the compiler's own that a link takes, out of its cache."""
    output = _run(repository_ctx, link_arguments + ["-v"])
    links = [line for line in output.splitlines() if line.startswith("ld.lld ")]
    if not links:
        fail("kvswap: @{}: the release compiler shows no command of its linker".format(repository_ctx.name))

    # It names files in the working folder relative to that.
    return [word for word in links[-1].split(" ") if word.startswith("cache/")]

def _runtime_directory(repository_ctx):
    """The folder of what is linked with, from the execution root."""
    return "external/{}/runtime".format(repository_ctx.name)

def _make_runtime(repository_ctx):
    repository_ctx.report_progress("building libc++; takes a minute or two")
    triple = repository_ctx.attr.triple
    repository_ctx.file("cache/empty.cc", "")
    repository_ctx.file("cache/empty.c", "int main(void) { return 0; }\n")
    files = _linked_files(
        repository_ctx,
        ["c++", "-target", triple, "-O2", "-g0", "-fPIC", "-shared", "cache/empty.cc", "-o", "cache/empty.so"],
    )
    files += [
        file
        for file in _linked_files(
            repository_ctx,
            ["cc", "-target", triple, "-O2", "-g0", "-pie", "cache/empty.c", "-o", "cache/empty"],
        )
        if file.endswith("/Scrt1.o")
    ]
    names = []
    for file in files:
        name = file.split("/")[-1]
        if name in _UNUSED_LIBRARIES or name.startswith("empty"):
            continue
        repository_ctx.execute(["cp", file, "runtime/" + name])
        names.append(name)
    for needed in ["libc++.a", "libc++abi.a", "libc.so.6", "Scrt1.o"]:
        if needed not in names:
            fail("kvswap: @{}: the release compiler links without {}".format(repository_ctx.name, needed))

    _run(
        repository_ctx,
        ["cc", "-target", triple, "-O1", "-g0", "-fno-sanitize=all", "-shared", "-nostdlib"] +
        [
            str(repository_ctx.path(repository_ctx.attr.libgcc_s)),
            "-Wl,-soname,libgcc_s.so.1",
            "-Wl,--version-script=" + str(repository_ctx.path(repository_ctx.attr.libgcc_s_map)),
            "-o",
            "runtime/libgcc_s.so.1",
        ],
    )
    repository_ctx.file(
        "runtime/" + SYSTEM_LIBRARIES_SCRIPT,
        system_libraries_script(_runtime_directory(repository_ctx)),
        executable = False,
    )
    repository_ctx.delete("cache")

def _release_compiler_repository_impl(repository_ctx):
    unpack_wheels(repository_ctx, repository_ctx.attr.lock, repository_ctx.attr.timeout)
    repository_ctx.execute(["chmod", "+x", "ziglang/zig"])
    repository_ctx.file("runtime/README", "What releases are linked with; written by release_compiler_repository.bzl.\n")
    _make_runtime(repository_ctx)

    repository_ctx.symlink("ziglang/lib/libcxx/LICENSE.TXT", "licenses/libcxx/LICENSE.TXT")
    repository_ctx.file("compile", _WRAPPER.format(choose = _CHOOSE_COMPILATION, program = '"$language"'))
    repository_ctx.file("archive", _WRAPPER.format(choose = _CHOOSE_NOTHING, program = "ar"))

    repository_ctx.file("BUILD.bazel", _BUILD.format(
        cpu = repository_ctx.attr.cpu,
        glibc = repository_ctx.attr.glibc,
        header_cpu = repository_ctx.attr.header_cpu,
        repository = repository_ctx.name,
        runtime_directory = _runtime_directory(repository_ctx),
        toolchain_bzl = Label("//toolchains/cc/release:toolchain.bzl"),
        triple = repository_ctx.attr.triple,
    ))

release_compiler_repository = repository_rule(
    doc = "`//:cc_toolchain`: the pinned compiler of releases, for one target.",
    implementation = _release_compiler_repository_impl,
    attrs = {
        "cpu": attr.string(
            doc = "CPU that is compiled for, as \"x86_64\".",
            mandatory = True,
        ),
        "glibc": attr.string(
            doc = "Version of glibc that is compiled for, as \"2.28\".",
            mandatory = True,
        ),
        "header_cpu": attr.string(
            doc = "The CPU in the names of the compiler's folders of headers, as \"x86\".",
            mandatory = True,
        ),
        "libgcc_s": attr.label(
            default = Label("//toolchains/cc/release:libgcc_s.c"),
            doc = "Source of the stand-in for libgcc_s.so.1.",
        ),
        "libgcc_s_map": attr.label(
            default = Label("//toolchains/cc/release:libgcc_s.map"),
            doc = "Its version script.",
        ),
        "lock": attr.label(
            doc = "Lock file of the compiler's wheel.",
            mandatory = True,
        ),
        "timeout": attr.int(
            doc = "Seconds that the download, and each run of the compiler, may take.",
            default = 3600,
        ),
        "triple": attr.string(
            doc = "What is compiled for, as the compiler names it.",
            mandatory = True,
        ),
    },
    environ = [PYTHON_VARIABLE],
)
