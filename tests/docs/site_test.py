"""The built site: every link and anchor leads somewhere, and every public name is there."""

from __future__ import annotations

import functools
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import pages
from tests.stability import c_header
from tests.stability.committed_list import FOLDER, parse

_SITE = Path("docs/site/site")


class _Page(HTMLParser):
    """Links of a page, and what may be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if name := attributes.get("id"):
            self.anchors.add(name)
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


@functools.cache
def _page(path: Path) -> _Page:
    return _Page(path)


def _broken(path: Path) -> list[str]:
    broken = []
    for link in _page(path).links:
        address = urlsplit(link)
        if address.scheme or address.netloc:
            continue
        target = path
        if address.path:
            target = (path.parent / unquote(address.path)).resolve()
        if not target.exists():
            broken.append(link)
        elif address.fragment and target.suffix == ".html":
            if unquote(address.fragment) not in _page(target).anchors:
                broken.append(link)
    return broken


def _html() -> list[Path]:
    return sorted(_SITE.resolve().rglob("*.html"))


def test_every_page_is_there() -> None:
    assert _SITE.is_dir()
    missing = [
        page for page in pages() if not (_SITE / page).with_suffix(".html").exists()
    ]
    assert not missing


def test_links_and_anchors_lead_somewhere() -> None:
    assert len(_html()) > 20
    assert sum(len(_page(path).links) for path in _html()) > 1000
    broken = {str(path): links for path in _html() if (links := _broken(path))}
    assert not broken


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        '<h1 id="here"><a href="#here">x</a><a href="#there">x</a>'
        '<a href="none.html">x</a><a href="page.html#here">x</a></h1>',
        encoding="utf-8",
    )
    assert _broken(path) == ["#there", "none.html"]


@functools.cache
def _inventory() -> frozenset[tuple[str, str]]:
    """Domain and name of everything that the references describe."""
    content = (_SITE / "objects.inv").read_bytes()
    # Four lines of text, then compressed ones: name domain:type priority address title
    body = zlib.decompress(content.split(b"\n", 4)[4]).decode("utf-8")
    fields = [line.split(" ") for line in body.splitlines()]
    return frozenset((field[1].split(":")[0], field[0]) for field in fields)


def _names_of_header() -> list[str]:
    header = c_header.parse(Path("csrc/kvswap.h").read_text(encoding="utf-8"))
    # By name or as they are: functions, structures, macros, and what may come.
    names = [name for declared in vars(header).values() for name in declared]
    names += [
        f"{structure}.{field.name}"
        for structure, fields in header.structures.items()
        for field in fields
    ]
    for enumeration, enumerators in header.enumerations.items():
        names += [f"{enumeration}.{enumerator}" for enumerator in enumerators]
    return names


def test_everything_of_the_header_is_in_the_reference() -> None:
    names = _names_of_header()
    assert len(names) > 200
    missing = [name for name in names if ("c", name) not in _inventory()]
    assert not missing


def _names_of_python() -> list[str]:
    listed = parse((FOLDER / "python_interface.txt").read_text(encoding="utf-8"))
    # Attributes are told of in the text of their class.
    return [
        name
        for name, what in listed.items()
        if "(" not in name and "._" not in name and not what.startswith("attribute")
    ]


def test_every_public_name_of_python_is_in_the_reference() -> None:
    names = _names_of_python()
    assert {"kvswap.swap_blocks_batch", "kvswap_sim.Simulator.fail"} <= set(names)
    missing = [name for name in names if ("py", name) not in _inventory()]
    assert not missing


@pytest.mark.parametrize("name", ["kvswap.swap_blocks_batch", "kvswap.plan"])
def test_native_functions_have_types(name: str) -> None:
    text = (_SITE / "docs/reference/python.html").read_text(encoding="utf-8")
    signature = text.partition(f'id="{name}"')[2].partition("</dt>")[0]
    assert "policy" in signature
    assert "Stream" in signature
