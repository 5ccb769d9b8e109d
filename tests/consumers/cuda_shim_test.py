"""A CUDA component of somebody else's, in kvswap's ABI matrix."""

from __future__ import annotations

import json
import os

from tests.consumers.nested_bazel import NestedBazel

CONSUMER = "cuda_shim"

MATRIX: list[str] = json.loads(os.environ["MATRIX_TOOLKITS"])


def test_it_runs_once_per_toolkit(bazel: NestedBazel) -> None:
    bazel.succeed("test", "//...", "--test_output=all")
    tests = bazel.succeed("query", "tests(//:shim_test)").split()
    assert tests == [f"//:shim_test_cuda{version}" for version in MATRIX]


def test_one_toolkit_leaves_one_row(bazel: NestedBazel) -> None:
    skipped = bazel.succeed(
        "cquery",
        "tests(//:shim_test)",
        f"--@kvswap//toolchains/cuda:toolkit={MATRIX[0]}",
        "--output=starlark",
        '--starlark:expr="IncompatiblePlatformProvider" in providers(target)',
    )
    assert skipped.split() == ["False"] + ["True"] * (len(MATRIX) - 1)


def test_who_uses_headers_fetches_no_compiler_of_device_code(
    bazel: NestedBazel,
) -> None:
    bazel.succeed("build", "//...")
    fetched = bazel.repositories()
    assert any("kvswap_cuda_" in name for name in fetched), "names are as expected"
    assert [name for name in fetched if "nvrtc" in name] == []
