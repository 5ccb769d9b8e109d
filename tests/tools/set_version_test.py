"""tools/set_version.py changes every place, and finds one that disagrees."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import set_version

_FILES = (
    "CHANGELOG.md",
    "MODULE.bazel",
    "README.md",
    "csrc/kvswap.h",
    "docs/bazel.md",
    "toolchains/version.bzl",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in _FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, tmp_path / name)
    consumer = tmp_path / "tests" / "consumers" / "cc" / "MODULE.bazel"
    consumer.parent.mkdir(parents=True)
    version = set_version.read_version(tmp_path)
    consumer.write_text(f'bazel_dep(name = "kvswap", version = "{version}")\n')
    return tmp_path


def test_all_places_are_changed(root: Path) -> None:
    old = set_version.read_version(root)
    assert set_version.main(["--root", str(root), "7.8.9"]) == 0
    assert set_version.read_version(root) == "7.8.9"
    assert not set_version.disagreements(root)
    header = (root / "csrc/kvswap.h").read_text()
    assert "#define KVSWAP_VERSION_MAJOR 7\n" in header
    assert "#define KVSWAP_VERSION_MINOR 8\n" in header
    assert "#define KVSWAP_VERSION_PATCH 9\n" in header
    consumer = (root / "tests/consumers/cc/MODULE.bazel").read_text()
    assert consumer == 'bazel_dep(name = "kvswap", version = "7.8.9")\n'
    for name in set(_FILES) - {"CHANGELOG.md", "csrc/kvswap.h"}:
        text = (root / name).read_text()
        assert "7.8.9" in text and f'"{old}"' not in text
    # Back again: the files are as they were, nothing else in them was touched.
    set_version.set_version(root, old)
    for name in set(_FILES) - {"CHANGELOG.md"}:
        assert (root / name).read_bytes() == Path(name).read_bytes()


@pytest.mark.parametrize("place", set_version.PLACES[1:7], ids=lambda p: p.pattern[:40])
def test_a_place_that_disagrees_is_named(root: Path, place: set_version.Place) -> None:
    path = root / place.files
    text = path.read_text()
    match = re.search(place.pattern, text, re.MULTILINE)
    assert match is not None
    other = place.text("9.9.9")
    path.write_text(text[: match.start(1)] + other + text[match.end(1) :])
    (sentence,) = set_version.disagreements(root)
    assert sentence.startswith(f"{path}: says {other}")


@pytest.mark.parametrize("name", _FILES)
def test_a_place_that_is_lost_is_an_error(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: (root / path).read_bytes() for path in _FILES if path != name}
    (root / name).write_text("nothing\n")
    assert set_version.main(["--root", str(root), "7.8.9"]) == 1
    assert str(root / name) in capsys.readouterr().err
    # Nothing is changed by halves.
    assert before == {path: (root / path).read_bytes() for path in before}


def _headings(root: Path) -> list[str]:
    lines = (root / "CHANGELOG.md").read_text().splitlines()
    return [line for line in lines if line.startswith("## ")]


def test_a_section_that_was_not_released_is_renamed(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 0.1.0 (unreleased)\n\n* one\n")
    set_version.set_version(root, "0.2.0")
    assert _headings(root) == ["## 0.2.0 (unreleased)"]


def test_a_section_that_was_released_stays(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 0.1.0 (2030-01-31)\n\n* one\n")
    set_version.set_version(root, "0.2.0")
    assert _headings(root) == ["## 0.2.0 (unreleased)", "## 0.1.0 (2030-01-31)"]
    set_version.set_version(root, "0.2.0")
    assert _headings(root) == ["## 0.2.0 (unreleased)", "## 0.1.0 (2030-01-31)"]


def test_another_section_on_top_is_named(root: Path) -> None:
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 9.9.9 (unreleased)\n")
    (sentence,) = set_version.disagreements(root)
    assert "CHANGELOG.md: the topmost section is of 9.9.9 (unreleased)" in sentence


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", ""])
def test_what_is_no_version_is_refused(
    root: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_version.main(["--root", str(root), version]) == 1
    assert "X.Y.Z is expected" in capsys.readouterr().err
