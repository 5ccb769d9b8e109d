"""The public Python API, read from the sources.

Not from the objects: what `inspect` makes of annotations differs between versions of
Python. The extension module's sources are its stub, which a test of its own compares.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.stability.committed_list import Entries
from tests.stability.packages import folder_of

# A module without __all__ makes every name public that it defines without an underscore.
PUBLIC_MODULES = (
    "kvswap",
    "kvswap.argument_types",
    "kvswap.compat.vllm",
    "kvswap.testing.cuda_driver",
    "kvswap.torch_ops",
    "kvswap_sim",
)

_ROOT = folder_of("kvswap").parent

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef | ast.AnnAssign | ast.Assign


def _parse(module: str) -> ast.Module:
    folder = _ROOT / module.replace(".", "/")
    for path in (
        folder / "__init__.py",
        folder.with_suffix(".py"),
        folder.with_suffix(".pyi"),
    ):
        if path.is_file():
            return ast.parse(path.read_text(encoding="utf-8"))
    raise FileNotFoundError(f"{module}: neither a module nor a stub in {_ROOT}")


def _assigned(node: ast.stmt) -> str | None:
    target: ast.expr
    if isinstance(node, ast.AnnAssign):
        target = node.target
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _definitions(body: list[ast.stmt]) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            name = _assigned(node)
            if name is not None:
                found[name] = node
    return found


def public_names(module: str) -> list[str]:
    """The names of a module that are promised."""
    definitions = _definitions(_parse(module).body)
    names = definitions.get("__all__")
    if isinstance(names, ast.Assign):
        return [str(name) for name in ast.literal_eval(names.value)]
    return [name for name in definitions if not name.startswith("_")]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those tried at import among them."""
    for node in body:
        if isinstance(node, ast.Try):
            yield from _statements(node.body)
        else:
            yield node


def _find(module: str, name: str) -> tuple[str, Definition]:
    """Where a name is defined, through imports."""
    tree = _parse(module)
    definition = _definitions(tree.body).get(name)
    if definition is not None:
        return module, definition
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find(str(node.module), alias.name)
    raise LookupError(f"{module}: {name} is neither defined nor imported by its name")


def _text(node: ast.expr | None, otherwise: str = "not annotated") -> str:
    return otherwise if node is None else ast.unparse(node)


def _parameters(function: Function, skip_first: bool) -> Iterator[tuple[str, str]]:
    """Names and descriptions; without a default, the description says "required"."""
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    defaults: list[ast.expr | None] = [None] * (
        len(positional) - len(arguments.defaults)
    )
    pairs = list(zip(positional, defaults + list(arguments.defaults), strict=True))
    for position, (argument, default) in enumerate(pairs[skip_first:], 1):
        kind = "positional only" if argument in arguments.posonlyargs else "parameter"
        yield argument.arg, _parameter(f"{kind} {position}", argument, default)
    if arguments.vararg is not None:
        yield (
            f"*{arguments.vararg.arg}",
            f"any number, {_text(arguments.vararg.annotation)}",
        )
    for argument, default in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        yield argument.arg, _parameter("keyword", argument, default)
    if arguments.kwarg is not None:
        yield (
            f"**{arguments.kwarg.arg}",
            f"any number, {_text(arguments.kwarg.annotation)}",
        )


def _parameter(kind: str, argument: ast.arg, default: ast.expr | None) -> str:
    value = "required" if default is None else f"default {ast.unparse(default)}"
    return f"{kind}, {_text(argument.annotation)}, {value}"


def _decorators(node: Function | ast.ClassDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def describe_function(name: str, node: Function, is_method: bool) -> Entries:
    """A function, its parameters and what it returns."""
    decorators = _decorators(node)
    if "property" in decorators:
        return {name: f"property, {_text(node.returns)}"}
    if any(decorator.endswith(".setter") for decorator in decorators):
        return {f"{name} (to set)": f"property, {_text(node.args.args[1].annotation)}"}
    marks = "".join(f"@{decorator} " for decorator in decorators)
    entries = {name: f"{marks}function, returns {_text(node.returns)}"}
    skip_first = is_method and "staticmethod" not in decorators
    for parameter, description in _parameters(node, skip_first):
        entries[f"{name}({parameter})"] = description
    return entries


def _attributes_set(node: Function) -> Iterator[str]:
    """Public attributes that a method gives its object."""
    for statement in ast.walk(node):
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
                and not target.attr.startswith("_")
            ):
                yield target.attr


def _members(name: str, module: str, node: ast.ClassDef) -> Entries:
    entries: Entries = {}
    # What a private base class gives is the class's own.
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_"):
            origin, definition = _find(module, base.id)
            assert isinstance(definition, ast.ClassDef)
            entries.update(_members(name, origin, definition))
    position = 0
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            if member.name == "__init__":
                for own in _attributes_set(member):
                    entries[f"{name}.{own}"] = "attribute"
            is_special = member.name.startswith("__") and member.name.endswith("__")
            if is_special or not member.name.startswith("_"):
                entries.update(describe_function(f"{name}.{member.name}", member, True))
        elif (attribute := _assigned(member)) and not attribute.startswith("_"):
            position += 1
            annotation = (
                member.annotation if isinstance(member, ast.AnnAssign) else None
            )
            value = (
                member.value if isinstance(member, ast.AnnAssign | ast.Assign) else None
            )
            default = "" if value is None else f", default {ast.unparse(value)}"
            entries[f"{name}.{attribute}"] = (
                f"attribute {position}, {_text(annotation)}{default}"
            )
    return entries


def _class(name: str, module: str, node: ast.ClassDef) -> Entries:
    bases = [text for text in map(ast.unparse, node.bases) if not text.startswith("_")]
    marks = "".join(f"@{decorator} " for decorator in _decorators(node))
    return {
        name: f"{marks}class({', '.join(bases)})",
        **_members(name, module, node),
    }


def _variable(name: str, node: ast.AnnAssign | ast.Assign) -> Entries:
    # Numbers and texts stand for themselves; a list of versions, say, may grow.
    value = (
        f", {ast.unparse(node.value)}" if isinstance(node.value, ast.Constant) else ""
    )
    annotation = (
        f", {_text(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
    )
    return {name: f"variable{annotation}{value}"}


def describe(module: str) -> Entries:
    """A module's public names, their parameters and members."""
    entries: Entries = {}
    for name in public_names(module):
        origin, definition = _find(module, name)
        public = f"{module}.{name}"
        if isinstance(definition, ast.ClassDef):
            entries.update(_class(public, origin, definition))
        elif isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
            entries.update(describe_function(public, definition, False))
        else:
            entries.update(_variable(public, definition))
    return entries


def collect() -> Entries:
    """All public modules."""
    entries: Entries = {}
    for module in PUBLIC_MODULES:
        entries.update(describe(module))
    return entries


def rule(before: Entries, now: Entries) -> dict[str, str]:
    """A parameter that comes to a function of old must have a default."""
    return {
        name: "calls of today do not pass it: give it a default"
        for name in now.keys() - before.keys()
        if name.endswith(")")
        and name.partition("(")[0] in before
        and now[name].endswith(", required")
    }
