"""External repositories of kvswap, for WORKSPACE files and module extensions alike."""

load("//toolchains:wheel_repository.bzl", "wheel_repository")
load("//toolchains/cc/release:release_compiler_repository.bzl", "release_compiler_repository")
load("//toolchains/cc/release:targets.bzl", "RELEASE_TARGETS")
load("//toolchains/cuda:hub_repository.bzl", "cuda_hub_repository")
load("//toolchains/cuda:toolkits.bzl", "TOOLKITS")
load("//toolchains/npm:buildifier_repository.bzl", "buildifier_repository")
load("//toolchains/python:dev_repository.bzl", "python_dev_repository")
load("//toolchains/python:headers_repository.bzl", "python_headers_repository")

_TOOLKIT_BUILD = """\
load("{cc_library_bzl}", "cc_library")
load("{cuda_toolkit_bzl}", "cuda_toolkit")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["{include}/**"]),
    includes = ["{include}"],
)

cuda_toolkit(
    name = "toolkit",
    headers = ":headers",
    version = "{version}",
)
"""

# Wheels have a second build of the same under *.alt.so.*.
_NVRTC_BUILD = """\
load("{nvrtc_bzl}", "cuda_nvrtc")

cuda_nvrtc(
    name = "nvrtc",
    libraries = glob([
        "{folder}/libnvrtc.so.*",
        "{folder}/libnvrtc-builtins.so.*",
    ]),
    version = "{version}",
    visibility = ["//visibility:public"],
)
"""

_PYBIND11_BUILD = """\
load("{cc_library_bzl}", "cc_library")

cc_library(
    name = "pybind11",
    hdrs = glob(["pybind11/include/**"]),
    includes = ["pybind11/include"],
    visibility = ["//visibility:public"],
    deps = ["{python_headers}"],
)

filegroup(
    name = "licenses",
    srcs = glob(["pybind11-*.dist-info/licenses/**"]),
    visibility = ["//visibility:public"],
)
"""

def cuda_repositories():
    """Declares @kvswap_cuda, the hub, and two repositories per toolkit behind it."""
    for toolkit in TOOLKITS:
        wheel_repository(
            name = toolkit.repository,
            build_file_content = _TOOLKIT_BUILD.format(
                cc_library_bzl = Label("@rules_cc//cc:cc_library.bzl"),
                cuda_toolkit_bzl = Label("//toolchains/cuda:toolkit.bzl"),
                include = toolkit.include,
                version = toolkit.version,
            ),
            lock = Label("//toolchains/cuda:locks/{}.lock".format(toolkit.version)),
        )
        wheel_repository(
            name = toolkit.nvrtc_repository,
            build_file_content = _NVRTC_BUILD.format(
                folder = toolkit.nvrtc,
                nvrtc_bzl = Label("//toolchains/cuda:nvrtc.bzl"),
                version = toolkit.version,
            ),
            lock = Label("//toolchains/cuda:locks/nvrtc_{}.lock".format(toolkit.version)),
        )
    cuda_hub_repository(
        name = "kvswap_cuda",
        nvrtc = {toolkit.version: toolkit.nvrtc_repository for toolkit in TOOLKITS},
        toolkits = {toolkit.version: toolkit.repository for toolkit in TOOLKITS},
    )

def python_headers_repositories():
    """Declares @kvswap_python and @kvswap_pybind11."""
    python_headers_repository(name = "kvswap_python")
    wheel_repository(
        name = "kvswap_pybind11",
        build_file_content = _PYBIND11_BUILD.format(
            cc_library_bzl = Label("@rules_cc//cc:cc_library.bzl"),
            python_headers = Label("//toolchains/python:headers"),
        ),
        lock = Label("//toolchains/python:pybind11.lock"),
    )

def python_dev_repositories():
    """Declares @kvswap_python_dev."""
    python_dev_repository(
        name = "kvswap_python_dev",
        requirements = Label("//toolchains/python:requirements.lock"),
        torch_requirements = Label("//toolchains/python:torch.txt"),
    )

def release_compiler_repositories():
    """Declares @kvswap_release_compiler_x86_64 and the like, fetched for releases only."""
    for target in RELEASE_TARGETS:
        release_compiler_repository(
            name = "kvswap_release_compiler_" + target.cpu,
            cpu = target.cpu,
            glibc = target.glibc,
            header_cpu = target.header_cpu,
            lock = Label("//toolchains/cc/release:zig.lock"),
            triple = target.triple,
        )

def buildifier_repositories():
    """Declares @kvswap_buildifier."""
    buildifier_repository(
        name = "kvswap_buildifier",
        lock = Label("//toolchains/npm:package-lock.json"),
        package = Label("//toolchains/npm:package.json"),
    )

def kvswap_repositories():
    """WORKSPACE mode: declares what kvswap needs besides its rule sets."""
    cuda_repositories()
    python_headers_repositories()

def kvswap_dev_repositories():
    """WORKSPACE mode: declares what only kvswap's own tests need."""
    buildifier_repositories()
    python_dev_repositories()
    release_compiler_repositories()

# buildifier: disable=unnamed-macro
def kvswap_register_toolchains():
    """WORKSPACE mode: registers the CUDA toolkits."""
    native.register_toolchains("@kvswap_cuda//:all")

# buildifier: disable=unnamed-macro
def kvswap_register_dev_toolchains():
    """WORKSPACE mode: registers the Python of kvswap's own tests, and the compiler of releases."""
    native.register_toolchains(
        "//toolchains/python/dev:toolchain",
        "//toolchains/cc/release:all",
    )
