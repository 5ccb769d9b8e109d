"""Pictures can be read on dark pages and on paper, and are told of in words."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.pages import ROOT, pages

_PICTURES = sorted((ROOT / "docs/pictures").glob("*.svg"))
_SVG = "{http://www.w3.org/2000/svg}"
_LIGHT = {"#ffffff", "#f6f8fa"}


def _ground(picture: Path) -> tuple[list[float], str]:
    """Width and height of what is drawn first, and its colour."""
    drawn = ElementTree.parse(picture).getroot().iter()
    first = next(
        element
        for element in drawn
        if element.tag in (f"{_SVG}rect", f"{_SVG}path")
        and (element.get("fill") or "fill:" in element.get("style", ""))
        # The heads of arrows are drawn where they are used.
        and not (element.get("d") or "").startswith("M0 0 10 5")
    )
    colour = first.get("fill") or first.get("style", "").partition("fill: ")[2]
    if first.tag == f"{_SVG}rect":
        size = [float(first.get("width", 0)), float(first.get("height", 0))]
    else:
        numbers = [float(n) for n in re.findall(r"[\d.]+", first.get("d", ""))]
        size = [max(numbers[0::2]), max(numbers[1::2])]
    return size, colour.partition(";")[0]


@pytest.mark.parametrize("picture", _PICTURES, ids=lambda picture: picture.name)
def test_a_picture_has_a_light_ground_of_its_own(picture: Path) -> None:
    box = ElementTree.parse(picture).getroot().get("viewBox", "").split()
    size, colour = _ground(picture)
    assert size == [float(box[2]), float(box[3])]
    assert colour in _LIGHT


@pytest.mark.parametrize("picture", _PICTURES, ids=lambda picture: picture.name)
def test_no_line_ends_in_white_space(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)


def test_every_picture_is_shown_and_described() -> None:
    assert len(_PICTURES) >= 2
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in pages())
    described = dict(
        (Path(target).name, words)
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)
    )
    assert set(described) == {picture.name for picture in _PICTURES}
    assert all(len(words) > 40 for words in described.values())
