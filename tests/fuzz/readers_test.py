"""Every source that reads files or variables is in docs/testing.md, with what tries it."""

from __future__ import annotations

import re
from pathlib import Path

# Of the source tree, whose link this file is.
_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "testing.md"
_HEADING = "### What is read\n"
_FOLDERS = ("csrc/", "py/", "toolchains/", "tools/")

_C = r"getenv\(|\bfopen\(|\bifstream\b|(?<![.\w>])open\(|\bdlopen\(|\breadlink\("
_READS = {
    ".bzl": r"repository_ctx\.(read|os\.environ)\b|\bgetenv\(",
    ".c": _C,
    ".cc": _C,
    ".h": _C,
    ".py": (
        r"\bos\.(environ|getenv)\b|(?<![.\w])open\(|\.open\(|\.read_(text|bytes)\(|"
        r"\bsystem\.(read|names|begins_with|environment)\b|\bjson\.loads?\(|\bZipFile\("
    ),
}


def _readers() -> set[str]:
    return {
        str(path.relative_to(_ROOT))
        for folder in _FOLDERS
        for path in (_ROOT / folder).rglob("*")
        if path.suffix in _READS
        and path.is_file()
        and re.search(_READS[path.suffix], path.read_text(encoding="utf-8"))
    }


def _section() -> str:
    text = _PAGE.read_text(encoding="utf-8")
    return text.partition(_HEADING)[2].partition("\n## ")[0]


def _names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def _is_named(reader: str, names: set[str]) -> bool:
    """By itself, or by a folder that it is in."""
    return reader in names or any(
        name.endswith("/") and reader.startswith(name) for name in names
    )


def test_every_reader_is_in_the_table() -> None:
    names = set(_names(_section()))
    readers = _readers()
    assert len(readers) > 40
    assert [each for each in sorted(readers) if not _is_named(each, names)] == []


def test_everything_in_the_table_exists() -> None:
    section = _section()
    files = [each for each in _names(section) if each.startswith(_FOLDERS)]
    targets = [each for each in _names(section) if each.startswith("//")]
    for file in files:
        assert (_ROOT / file).exists(), file
    for target in targets:
        package, _, name = target[2:].partition(":")
        assert list((_ROOT / package).glob(f"{name}.*")), target
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 8
    for row in rows:
        assert "`//" in row.rstrip(" |").rpartition("|")[2], row


def test_a_reader_is_noticed() -> None:
    """A control: what the patterns are to find, and what not."""
    for text in ("std::fopen(path", "secure_getenv(x)", " open(path, O_RDONLY"):
        assert re.search(_READS[".cc"], text), text
    for text in ("os.environ[", "with open(a)", "path.read_text()", "json.load(f)"):
        assert re.search(_READS[".py"], text), text
    assert not re.search(_READS[".py"], "terminal = reopen(stream)")
