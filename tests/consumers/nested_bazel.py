"""Runs Bazel inside a test, in a copy of a repository that depends on kvswap."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A command that takes longer hangs.
_TIMEOUT_SECONDS = 840

_BAZELRC = """\
# A server that was left behind by a killed test ends soon.
startup --max_idle_secs=60

common --lockfile_mode=off
common --symlink_prefix=/
common --color=no --curses=no --noshow_progress
common --disk_cache={disk_cache}
common --override_module=kvswap={kvswap}
# A checkout below /tmp would be hidden from sandboxed actions.
common --sandbox_add_mount_pair={kvswap}

common:workspace --enable_workspace --noenable_bzlmod
common:workspace --override_repository=kvswap={kvswap}

test --test_output=errors
"""


@dataclass(frozen=True)
class Outcome:
    """How a command of Bazel ended.

    Attributes:
        status: its exit status.
        stdout: what a query answered.
        stderr: what Bazel said.
    """

    status: int
    stdout: str
    stderr: str


def checkout() -> Path:
    """The folder of the sources: tests are local, their files links into it."""
    return Path("bazelw").resolve().parent


def _environment() -> dict[str, str]:
    # Nothing of the outer Bazel: its TEST_ variables would change the nested one.
    names = os.environ["CONSUMERS_ENVIRONMENT"].split()
    return {name: os.environ[name] for name in names if name in os.environ}


def _disk_cache(environment: dict[str, str]) -> Path:
    home = Path(environment.get("HOME", "/nonexistent"))
    caches = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return (
        Path(environment.get("KVSWAP_BAZEL_CACHE") or caches / "kvswap")
        / "consumers-disk-cache"
    )


def _make_writable(remove: Callable[..., Any], path: str, _error: Any) -> None:
    os.chmod(os.path.dirname(path), 0o700)
    if not os.path.islink(path):
        os.chmod(path, 0o700)
    remove(path)


class NestedBazel:
    """Bazel in a copy of ``tests/consumers/NAME``.

    It is the Bazel of the checkout's ``bazelw``, with outputs of its own.

    Attributes:
        folder: the copy.
        scratch: a folder that is removed in the end.
    """

    def __init__(self, consumer: str, scratch: Path) -> None:
        self.scratch = scratch
        self.folder = scratch / consumer
        self._environment = _environment()
        self._mode: list[str] = []
        shutil.copytree(
            checkout() / "tests" / "consumers" / consumer,
            self.folder,
            ignore=shutil.ignore_patterns("bazel-*", "MODULE.bazel.lock"),
        )
        if (self.folder / "WORKSPACE").exists():
            self._mode = ["--config=workspace"]
        (scratch / "bazelrc").write_text(
            _BAZELRC.format(
                disk_cache=_disk_cache(self._environment), kvswap=checkout()
            ),
            encoding="utf-8",
        )

    def run(self, command: str, *arguments: str) -> Outcome:
        """Runs a command of Bazel to its end, however that comes out."""
        process = subprocess.Popen(
            [
                str(checkout() / "bazelw"),
                "--nosystem_rc",
                "--nohome_rc",
                f"--bazelrc={self.scratch / 'bazelrc'}",
                f"--output_user_root={self.scratch / 'outputs'}",
                command,
                *(self._mode if command != "shutdown" else []),
                *arguments,
            ],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=_TIMEOUT_SECONDS)
        except BaseException:
            # Bazel's client passes it on to its server.
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        print(f"$ bazelw {command} {' '.join(arguments)}", stdout, stderr, sep="\n")
        return Outcome(process.returncode, stdout, stderr)

    def succeed(self, command: str, *arguments: str) -> str:
        """Runs a command that has to succeed; what it wrote to stdout."""
        outcome = self.run(command, *arguments)
        assert outcome.status == 0, f"bazel {command} ended with {outcome.status}"
        return outcome.stdout

    def repositories(self) -> set[str]:
        """Names of the external repositories that have been fetched."""
        output_base = self.succeed("info", "output_base").strip()
        # Beside a repository lies a file that says what it was made of.
        return {
            path.name
            for path in Path(output_base, "external").iterdir()
            if not path.name.endswith(".marker")
        }

    def close(self) -> None:
        """Ends the server and removes all that it made."""
        self.run("shutdown")
        shutil.rmtree(self.scratch, onerror=_make_writable)


@contextmanager
def nested_bazel(consumer: str, scratch: Path) -> Iterator[NestedBazel]:
    """A NestedBazel that is closed in any case."""
    # A test that takes too long is sent this signal: time to end the server.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    bazel = NestedBazel(consumer, scratch)
    try:
        yield bazel
    finally:
        bazel.close()
        signal.signal(signal.SIGTERM, previous)
