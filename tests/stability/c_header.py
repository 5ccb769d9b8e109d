"""What a C header of kvswap declares.

Reads our own headers only, and strictly: a declaration that it does not understand is an
error, so that none can be overlooked.
"""

from __future__ import annotations

import dataclasses
import re

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"#define (\w+)(\([^)]*\))?[ \t]*(.*)")
_EXTERN_C = re.compile(r'extern "C" \{(.*)\}\s*$', re.DOTALL)
_TYPE = re.compile(r"typedef (struct|enum) (\w+) \{([^{}]*)\} (\w+)\s*;")
_OPAQUE = re.compile(r"typedef struct (\w+) (\w+)\s*;")
_CALLBACK = re.compile(r"typedef ([^;(){}]+?)\(\*(\w+)\)\(([^;(){}]*)\)\s*;")
_FUNCTION = re.compile(r"(\w+_API) ([^;(){}]+?)\b(\w+)\(([^;(){}]*)\)\s*;")
_FIELD = re.compile(r"([\w *]+?)\b(\w+)((?:\[\w+\])?)")
_ENUMERATOR = re.compile(r"(\w+) = (\w+)")
_PARAMETER = re.compile(r"([\w *]+?)\b(\w+)")


@dataclasses.dataclass(frozen=True)
class Field:
    """A member of a structure, or a parameter."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Function:
    """A function that is exported, or a type of those that callers pass."""

    name: str
    result: str
    parameters: tuple[Field, ...]

    def __str__(self) -> str:
        types = ", ".join(parameter.type for parameter in self.parameters) or "void"
        return f"{self.result} ({types})"


@dataclasses.dataclass(frozen=True)
class Header:
    """All that a header declares, by name."""

    structures: dict[str, tuple[Field, ...]]
    enumerations: dict[str, tuple[str, ...]]
    functions: dict[str, Function]
    macros: dict[str, str]
    opaque: tuple[str, ...]  # structures that callers know by pointers only
    callbacks: dict[str, Function]  # types of pointers to functions


def _spaced(text: str) -> str:
    """A type in one way of writing: `const void* const*`."""
    return re.sub(r" ?\*", "*", " ".join(text.split()))


def _pieces(text: str, separator: str) -> list[str]:
    return [" ".join(piece.split()) for piece in text.split(separator) if piece.strip()]


def _matched(pattern: re.Pattern[str], text: str, what: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"c_header.py cannot read this {what}: {text!r}")
    return match


def _field(text: str) -> Field:
    match = _matched(_FIELD, text, "field")
    return Field(match[2], _spaced(match[1]) + match[3])


def _function(result: str, name: str, declared: str) -> Function:
    parameters = []
    if declared.strip() != "void":
        for piece in _pieces(declared, ","):
            parameter = _matched(_PARAMETER, piece, "parameter")
            parameters.append(Field(parameter[2], _spaced(parameter[1])))
    return Function(name, _spaced(result), tuple(parameters))


def _macros(text: str) -> dict[str, str]:
    # Not what the header defines for itself: its guard, and the marks of its functions.
    return {
        match[1]: " ".join(match[3].split())
        for match in map(_DEFINE.match, text.split("\n"))
        if match is not None and not match[1].endswith(("_H_", "_API"))
    }


def parse(source: str) -> Header:
    """Reads the text of a header.

    Raises:
        ValueError: there is something in it that this module does not understand.
    """
    text = _COMMENT.sub(" ", source).replace("\\\n", " ")
    macros = _macros(text)
    text = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    block = _EXTERN_C.search(text)
    if block is None:
        raise ValueError('c_header.py: no block `extern "C" { ... }`')
    rest = text[: block.start()] + block[1]

    structures: dict[str, tuple[Field, ...]] = {}
    enumerations: dict[str, tuple[str, ...]] = {}
    for kind, tag, body, name in _TYPE.findall(rest):
        if tag != name:
            raise ValueError(f"c_header.py: {kind} {tag} is called {name}")
        if kind == "struct":
            structures[name] = tuple(map(_field, _pieces(body, ";")))
        else:
            enumerations[name] = tuple(
                _matched(_ENUMERATOR, piece, "enumerator")[1]
                for piece in _pieces(body, ",")
            )
    rest = _TYPE.sub(" ", rest)
    opaque = []
    for tag, name in _OPAQUE.findall(rest):
        if tag != name:
            raise ValueError(f"c_header.py: struct {tag} is called {name}")
        opaque.append(name)
    rest = _OPAQUE.sub(" ", rest)
    callbacks = [_function(*match.groups()) for match in _CALLBACK.finditer(rest)]
    rest = _CALLBACK.sub(" ", rest)
    functions = [_function(*match.groups()[1:]) for match in _FUNCTION.finditer(rest)]
    rest = _FUNCTION.sub(" ", rest).strip()
    if rest:
        raise ValueError(f"c_header.py cannot read this declaration: {rest[:200]!r}")
    return Header(
        structures,
        enumerations,
        {function.name: function for function in functions},
        macros,
        tuple(opaque),
        {callback.name: callback for callback in callbacks},
    )
