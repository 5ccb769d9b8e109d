"""A module that depends on kvswap, and what it can rely on."""

from __future__ import annotations

import json
import os
import re

from tests.consumers.nested_bazel import NestedBazel, checkout

CONSUMER = "module"

STABLE: dict[str, str] = json.loads(os.environ["STABLE_LABELS"])
INTERNAL: dict[str, str] = json.loads(os.environ["INTERNAL_LABELS"])


def test_it_builds_and_copies(bazel: NestedBazel) -> None:
    bazel.succeed("test", "//...")


def test_nothing_is_fetched_that_it_does_not_use(bazel: NestedBazel) -> None:
    bazel.succeed("build", "//...")
    fetched = bazel.repositories()
    assert any("kvswap_pybind11" in name for name in fetched), "names are as expected"
    nvrtc = [name for name in fetched if "kvswap_nvrtc" in name]
    assert len(nvrtc) == 1, "the device kernels take one"
    needless = re.compile(r"kvswap_cuda_\d|kvswap_python_dev|buildifier|torch")
    assert [name for name in fetched if needless.search(name)] == []


def test_it_reaches_no_tests_and_no_toolkit(bazel: NestedBazel) -> None:
    reached = bazel.succeed("cquery", "deps(//...)").splitlines()
    assert any("//csrc/engine:engine" in label for label in reached)
    needless = re.compile(r"kvswap[~+]?//(tests|docs|tools)\b|kvswap_cuda_\d|_dev\b")
    assert [label for label in reached if needless.search(label)] == []


def test_every_stable_label_resolves(bazel: NestedBazel) -> None:
    package = bazel.folder / "stable_labels"
    package.mkdir()
    loads: list[str] = []
    targets: list[str] = []
    for label in STABLE:
        file, _, symbol = label.partition("%")
        if symbol:
            loads.append(f'load("@kvswap{file}", _{len(loads)} = "{symbol}")')
        else:
            targets.append(f"@kvswap{label}")
    (package / "BUILD").write_text("\n".join(loads), encoding="utf-8")

    answer = bazel.succeed("query", f"//stable_labels:all + set({' '.join(targets)})")
    assert len(answer.split()) == len(targets)
    # Nobody has a custom toolkit or headers of torch here, and there is nothing to build.
    buildable = [
        target
        for target in targets
        if not target.endswith((":custom_toolkit", "_type")) and "torch" not in target
    ]
    bazel.succeed("build", "--nobuild", "//stable_labels:all", *buildable)


def test_nothing_else_is_public(bazel: NestedBazel) -> None:
    # Not in the root package: a query takes all root packages for the same one.
    onlooker = bazel.folder / "onlooker"
    onlooker.mkdir()
    (onlooker / "BUILD").write_text('filegroup(name = "onlooker")', encoding="utf-8")
    # docs/ and tests/ have packages that other repositories cannot load; what they share
    # is in the packages themselves.
    packages = [
        f"@kvswap//{folder.name}/..."
        for folder in checkout().iterdir()
        if folder.name not in ("docs", "tests") and not folder.is_symlink()
        if list(folder.glob("**/BUILD"))
    ]
    own = [f"@kvswap//{package}:*" for package in ("", "docs", "tests")]
    everything = " + ".join([*packages, *own])
    seen = bazel.succeed(
        "query", "--output=label_kind", f"visible(//onlooker, {everything})"
    )
    labels = {
        re.sub(r"^.*kvswap[~+]?//", "//", label)
        for label in (line.split()[-1] for line in seen.splitlines())
    }
    promised = {
        label if ":" in label else f"{label}:{label.rpartition('/')[2]}"
        for label in [*STABLE, *INTERNAL]
    }
    assert labels - promised == set()


def test_nothing_of_nvrtc_is_needed_without_device_kernels(bazel: NestedBazel) -> None:
    reached = bazel.succeed(
        "cquery", "deps(//...)", "--@kvswap//toolchains/cuda:device_kernels=false"
    )
    assert "no_kernel_images.cc" in reached
    needless = re.compile(r"kvswap_nvrtc|nvrtc_compile|embed_kernel_images")
    assert needless.findall(reached) == []
