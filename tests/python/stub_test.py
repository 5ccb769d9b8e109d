"""_core.pyi and the module say the same."""

from __future__ import annotations

import ast
import inspect
import pathlib
from typing import Any

import pytest

import kvswap
from kvswap import _core

STUB = ast.parse(
    (pathlib.Path(kvswap.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
)


def declared(kind: type[ast.FunctionDef | ast.ClassDef]) -> dict[str, Any]:
    """The stub's public definitions of a kind, by name."""
    return {
        node.name: node
        for node in STUB.body
        if isinstance(node, kind) and not node.name.startswith("_")
    }


def variables() -> set[str]:
    """The stub's annotated names."""
    return {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


FUNCTIONS = declared(ast.FunctionDef)
CLASSES = declared(ast.ClassDef)


def test_names() -> None:
    public = {
        name
        for name in vars(_core)
        if not name.startswith("_") or name == "__version__"
    }
    assert public == FUNCTIONS.keys() | CLASSES.keys() | variables()


def test_private_names() -> None:
    """What kvswap's own modules use is declared for mypy, member by member."""
    private = {
        node.name: node
        for node in STUB.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.name.startswith("_")
    }
    assert private.keys() == {
        name
        for name in vars(_core)
        if name.startswith("_") and not name.startswith("__")
    }
    for name, node in private.items():
        for member in getattr(node, "body", []):
            if isinstance(member, ast.FunctionDef) and isinstance(node, ast.ClassDef):
                assert hasattr(getattr(_core, name), member.name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters(name: str) -> None:
    """Names, order, kinds and defaults."""
    arguments = FUNCTIONS[name].args
    signature = inspect.signature(getattr(_core, name))
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    keyword_only = {
        parameter.name: parameter.default
        for parameter in signature.parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert positional == [argument.arg for argument in arguments.args]
    assert arguments.defaults == []
    assert keyword_only == {
        argument.arg: ast.literal_eval(default)
        for argument, default in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
    }
    assert len(signature.parameters) == len(positional) + len(keyword_only)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings(name: str) -> None:
    """Every parameter is explained, and CPython has taken the signature out."""
    documentation = getattr(_core, name).__doc__
    assert not documentation.startswith(name)
    if name == "swap_blocks_batch":
        arguments = FUNCTIONS[name].args
        for argument in arguments.args + arguments.kwonlyargs:
            assert f"\n    {argument.arg}: " in documentation


@pytest.mark.parametrize("name", CLASSES)
def test_members(name: str) -> None:
    stub = {
        node.name: node
        for node in CLASSES[name].body
        if isinstance(node, ast.FunctionDef)
    }
    properties = {
        member
        for member, value in vars(getattr(_core, name)).items()
        if isinstance(value, property)
    }
    assert properties == {
        member
        for member, node in stub.items()
        if any(getattr(item, "id", "") == "property" for item in node.decorator_list)
    }
    for member in properties:
        assert getattr(_core, name).__dict__[member].__doc__


def test_public_names() -> None:
    assert sorted(kvswap.__all__) == kvswap.__all__
    for name in kvswap.__all__:
        assert hasattr(kvswap, name)
    assert FUNCTIONS.keys() | CLASSES.keys() <= set(kvswap.__all__)


def test_types_are_shipped() -> None:
    assert (pathlib.Path(kvswap.__file__).parent / "py.typed").is_file()
