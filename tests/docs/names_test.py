"""Names in the text of pages are those of the product, and terms are in the glossary."""

from __future__ import annotations

import functools
import pkgutil
import re
from pathlib import Path

import pytest

import kvswap
import kvswap_sim
from tests.docs.pages import ROOT, pages
from tests.stability import c_header

_FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)

# Not after what makes it part of a path, a label, a file or another name.
_PYTHON = re.compile(r"(?<![\w./@:+-])kvswap(?:_sim)?(?:\.[A-Za-z_]\w*)+")
_OF_C = re.compile(r"(?<![\w./@:+-])(kvswap_[a-z0-9_]+)(?:\.([a-z]\w*))?(?![\w*])")
# Not versions of symbols, as KVSWAP_0.1, and not names that are left open.
_CAPITAL = re.compile(r"(?<![\w-])(?:KVSWAP|CUDA_SIM)_[A-Z][A-Z0-9_]*[A-Z0-9](?!\w|…)")
_ATTRIBUTE = re.compile(r"(?<![\w.])(\w+)\.(?!cc\b)(\w+)")

# Files, and ranges of tracing tools, which are named after engines.
_NO_PYTHON = re.compile(r"kvswap\.(?:h|pc|map|batch|loop|kernel|bridge)$")
# Packages, distributions and functions of Starlark.
_NO_C = {
    "kvswap_register_toolchains",
    "kvswap_repositories",
    "kvswap_rule_sets",
    "kvswap_sim",
    "kvswap_torch",
}

# What pages call objects of these types. Those of C have the fields of a structure.
_OBJECTS = {
    "error": (kvswap.SwapError, "kvswap_result"),
    "plan": (kvswap.Plan, "kvswap_plan"),
    "pool": (kvswap.BlockPool, "kvswap_pool"),
    "result": (kvswap.SwapResult, "kvswap_result"),
    "simulator": (kvswap_sim.Simulator, ""),
    "ticket": (kvswap.Ticket, ""),
    "Simulator": (kvswap_sim.Simulator, ""),
    "SwapError": (kvswap.SwapError, ""),
    "SwapResult": (kvswap.SwapResult, ""),
}


def _codes(page: str) -> list[str]:
    """What stands in backticks in the text of a page."""
    text = _FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return [match[2] for match in _CODE.finditer(text)]


def _headers() -> list[c_header.Header]:
    return [
        c_header.parse(Path(path).read_text(encoding="utf-8"))
        for path in ("csrc/kvswap.h", "csrc/sim/cuda_sim.h")
    ]


@functools.cache
def _declared() -> frozenset[str]:
    """All names of the headers, fields as structure.field."""
    names = set()
    for header in _headers():
        for declared in vars(header).values():
            names |= set(declared)
        for enumerators in header.enumerations.values():
            names |= set(enumerators)
        for structure, fields in header.structures.items():
            names |= {f"{structure}.{field.name}" for field in fields}
    return frozenset(names)


@functools.cache
def _variables() -> frozenset[str]:
    """The environment variables of versions.md, which another test holds to the sources."""
    text = (ROOT / "docs/versions.md").read_text(encoding="utf-8")
    table = text.partition("## Environment variables")[2].partition("\n## ")[0]
    return frozenset(re.findall(r"`(KVSWAP_\w+)`", table))


def _is_python(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def _has(name: str, attribute: str) -> bool:
    kind, structure = _OBJECTS[name]
    # Attributes that instances alone have are in the text of their class.
    return (
        hasattr(kind, attribute)
        or f"\n    {attribute}: " in (kind.__doc__ or "")
        or f"        {attribute}: " in (kind.__doc__ or "")
        or f"{structure}.{attribute}" in _declared()
    )


def _unknown(code: str) -> list[str]:
    """The names in a piece of code that the product does not have."""
    unknown = [
        name
        for name in _PYTHON.findall(code)
        if not _NO_PYTHON.match(name) and not _is_python(name)
    ]
    for name, field in _OF_C.findall(code):
        whole = f"{name}.{field}" if field else name
        if name not in _NO_C and whole not in _declared():
            unknown.append(whole)
    unknown += [
        name
        for name in _CAPITAL.findall(code)
        if name not in _declared() | _variables()
    ]
    unknown += [
        f"{name}.{attribute}"
        for name, attribute in _ATTRIBUTE.findall(code)
        if name in _OBJECTS and not _has(name, attribute)
    ]
    return unknown


@pytest.mark.parametrize("page", pages())
def test_names_are_those_of_the_product(page: str) -> None:
    assert not [name for code in _codes(page) for name in _unknown(code)]


@pytest.mark.parametrize(
    "code",
    [
        "kvswap.swap_all()",
        "kvswap.testing.cuda_driver.CudaDrive",
        "kvswap_sim.Simulator.fails",
        "kvswap_swap_all",
        "kvswap_options.speed",
        "KVSWAP_ENGIN=loop",
        "KVSWAP_FLAG_STRICTLY",
        "error.indexes",
        "result.pageables",
    ],
)
def test_a_wrong_name_is_found(code: str) -> None:
    assert len(_unknown(code)) == 1


def test_names_are_looked_at() -> None:
    codes = [code for page in pages() for code in _codes(page)]
    for pattern, least in ((_PYTHON, 50), (_OF_C, 20), (_CAPITAL, 60)):
        assert sum(len(pattern.findall(code)) for code in codes) > least


def _terms() -> list[str]:
    """The glossary's words, in order; a row may have several."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    assert rows[0] == "word"
    return rows[1:]


def test_glossary_has_each_term_once_and_in_order() -> None:
    rows = [row.lower() for row in _terms()]
    assert rows == sorted(rows)
    words = [word for row in rows for word in row.split(", ")]
    assert len(words) == len(set(words))


def test_terms_of_the_concepts_are_in_the_glossary() -> None:
    text = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    terms = set(re.findall(r"\*\*([\w ]+)\*\*", text))
    assert {"block", "block table", "region", "ticket"} <= terms
    words = {word for row in _terms() for word in row.lower().split(", ")}
    # In the text they also stand in the plural.
    missing = {
        term
        for term in terms
        if term not in words and term.removesuffix("s") not in words
    }
    assert not missing
