"""Links from pages to files of the source tree.

On a code host they lead to the file. The site has the files that //docs/site:site lists,
and for others the link's text alone. That the files exist is what the check `links` of
tools/lint.py looks at.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?P<target>[^)#:\s]+)\)")


def _add_text(app: Any, page: str, source: list[str]) -> None:
    tree = Path(app.srcdir)

    def mended(link: re.Match[str]) -> str:
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(page), link["target"])
        )
        # A page that is missing is a mistake, which Sphinx then tells.
        is_page = target.startswith("docs/") and target.endswith((".md", ".rst"))
        return link[0] if is_page or (tree / target).is_file() else link["text"]

    source[0] = _LINK.sub(mended, source[0])


def connect(app: Any) -> None:
    """Looks at each page before it is parsed."""
    app.connect("source-read", _add_text)
