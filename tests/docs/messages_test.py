"""The messages on the page of troubles are those that kvswap says."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

_PAGE = "docs/troubleshooting.md"
# What other programs say, of which we have no source; and code that is no message.
_OTHERS = re.compile(
    r"GLIBC|version `KVSWAP|undefined symbol|cannot open shared|too few arguments"
    r"|insufficient for CUDA|^CUDA_|^[A-Z_0-9]+$|^-|^libcuda|^cuMemcpy|KVSWAP_LIBCUDA"
)
# Lines of tables whose first column is a message.
_ROW = re.compile(r"^\| (?P<first>(?:`|``)[^|]*?) \|", re.MULTILINE)
_CODE = re.compile(r"(`+)(.+?)\1")


def _said() -> str:
    """All texts in the sources, with neighbouring literals joined."""
    sources = [
        path
        for pattern in ("csrc/**/*.cc", "csrc/**/*.h", "py/**/*.py")
        for path in ROOT.glob(pattern)
    ]
    assert len(sources) > 100
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    return re.sub(r'"\s+f?"', "", text).replace('\\"', '"')


def _messages() -> list[str]:
    text = (ROOT / _PAGE).read_text(encoding="utf-8")
    return [
        code
        for row in _ROW.finditer(text)
        for _, code in _CODE.findall(row["first"])
        if not _OTHERS.search(code)
    ]


def test_messages_are_in_the_sources() -> None:
    said = _said()
    messages = _messages()
    assert len(messages) > 50
    wrong = [
        message
        for message in messages
        for piece in message.split("…")
        if piece.strip(" :,;[](){}'\"") and piece.strip(" ,'\"[]()") not in said
    ]
    assert not wrong, f"{_PAGE} has messages that no source says: {wrong}"
