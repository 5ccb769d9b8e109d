"""A repository with a Python, a pybind11, a torch and a CUDA toolkit of its own."""

from __future__ import annotations

import re

from tests.consumers.nested_bazel import NestedBazel

CONSUMER = "own_toolchains"


def test_it_uses_what_it_brings(bazel: NestedBazel) -> None:
    bazel.succeed("test", "//...")


def test_the_defaults_are_not_fetched(bazel: NestedBazel) -> None:
    bazel.succeed("build", "//...")
    fetched = bazel.repositories()
    for name in ["own_python", "own_pybind11", "own_cuda", "own_nvrtc"]:
        assert any(name in repository for repository in fetched)
    ours = re.compile(r"kvswap_(python|pybind11|cuda_|nvrtc)")
    assert [name for name in fetched if ours.search(name)] == []


def test_the_extension_module_is_compiled_with_its_headers(bazel: NestedBazel) -> None:
    commands = bazel.succeed(
        "aquery",
        'mnemonic("CppCompile", @kvswap//csrc/bindings:_core.so)'
        ' + mnemonic("CppCompile", @kvswap//csrc/abi:toolkit_abi_check)',
    )
    for repository in ["own_python", "own_pybind11", "own_cuda"]:
        option = rf"(-isystem|-I)[\s\\]*external/\S*{repository}"
        assert re.search(option, commands), repository


def test_the_device_kernels_are_compiled_with_its_nvrtc(bazel: NestedBazel) -> None:
    commands = bazel.succeed(
        "aquery", 'mnemonic("KernelImage", deps(@kvswap//csrc:libkvswap))'
    )
    libraries = re.findall(r"--library[\s\\]+(\S+)", commands)
    assert libraries
    assert [library for library in libraries if "own_nvrtc" not in library] == []
