"""What other repositories may rely on, and what else they can see.

The one list: tests/labels and tests/consumers hold the repository and docs/bazel.md to
it. A key is a target, or `FILE.bzl%SYMBOL` for what a .bzl file offers to load().
"""

load("//toolchains/cuda:toolkits.bzl", "FLAG_VALUES")
load("//toolchains/python:versions.bzl", "MACHINE_PYTHON", "PYTHON_VERSIONS")

# Kept from one version to the next: a label here goes, or changes its meaning, only with
# a new major version (before 1.0, a new minor one).
STABLE_LABELS = {
    "//csrc/sim:cuda_sim": "the simulated driver: the four libraries below and its kernels, in a folder",
    "//csrc/sim:cuda_sim_h": "`cuda_sim.h`: its control from C and C++",
    "//csrc/sim:libcuda_sim.so": "the simulated driver of CUDA 13.0 and newer",
    "//csrc/sim:libcuda_sim_before_12_0.so": "the simulated driver of CUDA 11.4 to 11.8",
    "//csrc/sim:libcuda_sim_before_12_8.so": "the simulated driver of CUDA 12.0 to 12.7",
    "//csrc/sim:libcuda_sim_before_13_0.so": "the simulated driver of CUDA 12.8 and 12.9",
    "//csrc/bindings/torch:libkvswap_torch": "`libkvswap_torch.so`: operators for torch",
    "//csrc:kvswap": "`cc_library` with `kvswap.h`",
    "//csrc:libkvswap": "`cc_shared_library`: the same as `libkvswap.so`",
    "//py/kvswap": "the Python package, `import kvswap`",
    "//py/kvswap/testing": "a client of the CUDA driver API in Python",
    "//py/kvswap:programs": "`python -m kvswap`; needs absl-py",
    "//py/kvswap:torch_ops": "the package with `libkvswap_torch.so`",
    "//py/kvswap_sim": "control of the simulated driver from Python, and its libraries",
    "//toolchains/cuda:abi_matrix.bzl%abi_matrix_cc_test": "a `cc_test`, once per toolkit",
    "//toolchains/cuda:abi_matrix.bzl%abi_matrix_py_test": "a pytest test, once per toolkit",
    "//toolchains/cuda:abi_matrix.bzl%abi_matrix_test": "any existing test, once per toolkit",
    "//toolchains/cuda:abi_matrix.bzl%further_toolkits_suite": "the rows outside the matrix",
    "//toolchains/cuda:custom_toolkit": "flag: your own toolkit",
    "//toolchains/cuda:device_kernels": "flag: whether libkvswap holds device kernels",
    "//toolchains/cuda:headers": "`<cuda.h>` of the selected toolkit",
    "//toolchains/cuda:nvrtc.bzl%NvrtcInfo": "provider of compilers of device code",
    "//toolchains/cuda:nvrtc.bzl%cuda_nvrtc": "rule: the NVRTC of a toolkit of your own",
    "//toolchains/cuda:nvrtc_toolchain_type": "toolchain type of compilers of device code",
    "//toolchains/cuda:toolchain_type": "toolchain type of toolkits",
    "//toolchains/cuda:toolkit": "flag: which toolkit",
    "//toolchains/cuda:toolkit.bzl%CudaToolkitInfo": "provider of toolkits",
    "//toolchains/cuda:toolkit.bzl%NEEDS_CUDA_TOOLKIT": "for `target_compatible_with`",
    "//toolchains/cuda:toolkit.bzl%cuda_toolkit": "rule: a toolkit of your own",
    "//toolchains/python:headers": "flag: `Python.h`",
    "//toolchains/python:pybind11": "flag: pybind11's headers",
    "//toolchains/python:torch_headers": "flag: torch's headers",
    "//toolchains/python:version": "flag: which of the machine's Pythons `headers` are of",
    "//toolchains:repositories.bzl%kvswap_register_toolchains": "WORKSPACE: registers the toolkits",
    "//toolchains:repositories.bzl%kvswap_repositories": "WORKSPACE: declares what kvswap needs",
    "//toolchains:rule_sets.bzl%kvswap_rule_sets": "WORKSPACE: declares missing rule sets",
    "//toolchains:wheel_repository.bzl%wheel_repository": "repository rule: hash-locked wheels, unpacked",
} | {
    "//toolchains/cuda:is_" + value: "`config_setting`: that value of the flag `toolkit`"
    for value in FLAG_VALUES
}

# Public, because Bazel looks at them from other repositories, and no promise.
INTERNAL_LABELS = {
    "//tests:pytest_main.py": "`main` of the tests that abi_matrix_py_test makes",
    "//toolchains/cc/sanitizers:runtime": "the flag behind --config=asan and --config=tsan",
    "//toolchains/cuda:checked_custom_toolkit": "behind the toolchain of the custom toolkit",
    "//toolchains/cuda:custom_nvrtc": "behind the toolchain of the custom toolkit",
    "//toolchains/cuda:none_toolkit": "behind the toolchain of no toolkit",
} | {
    "//toolchains/cc/sanitizers:{}{}".format(prefix, sanitizer): "behind tests of abi_matrix_py_test"
    for prefix in ["", "is_"]
    for sanitizer in [
        "asan",
        "tsan",
    ]
} | {
    "//toolchains/python:is_" + version: "behind the default of the flag `headers`"
    for version in [MACHINE_PYTHON] + PYTHON_VERSIONS
}
