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
    needless = re.compile(r"kvswap_cuda_\d|kvswap_python_dev|buildifier|torch")
    assert [name for name in fetched if needless.search(name)] == []
