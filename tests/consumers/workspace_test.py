"""The same as the module, in WORKSPACE mode."""

from __future__ import annotations

import re

from tests.consumers.nested_bazel import NestedBazel

CONSUMER = "workspace"


def test_it_builds_and_copies(bazel: NestedBazel) -> None:
    bazel.succeed("test", "//...")


def test_nothing_is_fetched_that_it_does_not_use(bazel: NestedBazel) -> None:
    bazel.succeed("build", "//...")
    fetched = bazel.repositories()
    assert "kvswap_pybind11" in fetched
    nvrtc = [name for name in fetched if "kvswap_nvrtc" in name]
    assert len(nvrtc) == 1, "the device kernels take one"
    needless = re.compile(r"kvswap_cuda_\d|kvswap_python_dev|buildifier|torch")
    assert [name for name in fetched if needless.search(name)] == []


def test_nothing_of_nvrtc_is_needed_without_device_kernels(bazel: NestedBazel) -> None:
    reached = bazel.succeed(
        "cquery", "deps(//...)", "--@kvswap//toolchains/cuda:device_kernels=false"
    )
    assert "no_kernel_images.cc" in reached
    needless = re.compile(r"kvswap_nvrtc|nvrtc_compile|embed_kernel_images")
    assert needless.findall(reached) == []
