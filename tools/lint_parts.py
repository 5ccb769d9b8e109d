"""What checks are made of: programs, and rules of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from lint_programs import Programs


@dataclass(frozen=True)
class Tree:
    """A source tree that is checked.

    Attributes:
        root: its top.
        names: its sources, as paths from there.
        programs: what runs programs in it.
    """

    root: Path
    names: Sequence[str]
    programs: Programs


class Part(Protocol):
    """One look at some files of a tree."""

    @property
    def files(self) -> tuple[str, ...]:
        """Patterns of names of the files that it looks at."""

    @property
    def can_fix(self) -> bool:
        """Whether it mends anything by itself."""

    def find(self, tree: Tree, names: Sequence[str]) -> list[str]:
        """What is wrong, each as "file:line: what"."""

    def fix(self, tree: Tree, names: Sequence[str]) -> None:
        """Mends what can be mended."""


@dataclass(frozen=True)
class Program:
    """A program that prints file and line by itself.

    Attributes:
        files: patterns of names of files.
        program: a name that `Programs` knows.
        check: its arguments to check, before the files; it then exits with 0 only if
            nothing is wrong.
        mend: its arguments to mend, or None if it cannot.
    """

    files: tuple[str, ...]
    program: str
    check: tuple[str, ...]
    mend: tuple[str, ...] | None = None

    @property
    def can_fix(self) -> bool:
        return self.mend is not None

    def find(self, tree: Tree, names: Sequence[str]) -> list[str]:
        result = tree.programs.run(self.program, [*self.check, *names])
        if result.returncode == 0:
            return []
        said = (result.stdout + result.stderr).splitlines()
        return said or [f"{self.program} failed: exit status {result.returncode}"]

    def fix(self, tree: Tree, names: Sequence[str]) -> None:
        if self.mend is not None:
            tree.programs.run(self.program, [*self.mend, *names])


@dataclass(frozen=True)
class Rule:
    """A rule of our own for the text of a file.

    Attributes:
        files: patterns of names of files.
        broken: what is wrong in a file: lines, from 1, and what. Gets the tree, the
            file's name and its text.
        mended: the text as it should be, or None where the rule cannot tell.
        exceptions: patterns of paths of files for which the rule does not hold.
    """

    files: tuple[str, ...]
    broken: Callable[[Tree, str, str], list[tuple[int, str]]]
    mended: Callable[[str], str] | None = None
    exceptions: tuple[str, ...] = ()

    @property
    def can_fix(self) -> bool:
        return self.mended is not None

    def find(self, tree: Tree, names: Sequence[str]) -> list[str]:
        findings = []
        for name in names:
            content = (tree.root / name).read_bytes()
            if self._is_exempt(name) or _is_binary(content):
                continue
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError as error:
                line = content.count(b"\n", 0, error.start) + 1
                findings.append(f"{name}:{line}: not UTF-8")
                continue
            findings += [
                f"{name}:{line}: {what}"
                for line, what in sorted(self.broken(tree, name, text))
            ]
        return findings

    def fix(self, tree: Tree, names: Sequence[str]) -> None:
        if self.mended is None:
            return
        for name in names:
            path = tree.root / name
            before = path.read_bytes()
            if self._is_exempt(name) or _is_binary(before):
                continue
            try:
                after = self.mended(before.decode("utf-8")).encode("utf-8")
            except UnicodeDecodeError:
                continue
            if after != before:
                path.write_bytes(after)

    def _is_exempt(self, name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in self.exceptions)


def _is_binary(content: bytes) -> bool:
    """As git tells it."""
    return b"\0" in content[:8000]


@dataclass(frozen=True)
class Buildifier:
    """buildifier. It does not print lines of what is only badly formatted."""

    files: tuple[str, ...]
    can_fix = True

    def find(self, tree: Tree, names: Sequence[str]) -> list[str]:
        arguments = ["-mode=check", "-lint=warn", "-format=json", *names]
        result = tree.programs.run("buildifier", arguments)
        # What cannot be parsed is named here.
        findings = result.stderr.splitlines()
        unformatted = []
        if not result.stdout:
            return findings or [f"buildifier failed: exit status {result.returncode}"]
        for file in json.loads(result.stdout)["files"]:
            if file["valid"] and not file["formatted"]:
                unformatted.append(file["filename"])
            findings += [
                f"{file['filename']}:{warning['start']['line']}: "
                f"{warning['category']}: {' '.join(warning['message'].split())}"
                for warning in file["warnings"]
            ]
        if unformatted:
            findings += self._find_unformatted(tree, unformatted)
        return findings

    def fix(self, tree: Tree, names: Sequence[str]) -> None:
        tree.programs.run("buildifier", ["-mode=fix", "-lint=fix", *names])

    @staticmethod
    def _find_unformatted(tree: Tree, names: Sequence[str]) -> list[str]:
        findings = []
        for name in names:
            result = tree.programs.run(
                "buildifier", ["-mode=diff", "-diff_command=diff -U0", name]
            )
            lines = re.findall(r"^@@ -(\d+)", result.stdout, re.MULTILINE) or ["1"]
            findings += [f"{name}:{line}: not formatted" for line in lines]
        return findings
