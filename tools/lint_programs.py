"""Programs that check sources: how each is found and run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_IN_BAZEL = "./bazelw run //tools:lint"


class MissingProgram(Exception):
    """A program that a check needs is not there; the text says how to get it."""


@dataclass(frozen=True)
class PythonProgram:
    """A program that is installed in the environment of the Python that runs this.

    Attributes:
        arguments: of the interpreter, to run it.
        modules: what it needs in the environment.
    """

    arguments: tuple[str, ...]
    modules: tuple[str, ...]


PYTHON_PROGRAMS: Mapping[str, PythonProgram] = {
    "clang-format": PythonProgram(
        # The package has no __main__, and its script may not be on the PATH.
        arguments=("-c", "import clang_format; clang_format.clang_format()"),
        modules=("clang_format",),
    ),
    "mypy": PythonProgram(
        arguments=("-m", "mypy"),
        # Without the libraries whose types the sources use, every use is a finding.
        modules=("mypy", "numpy", "pytest"),
    ),
    "ruff": PythonProgram(arguments=("-m", "ruff"), modules=("ruff",)),
}

# Exits with the names of the modules that are not there.
_LOOK_FOR = (
    "import importlib.util, sys; "
    "sys.exit(', '.join(n for n in sys.argv[1:] if not importlib.util.find_spec(n)) or 0)"
)


class Programs:
    """Runs programs in a source tree."""

    def __init__(self, root: Path, buildifier: str) -> None:
        """Args:
        root: the source tree, in which programs start.
        buildifier: a path, or a name on the PATH.
        """
        self._root = root
        # Relative paths are from where this program was started.
        self._buildifier = (
            os.path.abspath(buildifier) if os.sep in buildifier else buildifier
        )
        self._found: dict[str, list[str]] = {}

    def run(
        self, program: str, arguments: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program. Raises MissingProgram where it is not there."""
        if program not in self._found:
            self._found[program] = self._find(program)
        return self._execute([*self._found[program], *arguments])

    def _find(self, program: str) -> list[str]:
        if program in PYTHON_PROGRAMS:
            return self._find_in_environment(PYTHON_PROGRAMS[program])
        return self._find_buildifier()

    def _find_in_environment(self, program: PythonProgram) -> list[str]:
        answer = self._execute([sys.executable, "-c", _LOOK_FOR, *program.modules])
        if answer.returncode != 0:
            raise MissingProgram(
                f"{sys.executable} has no {answer.stderr.strip()}: run {_IN_BAZEL}, or "
                "`pip install -r toolchains/python/requirements.lock` in an environment"
            )
        return [sys.executable, *program.arguments]

    def _find_buildifier(self) -> list[str]:
        try:
            answer = self._execute([self._buildifier, "--version"])
        except OSError as error:
            raise MissingProgram(
                f"{self._buildifier}: {error.strerror}: run {_IN_BAZEL}, or put "
                "buildifier on the PATH"
            ) from None
        if answer.returncode != 0:
            raise MissingProgram(answer.stderr.strip())
        return [self._buildifier]

    def _execute(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        # Neither the modules of whoever started this program nor those of the tree that
        # is checked are to be found by the programs.
        environment = os.environ | {"LC_ALL": "C.UTF-8", "PYTHONSAFEPATH": "1"}
        for name in ("MYPYPATH", "PYTHONPATH"):
            environment.pop(name, None)
        return subprocess.run(
            command,
            check=False,
            cwd=self._root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
