"""The stable labels: visible, described in docs/bazel.md, and what .bcr builds."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any

STABLE: dict[str, str] = json.loads(os.environ["STABLE_LABELS"])
INTERNAL: dict[str, str] = json.loads(os.environ["INTERNAL_LABELS"])


def is_target(label: str) -> bool:
    return "%" not in label


def canonical(label: str) -> str:
    """``//py/kvswap`` as ``//py/kvswap:kvswap``."""
    return label if ":" in label else f"{label}:{label.rpartition('/')[2]}"


def bcr_template(name: str) -> Any:
    return json.loads(pathlib.Path(".bcr", name).read_text(encoding="utf-8"))


def test_other_repositories_see_every_label() -> None:
    visible = pathlib.Path("tests/labels/visible_labels").read_text(encoding="utf-8")
    expected = {canonical(label) for label in [*STABLE, *INTERNAL] if is_target(label)}
    assert set(visible.split()) == expected


def test_the_guide_names_every_stable_label() -> None:
    guide = pathlib.Path("docs/bazel.md").read_text(encoding="utf-8")
    missing = []
    for label in STABLE:
        file, _, symbol = label.partition("%")
        if re.search(r":is_(\d|none|custom)", label):
            file = "//toolchains/cuda:is_<value>"
        row = re.search(rf"^\|.*`@kvswap{re.escape(file)}`.*$", guide, re.MULTILINE)
        if row is None or (symbol and f"`{symbol}`" not in row[0]):
            missing.append(label)
    assert missing == []


def test_the_guide_promises_no_other_label() -> None:
    guide = pathlib.Path("docs/bazel.md").read_text(encoding="utf-8")
    stable = {canonical(label.partition("%")[0]) for label in STABLE}
    named = set(re.findall(r"@kvswap(//[\w./]+(?::[\w.]+)?)", guide))
    named.discard("//toolchains/cuda:is_")
    assert {canonical(label) for label in named} <= stable


def test_the_registry_has_its_templates() -> None:
    metadata = bcr_template("metadata.template.json")
    assert metadata["versions"] == [] and metadata["yanked_versions"] == {}
    assert metadata["maintainers"] and metadata["homepage"]
    assert [place.partition(":")[0] for place in metadata["repository"]] == ["github"]

    source = bcr_template("source.template.json")
    assert source["integrity"] == "", "it is filled in when a version is published"
    assert "{TAG}" in source["url"] and "{VERSION}" in source["strip_prefix"]


def test_the_registry_builds_stable_targets_alone() -> None:
    presubmit = pathlib.Path(".bcr/presubmit.yml").read_text(encoding="utf-8")
    assert "\t" not in presubmit, "YAML is indented by spaces"
    built = re.findall(r'^ +- "@kvswap(//[^"]+)"$', presubmit, re.MULTILINE)
    assert built and set(built) <= set(STABLE)
    assert presubmit.count("@kvswap//") == len(built)


def test_the_registry_tests_bazels_that_the_module_allows() -> None:
    presubmit = pathlib.Path(".bcr/presubmit.yml").read_text(encoding="utf-8")
    matrices = re.findall(r"^ +bazel: \[(.*)\]$", presubmit, re.MULTILINE)
    majors = [re.findall(r'"(\d+)\.[x*]"', matrix) for matrix in matrices]
    assert majors == [["7", "8", "9"]] * 2
    module = pathlib.Path("MODULE.bazel").read_text(encoding="utf-8")
    assert 'bazel_compatibility = [">=7.' in module


def test_the_registry_tests_a_module_that_is_there() -> None:
    presubmit = pathlib.Path(".bcr/presubmit.yml").read_text(encoding="utf-8")
    paths = re.findall(r'^ +module_path: "(.*)"$', presubmit, re.MULTILINE)
    assert len(paths) == 1
    assert pathlib.Path(paths[0], "MODULE.bazel").is_file()
    # A config that .bazelrc does not know is an error of Bazel's.
    bazelrc = pathlib.Path(paths[0], ".bazelrc").read_text(encoding="utf-8")
    for config in re.findall(r'- "--config=(\w+)"', presubmit):
        assert f"build:{config} --" in bazelrc
