"""What the doctor reads of the machine, through one class that tests can replace."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path


def number(text: str | None) -> int | None:
    """What decimal digits stand for; None where there are none, or more than 20."""
    if text and text.isascii() and text.isdigit() and len(text) <= 20:
        return int(text)
    return None


class System:
    """The file system, the environment and the limits of this process.

    Attributes:
        environment: its variables.
        root: the folder that stands for "/".
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = "/",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = Path(root)
        self.environment = dict(os.environ if environment is None else environment)

    def path(self, path: str) -> Path:
        """Where an absolute path lies below the root."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        """A file's text, stripped; None where it cannot be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def begins_with(self, path: str, content: bytes) -> bool:
        """Whether a file begins with these bytes."""
        try:
            with self.path(path).open("rb") as file:
                return file.read(len(content)) == content
        except OSError:
            return False

    def exists(self, path: str) -> bool:
        """Whether there is such a file, folder or device."""
        try:
            return self.path(path).exists()
        except OSError:
            return False

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; none where it cannot be read."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError:
            return []

    def real_path(self, path: str) -> str:
        """A path without symbolic links, as seen from the root."""
        real = os.path.realpath(self.path(path))
        root = os.path.realpath(self.root)
        inside = os.path.relpath(real, root)
        return real if inside.startswith("..") else f"/{inside}"

    def open_problem(self, path: str) -> str | None:
        """Why a device cannot be opened to read and write; None where it can."""
        try:
            os.close(os.open(self.path(path), os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            return error.strerror or str(error)
        return None

    def locked_memory_limit(self) -> int | None:
        """``ulimit -l`` in bytes; None: no limit."""
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        return None if soft == resource.RLIM_INFINITY else soft

    def cpus(self) -> set[int]:
        """The CPUs that this process may run on."""
        return os.sched_getaffinity(0)
