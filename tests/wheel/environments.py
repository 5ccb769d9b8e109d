"""Fresh Python environments with the built wheels in them, without a network."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_TIMEOUT_SECONDS = 300


class Environment:
    """A virtual environment.

    Attributes:
        python: its interpreter.
        folder: where it is.
    """

    def __init__(self, folder: Path, interpreter: str = sys.executable) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        # Its pip is the one of the tests' Python: `pip --python`.
        subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
        self.site_packages = Path(
            self.run(
                "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
            ).strip()
        )

    def run(self, *arguments: str | Path, check: bool = True) -> str:
        """Runs its interpreter on nothing but the environment; what it printed."""
        return self._run([self.python, "-I", *arguments], check)

    def run_script(self, name: str, *arguments: str, check: bool = True) -> str:
        """Runs a program that pip has installed; what it printed."""
        return self._run([self.folder / "bin" / name, *arguments], check)

    def _run(self, command: list[str | Path], check: bool) -> str:
        outcome = subprocess.run(
            command,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        output = outcome.stdout + outcome.stderr
        if check:
            assert outcome.returncode == 0, output
        return output

    def pip(self, *arguments: str | Path, check: bool = True) -> str:
        """Runs pip on it; what it printed."""
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--isolated"]
        pip += ["--python", self.python]
        outcome = subprocess.run(
            [*pip, *arguments, "--disable-pip-version-check", "--no-cache-dir"],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        output = outcome.stdout + outcome.stderr
        if check:
            assert outcome.returncode == 0, output
        return output

    def install(self, *wheels: Path) -> None:
        """Installs wheels; what they need has to be there."""
        self.pip("install", "--no-index", *wheels)

    def copy_distribution(self, name: str) -> None:
        """Takes over an installed distribution of this Python, as a wheel would bring it."""
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or []:
            if ".." in file.parts or file.suffix == ".pyc":
                continue
            target = self.site_packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(distribution.locate_file(file)), target)

    def see_packages_of_this_python(self) -> None:
        """Makes everything importable that this Python has: torch and NumPy."""
        own = sysconfig.get_path("purelib")
        (self.site_packages / "this_python.pth").write_text(own + "\n")
