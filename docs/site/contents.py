"""The site's table of contents.

It is no part of docs/index.md, which stays plain Markdown. Pages that are not there are
left out, and pages that no list names come last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT_PAGE = "docs/index"

_SECTIONS = {
    "Start": ["Read me first <../README>", "concepts", "demo", "../examples/README"],
    "Using it": [
        "python",
        "pools",
        "connector",
        "embedding",
        "ordering",
        "engines",
        "observability",
        "c",
        "versions",
    ],
    "When something is wrong": [
        "troubleshooting",
        "known_failures",
        "doctor",
        "glossary",
    ],
    "Measuring": ["benchmarking", "benchmarks"],
    "Building": ["bazel", "bazel_on_debian", "adding_a_toolkit"],
    "Working on it": [
        "contributing",
        "testing",
        "reliability",
        "simulated_driver",
        "releasing",
        "../CHANGELOG",
        "../SECURITY",
    ],
    "Reference": [
        "reference/python",
        "reference/torch",
        "reference/sim",
        "reference/c",
    ],
}


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(
        ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
    )


def _add_contents(app: Any, page: str, source: list[str]) -> None:
    if page != ROOT_PAGE:
        return
    folder = Path(app.srcdir, ROOT_PAGE).parent
    there = {
        path.relative_to(folder).with_suffix("").as_posix()
        for pattern in ("*.md", "reference/*.rst")
        for path in folder.glob(pattern)
    }
    listed = {name for names in _SECTIONS.values() for name in names}
    sections = {
        caption: [
            name
            for name in names
            if "<" in name or name in there or (folder / f"{name}.md").exists()
        ]
        for caption, names in _SECTIONS.items()
    }
    sections["More"] = sorted(there - listed - {"index"})
    source[0] += "".join(
        _toctree(caption, names) for caption, names in sections.items() if names
    )


def connect(app: Any) -> None:
    """Adds it to the home page."""
    app.connect("source-read", _add_contents)
