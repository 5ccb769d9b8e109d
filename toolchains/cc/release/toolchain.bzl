"""The C++ toolchain of releases, around the compiler of release_compiler_repository.bzl."""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES", "ALL_CC_COMPILE_ACTION_NAMES")
load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "feature", "flag_group", "flag_set", "tool_path")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")
load("@rules_cc//cc/toolchains:cc_toolchain_config_info.bzl", "CcToolchainConfigInfo")
load(":system_libraries.bzl", "SYSTEM_LIBRARIES_SCRIPT")

_LINK_SHARED = [
    ACTION_NAMES.cpp_link_dynamic_library,
    ACTION_NAMES.cpp_link_nodeps_dynamic_library,
]
_LINK_EXECUTABLE = [ACTION_NAMES.cpp_link_executable]

# What every link ends with. Archives whole programs need little of; shared libraries
# are recorded where something of them is used.
_RUNTIME_LIBRARIES = [
    "libc++.a",
    "libc++abi.a",
    "libc_nonshared.a",
    SYSTEM_LIBRARIES_SCRIPT,
    # After the system's libraries: it has memory functions and a stack check of its own,
    # slower than theirs and with nothing to tell of what went wrong.
    "libcompiler_rt.a",
]

# What Bazel knows and a release does not need.
_NO_TOOLS = [
    "cpp",
    "dwp",
    "gcov",
    "nm",
    "objcopy",
    "objdump",
    "strip",
]

def _flags(name, *action_flags):
    return feature(
        name = name,
        enabled = True,
        flag_sets = [
            flag_set(
                actions = actions,
                flag_groups = [flag_group(flags = flags)],
            )
            for actions, flags in action_flags
        ],
    )

def _toolchain_config_impl(ctx):
    runtime = ctx.attr.runtime_directory
    target = ["-target", ctx.attr.triple]
    features = [
        feature(name = "supports_pic", enabled = True),
        feature(name = "supports_dynamic_linker", enabled = True),
        # Libraries are found beside one another, not in the folders of a build.
        feature(name = "runtime_library_search_directories"),
        _flags("target", (ALL_CC_COMPILE_ACTION_NAMES + _LINK_SHARED + _LINK_EXECUTABLE, target)),
        _flags(
            "compilation",
            (
                ALL_CC_COMPILE_ACTION_NAMES,
                [
                    "-O2",
                    "-g0",
                    "-fPIC",
                    "-fno-sanitize=all",
                    "-fstack-protector-strong",
                    "-U_FORTIFY_SOURCE",
                    "-D_FORTIFY_SOURCE=2",
                    "-ffunction-sections",
                    "-fdata-sections",
                    # Times in a binary would make each build another.
                    "-Wno-builtin-macro-redefined",
                    "-D__DATE__=\"redacted\"",
                    "-D__TIME__=\"redacted\"",
                    "-D__TIMESTAMP__=\"redacted\"",
                ],
            ),
        ),
        _flags(
            "linking",
            (
                _LINK_SHARED + _LINK_EXECUTABLE,
                [
                    "-nostdlib",
                    "-nostdlib++",
                    "-s",
                    "-Wl,--build-id=sha1",
                    "-Wl,--gc-sections",
                    "-Wl,-z,relro,-z,now",
                    "-Wl,--as-needed",
                ] + [runtime + "/" + library for library in _RUNTIME_LIBRARIES],
            ),
            (
                _LINK_EXECUTABLE,
                [
                    "-pie",
                    runtime + "/Scrt1.o",
                ],
            ),
        ),
    ]
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "glibc_" + ctx.attr.glibc,
        abi_version = "itanium",
        compiler = "clang",
        cxx_builtin_include_directories = ctx.attr.builtin_include_directories,
        features = features,
        host_system_name = "local",
        target_cpu = ctx.attr.cpu,
        target_libc = "glibc_" + ctx.attr.glibc,
        target_system_name = ctx.attr.triple,
        tool_paths = [
            tool_path(name = "gcc", path = "compile"),
            tool_path(name = "ld", path = "compile"),
            tool_path(name = "ar", path = "archive"),
        ] + [
            tool_path(name = tool, path = "/bin/false")
            for tool in _NO_TOOLS
        ],
        toolchain_identifier = "kvswap_release_" + ctx.attr.cpu,
    )

_toolchain_config = rule(
    doc = "What Bazel has to know of the compiler of releases.",
    implementation = _toolchain_config_impl,
    attrs = {
        "builtin_include_directories": attr.string_list(
            doc = "Folders whose headers need not be declared.",
        ),
        "cpu": attr.string(
            doc = "CPU that is compiled for.",
            mandatory = True,
        ),
        "glibc": attr.string(
            doc = "Version of glibc that is compiled for.",
            mandatory = True,
        ),
        "runtime_directory": attr.string(
            doc = "Folder of what is linked with, from the execution root.",
            mandatory = True,
        ),
        "triple": attr.string(
            doc = "What is compiled for, as the compiler names it.",
            mandatory = True,
        ),
    },
    provides = [CcToolchainConfigInfo],
)

def release_cc_toolchain(name, compiler, runtime, **kwargs):
    """The cc_toolchain of releases.

    Args:
      name: its name.
      compiler: target with the compiler's files.
      runtime: target with the files of `runtime_directory`.
      **kwargs: attributes of the configuration: builtin_include_directories, cpu, glibc,
        runtime_directory, triple.
    """
    config = name + "_config"
    files = name + "_files"
    _toolchain_config(
        name = config,
        visibility = ["//visibility:private"],
        **kwargs
    )
    native.filegroup(
        name = files,
        srcs = [
            compiler,
            runtime,
        ],
        visibility = ["//visibility:private"],
    )
    cc_toolchain(
        name = name,
        all_files = files,
        ar_files = compiler,
        as_files = compiler,
        compiler_files = compiler,
        dwp_files = compiler,
        linker_files = files,
        objcopy_files = compiler,
        strip_files = compiler,
        # The wrapper around the compiler looks at its arguments.
        supports_param_files = False,
        toolchain_config = config,
    )
