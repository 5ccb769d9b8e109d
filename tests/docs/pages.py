"""The pages, and the fenced blocks of code in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sybil.document import Document
from sybil.example import Example
from sybil.parsers.markdown import CodeBlockParser

# Bazel starts tests at the top of the tree; plain pytest may be started elsewhere.
ROOT = Path() if Path("README.md").exists() else Path(__file__).resolve().parents[2]


def pages() -> list[str]:
    """README.md and all pages of docs, as paths from the top of the tree."""
    return [
        "README.md",
        *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
    ]


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, and its text."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, *languages: str) -> list[Block]:
    """The blocks of a page that are in one of these languages."""
    found: list[Block] = []

    def note(example: Example) -> None:
        found.append(Block(page, example.line, str(example.parsed)))

    document = Document.parse(
        str(ROOT / page),
        *(CodeBlockParser(language, note) for language in languages),
    )
    for example in document.examples():
        example.evaluate()
    return found


def all_blocks(*languages: str) -> list[Block]:
    """Those of all pages."""
    return [block for page in pages() for block in blocks(page, *languages)]
