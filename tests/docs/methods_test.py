"""Pages and pictures call the benchmark's methods by the benchmark's names."""

from __future__ import annotations

import re

from kvswap.benchmark.method_words import (
    ALTERNATIVE_WORDS,
    ENGINE_WORDS,
    LIMIT_WORDS,
    METHOD_WORDS,
)
from kvswap.benchmark.methods import ENGINES, METHODS, OTHERS
from tests.docs.pages import ROOT


def _read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_every_method_has_words() -> None:
    assert list(METHODS) == [*ENGINE_WORDS, *ALTERNATIVE_WORDS]
    assert (ENGINES, OTHERS) == (tuple(ENGINE_WORDS), tuple(ALTERNATIVE_WORDS))
    for name, words in METHOD_WORDS.items():
        prefix = f"kvswap {name}" if name in ENGINE_WORDS else name
        assert words.label.startswith(prefix)
        assert words.text and not words.text.endswith(".")
    assert len({words.label for words in METHOD_WORDS.values()}) == len(METHOD_WORDS)


def test_the_page_has_the_words_of_the_program() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", _read("docs/benchmarking.md"), re.M)
    found = {name: text.replace("`", "") for name, text in rows if name in METHOD_WORDS}
    assert found == {name: words.text for name, words in METHOD_WORDS.items()}


def test_the_readme_has_the_names() -> None:
    text = _read("README.md")
    (heading,) = re.findall(r"^\| direction \| blocks \|(.+)\|$", text, re.M)
    columns = [column.strip() for column in heading.split("|")]
    names = [column.strip("`") for column in columns if column != "share"]
    assert set(names) <= set(METHOD_WORDS) and len(names) >= 5
    below = text[text.index(heading) :]
    for name in names:
        assert f"`{name}`" in below[len(heading) :], "explained below the table"


def test_the_picture_has_the_labels() -> None:
    texts = re.findall(
        r"<text [^>]*>([^<]+)</text>", _read("docs/pictures/speed_h200.svg")
    )
    labels = {words.label for words in METHOD_WORDS.values()}
    shown = [text for text in texts if text in labels]
    assert LIMIT_WORDS.label in shown
    assert len(shown) == len(set(shown)) == len(METHOD_WORDS) - 1, "all but the bridge"
