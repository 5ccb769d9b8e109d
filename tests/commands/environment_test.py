"""The doctor's variables are those that kvswap reads, and nothing of others is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvswap.doctor.environment import OWN, variables
from kvswap.doctor.system import System

_OF_BUILDS = {
    "KVSWAP_BAZEL_CACHE",
    "KVSWAP_MATRIX_TOOLKIT",
    "KVSWAP_PACKAGE_DIR",
    "KVSWAP_PROPERTY_FACTOR",
    "KVSWAP_PYTHON",
    "KVSWAP_PYTHONS",
    "KVSWAP_RELIABILITY_FILE",
    "KVSWAP_SMALL_GPU_TESTS",
    "KVSWAP_TORCH",
}


def documented() -> set[str]:
    """The variables that docs/versions.md promises."""
    text = Path("docs/versions.md").read_text(encoding="utf-8")
    section = text.partition("## Environment variables")[2].partition("\n## ")[0]
    return set(re.findall(r"KVSWAP_[A-Z_]+", section))


def of(**environment: str) -> dict[str, dict[str, object]]:
    """What is told of variables, by name."""
    found = variables(System("/nowhere", environment))
    return {each["name"]: dict(each) for each in found}


def test_all_that_are_read_are_known() -> None:
    assert documented() - _OF_BUILDS == set(OWN)


@pytest.mark.parametrize("name", sorted(_OF_BUILDS))
def test_those_of_builds_are_no_mistake(name: str) -> None:
    assert of(**{name: "x"}) == {}


def test_misspelled() -> None:
    found = of(KVSWAP_MAXBATCH="64", KVSWAP_SOMETHING="s3cret")
    assert found["KVSWAP_MAXBATCH"]["suggestion"] == "KVSWAP_MAX_BATCH"
    assert found["KVSWAP_SOMETHING"]["suggestion"] is None
    assert not any(each["known"] for each in found.values())
    assert "s3cret" not in str(found)


def test_only_known_variables_of_others() -> None:
    found = of(NVIDIA_API_KEY="s3cret", CUDA_VISIBLE_DEVICES="", KVSWAP_ENGINE="")
    assert list(found) == ["CUDA_VISIBLE_DEVICES"]
    assert found["CUDA_VISIBLE_DEVICES"]["value"] == ""
