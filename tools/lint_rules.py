"""Rules of our own for texts, Markdown links and lock files.

Each gets the tree, the file's name and its text, and answers with lines and what is
wrong there.
"""

from __future__ import annotations

import json
import posixpath
import re
from fnmatch import fnmatch
from urllib.parse import unquote

from lint_parts import Tree

# Where a tab is syntax.
_TABS_MEAN_SOMETHING = ("*.mk", "*.tsv", "Makefile")


def text_findings(_tree: Tree, name: str, text: str) -> list[tuple[int, str]]:
    """White space that nobody sees, and how the file ends."""
    tabs_allowed = any(
        fnmatch(posixpath.basename(name), pattern) for pattern in _TABS_MEAN_SOMETHING
    )
    findings = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line != line.rstrip():
            findings.append((number, "white space at the end of the line"))
        if "\t" in line.rstrip() and not tabs_allowed:
            findings.append((number, "a tab"))
    if text and lines[-1]:
        findings.append((len(lines), "no newline at the end of the file"))
    elif text and not lines[-2].strip():
        findings.append((len(lines) - 1, "an empty line at the end of the file"))
    return findings


def mended_text(text: str) -> str:
    """The text without invisible white space, and with one newline at its end."""
    lines = [line.rstrip() for line in text.split("\n")]
    body = "\n".join(lines).rstrip("\n")
    return f"{body}\n" if body else ""


_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+).*?(?:^ {0,3}(?P=fence)|\Z)|(?P<tick>`+)[^`]+(?P=tick)",
    re.DOTALL | re.MULTILINE,
)
# [text](target "title"), and [name]: target
_LINK = re.compile(
    r"\]\(\s*<?(?P<inline>[^)>\s]+)|^ {0,3}\[[^\]]+\]:\s*<?(?P<named>[^>\s]+)", re.M
)
_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)


def link_findings(tree: Tree, name: str, text: str) -> list[tuple[int, str]]:
    """Relative links to what is no source."""
    targets = set(tree.names)
    for source in tree.names:
        while source := posixpath.dirname(source):
            targets.add(source)
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    findings = []
    for link in _LINK.finditer(prose):
        target = link["inline"] or link["named"]
        if _OUTSIDE.match(target):
            continue
        path = unquote(re.split(r"[?#]", target)[0])
        folder = "" if path.startswith("/") else posixpath.dirname(name)
        path = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
        if path != "." and path not in targets:
            line = prose.count("\n", 0, link.start()) + 1
            findings.append((line, f"link to {target}, which is no source"))
    return findings


def lock_findings(_tree: Tree, name: str, text: str) -> list[tuple[int, str]]:
    """Entries without a hash, of pip's requirements and of npm's package-lock.json."""
    if name.endswith(".json"):
        return _npm_findings(text)
    return _pip_findings(text)


def _pip_findings(text: str) -> list[tuple[int, str]]:
    findings = []
    entries = 0
    # A backslash at the end of a line joins it with the next one.
    for entry in re.finditer(r"(?:[^\n]*\\\n)*[^\n]+", text):
        requirement = entry[0].strip()
        if not requirement or requirement.startswith("#"):
            continue
        entries += 1
        line = text.count("\n", 0, entry.start()) + 1
        what = re.split(r"[\s;\\]", requirement)[0]
        if "==" not in requirement:
            findings.append((line, f"{what} is not pinned to a version by =="))
        if "--hash=sha256:" not in requirement:
            findings.append((line, f"{what} has no --hash=sha256:"))
    return findings if entries else [(1, "nothing is locked")]


def _npm_findings(text: str) -> list[tuple[int, str]]:
    try:
        packages = json.loads(text)["packages"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return [(1, "no package-lock.json of npm 7 or newer")]
    findings = []
    for key, package in packages.items():
        # The empty name is the project itself.
        if key and not package.get("integrity", "").startswith("sha512-"):
            line = text.count("\n", 0, text.find(json.dumps(key))) + 1
            findings.append((line, f"{key} has no sha512 integrity"))
        if "resolved" in package:
            line = text.count("\n", 0, text.find(json.dumps(package["resolved"]))) + 1
            findings.append((line, f'{key} names a host; leave out "resolved"'))
    return findings if len(packages) > 1 else [(1, "nothing is locked")]
