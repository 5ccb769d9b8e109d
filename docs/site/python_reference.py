"""The reference of the Python packages, by autodoc: what our docstrings need of it."""

from __future__ import annotations

import re
from typing import Any

# Where public names are, whatever file they are written in.
_PUBLIC = (
    "kvswap",
    "kvswap.argument_types",
    "kvswap_sim",
    "kvswap.testing.cuda_driver",
)

_saved: dict[str, list[str]] = {}


def _before_napoleon(
    _app: Any, what: str, name: str, described: Any, _options: Any, lines: list[str]
) -> None:
    if what == "exception":
        bases = ", ".join(f"`{base.__name__}`" for base in described.__bases__)
        lines[:0] = [f"Derived from {bases}.", ""]
    # `Region`s: markup has to end before the letter.
    lines[:] = [re.sub(r"(?<!`)(`\w+`)(?=\w)", r"\1\\ ", line) for line in lines]
    if what == "property":
        _saved[name] = list(lines)


def _after_napoleon(
    _app: Any, what: str, name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    # napoleon takes what stands before a colon for the type; the type hint has that.
    if what == "property":
        lines[:] = _saved.pop(name)


def _without_constructor(
    _app: Any, what: str, _name: str, _object: Any, *_more: Any
) -> tuple[str, None] | None:
    # Nobody but kvswap makes its errors.
    return ("", None) if what == "exception" else None


def _find(app: Any, environment: Any, node: Any, content: Any) -> Any:
    """A name that is written without its package, or with the file it is defined in."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    domain = environment.get_domain("py")
    for package in _PUBLIC:
        full = f"{package}.{target.rpartition('.')[2]}"
        if full in domain.objects:
            return domain.resolve_xref(
                environment, node["refdoc"], app.builder, "obj", full, node, content
            )
    # A sentence where napoleon expects an error; a parameter between backticks.
    if " " in target or (node["reftype"] == "obj" and "." not in target):
        return content
    return None


def connect(app: Any) -> None:
    """Prepares docstrings and finds names."""
    app.connect("autodoc-process-docstring", _before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    app.connect("autodoc-process-signature", _without_constructor)
    app.connect("missing-reference", _find)
