"""A rule for Starlark: whatever is fetched, its content is known beforehand."""

from __future__ import annotations

import ast

from lint_parts import Tree

# Functions and rules that fetch a file, and what holds the hash of it.
_HASH_ARGUMENTS = {
    "download": ("integrity", "sha256"),
    "download_and_extract": ("integrity", "sha256"),
    "git_repository": ("commit",),
    "http_archive": ("integrity", "sha256"),
    "http_file": ("integrity", "sha256"),
    "http_jar": ("integrity", "sha256"),
    "new_git_repository": ("commit",),
}

# A command line is a list; a list that holds the first of these fetches with the other.
_HASH_OPTIONS = {
    "pip": "--require-hashes",
    # Takes what package-lock.json names, and only that.
    "npm": "ci",
}

# Arguments of pip that may do without hashes; SECURITY.md says why.
_NOT_LOCKED = {"torch_requirements"}


def download_findings(_tree: Tree, _name: str, text: str) -> list[tuple[int, str]]:
    """Calls and command lines that would take whatever they are given."""
    try:
        # What Starlark has of syntax, Python has too.
        module = ast.parse(text)
    except SyntaxError:
        return []  # buildifier says so
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    return [
        *_unhashed_calls(calls),
        *_unhashed_commands(module, calls),
    ]


def _unhashed_calls(calls: list[ast.Call]) -> list[tuple[int, str]]:
    findings = []
    for call in calls:
        names = [_called(call)]
        # maybe(http_archive, name = …)
        names += [each.id for each in call.args if isinstance(each, ast.Name)]
        given = {keyword.arg for keyword in call.keywords}
        for name in names:
            accepted = _HASH_ARGUMENTS.get(name, ())
            if accepted and not given.intersection(accepted):
                wanted = " or ".join(accepted)
                findings.append((call.lineno, f"{name} without {wanted}"))
    return findings


def _unhashed_commands(
    module: ast.Module, calls: list[ast.Call]
) -> list[tuple[int, str]]:
    findings = []
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        for command in ast.walk(function):
            if not isinstance(command, ast.List):
                continue
            words = _words(command)
            for program, option in _HASH_OPTIONS.items():
                if program not in words or option in words:
                    continue
                # The option may come from the function's callers: all of them.
                callers = [call for call in calls if _called(call) == function.name]
                unlocked = [call for call in callers if not _is_locked(call, option)]
                if unlocked or not callers:
                    line = unlocked[0].lineno if unlocked else command.lineno
                    findings.append((line, f"{program} without {option}"))
    return findings


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _words(command: ast.List) -> set[str]:
    """The words of a command line; a variable stands for the program of its name."""
    return {
        str(element.value) if isinstance(element, ast.Constant) else element.id
        for element in command.elts
        if isinstance(element, (ast.Constant, ast.Name))
    }


def _is_locked(call: ast.Call, option: str) -> bool:
    nodes = [node for argument in call.args for node in ast.walk(argument)]
    return any(
        (isinstance(node, ast.Constant) and node.value == option)
        or (isinstance(node, ast.Name) and node.id in _NOT_LOCKED)
        for node in nodes
    )
