"""The comments of kvswap.h, in the form that hawkmoth reads.

The header explains itself by plain comments, before a declaration or at its end. hawkmoth
wants a comment that begins with two asterisks before each. What has none gets an empty
one, so that nothing is left out.
"""

from __future__ import annotations

import re

# int32_t kind; /* what it is */
_AT_END = re.compile(
    r"^(?P<indent> *)(?P<code>[^\s/*#][^\n/]*?) +(?P<comment>/\*(?:[^*]|\*(?!/))*\*/)$",
    re.MULTILINE,
)
_NEIGHBOURS = re.compile(r"(?<=[^-\s])\s*\*/\n( *)/\*[ *]*")
_BANNER = re.compile(r"/\* -+ (?P<title>[^-]+) -+\s*\*/")
_DECLARATION = re.compile(
    r"^(KVSWAP_API |typedef |#define KVSWAP_(?!H_|API)|  (?:const )?\w[\w ]*[ *]+\w+(\[\w+\])?;"
    r"|  KVSWAP_\w+ = )"
)


def with_documentation_comments(header: str) -> str:
    """The same declarations, each with a comment before it."""
    # An enumerator whose value stands in the next line.
    text = re.sub(r"=\n +", "= ", header)
    text = _AT_END.sub(r"\g<indent>\g<comment>\n\g<indent>\g<code>", text)
    text = _NEIGHBOURS.sub(r"\n\1 * ", text)
    text = _BANNER.sub(_heading, text)
    lines = text.split("\n")
    end = lines.index(" */") + 1
    first = [*_documentation("\n".join(lines[:end]), ""), "", *_APART]
    return "\n".join(first + list(_documented_lines(lines[end:])))


# An empty comment keeps a text apart from the declaration that follows.
_APART = ["/**/"]


def _heading(banner: re.Match[str]) -> str:
    title = banner["title"].strip()
    return "\n".join(
        ["/**", f" * {title}", f" * {'-' * len(title)}", " */", "", *_APART]
    )


def _documented_lines(lines: list[str]) -> list[str]:
    result: list[str] = []
    for line in lines:
        if _DECLARATION.match(line):
            indent = line[: len(line) - len(line.lstrip())]
            result += _documentation(_last_comment(result), indent)
        result.append(line)
    return result


def _last_comment(lines: list[str]) -> str:
    """Takes the comment off the end of the lines; empty where there is none."""
    if not lines or not lines[-1].endswith("*/") or lines[-1:] == _APART:
        return ""
    comment: list[str] = []
    while "/*" not in "".join(comment):
        comment.insert(0, lines.pop())
    return "\n".join(comment)


def _documentation(comment: str, indent: str) -> list[str]:
    """A comment with its marks on lines of their own."""
    text = re.sub(r"^\s*/\*+ ?|\s*\*/$", "", comment)
    if not text:
        return [f"{indent}/** */"]
    lines = [re.sub(r"^ *\* ?", "", line) for line in text.split("\n")]
    return [
        f"{indent}/**",
        *(f"{indent} * {line}".rstrip() for line in lines),
        f"{indent} */",
    ]
