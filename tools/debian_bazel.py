#!/usr/bin/env python3
"""Provides a modern Bazel on Debian-like machines, from Debian's newer packages.

Nothing is installed and root is not needed: the packages are unpacked into a folder of
their own, the prefix, in the user's cache. `bazelw` calls this program; by hand it is
for looking and for removing.
"""

from __future__ import annotations

import sys

OLDEST_PYTHON = (3, 9)
if sys.version_info < OLDEST_PYTHON:
    sys.exit(
        f"bazelw: python3 is older than {'.'.join(map(str, OLDEST_PYTHON))}: "
        "install a newer python3, or bazelisk, and put it on the PATH"
    )

import argparse
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from debian_bazel_recipe import (
    BAZEL_VERSION,
    MACHINE_KINDS,
    NEEDED_MEGABYTES,
    RECIPE_NUMBER,
    MachineKind,
)
from debian_bazel_report import MEGABYTE, NO_BAZEL, USE_OWN_BAZEL, Problem, Progress

PREFIX_NAME = f"bazel-{BAZEL_VERSION}-{RECIPE_NUMBER}"
DOWNLOADS_SUFFIX = ".downloads"

EPILOGUE = f"""\
The prefix is the folder {PREFIX_NAME} in ~/.cache/kvswap, or in
$XDG_CACHE_HOME/kvswap, or in $KVSWAP_BAZEL_CACHE, where these are set.
Its bin/bazel can be put on a PATH like any other Bazel.
"""

# Fills a prefix. Gets the prefix's folder, a folder for downloads, the lock's file
# descriptor and where to report.
Builder = Callable[[Path, Path, int, Progress], None]


def cache_folder(environment: Mapping[str, str]) -> Path:
    """The folder that holds prefixes, by the user's environment."""
    own = environment.get("KVSWAP_BAZEL_CACHE")
    shared = environment.get("XDG_CACHE_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".cache"
    )
    return Path(own).absolute() if own else Path(shared).absolute() / "kvswap"


class PrefixStore:
    """One prefix in a cache folder: whether it is complete, and who may change it.

    Paths are baked into a prefix, so it is built where it stays. It counts as complete
    once its stamp is there, which is written last; whoever builds or removes holds the
    lock.
    """

    def __init__(self, cache: Path, name: str = PREFIX_NAME) -> None:
        self.prefix = cache / name
        self._cache = cache
        self._downloads = cache / f"{name}{DOWNLOADS_SUFFIX}"
        self._lock = cache / f"{name}.lock"
        self._stamp = self.prefix / "complete"

    def is_complete(self) -> bool:
        """Whether the prefix can be used. One copied here from elsewhere cannot."""
        try:
            return self._stamp.read_text(encoding="utf-8") == str(self.prefix)
        except FileNotFoundError:
            return False

    def ensure(self, build: Builder, progress: Progress) -> None:
        """Builds the prefix unless it is complete."""
        if self.is_complete():
            return
        self._cache.mkdir(parents=True, exist_ok=True)
        with self._locked(progress) as lock:
            # Another process may have built it while this one waited.
            if self.is_complete():
                return
            self._remove_prefix()
            self._remove_leftovers_of_others()
            _check_disk_space(self._cache)
            self._downloads.mkdir(exist_ok=True)
            self.prefix.mkdir()
            build(self.prefix, self._downloads, lock, progress)
            self._stamp.write_text(str(self.prefix), encoding="utf-8")
            shutil.rmtree(self._downloads)

    def remove(self, progress: Progress) -> None:
        """Removes the prefix and what interrupted builds left."""
        if self._cache.is_dir():
            with self._locked(progress):
                self._remove_prefix()
                self._remove_downloads()

    def _remove_prefix(self) -> None:
        # First the stamp: a removal that is interrupted must leave no prefix that looks
        # complete.
        self._stamp.unlink(missing_ok=True)
        if self.prefix.exists():
            shutil.rmtree(self.prefix)

    def _remove_downloads(self) -> None:
        if self._downloads.exists():
            shutil.rmtree(self._downloads)

    def _remove_leftovers_of_others(self) -> None:
        """Removes what interrupted builds of other recipes left.

        This recipe's own downloads stay, and are used again.
        """
        for downloads in self._cache.glob(f"bazel-*{DOWNLOADS_SUFFIX}"):
            other = PrefixStore(self._cache, downloads.name[: -len(DOWNLOADS_SUFFIX)])
            if other.prefix != self.prefix:
                other._remove_if_abandoned()

    def _remove_if_abandoned(self) -> None:
        with self._open_lock() as lock:
            if _try_lock(lock):
                if not self.is_complete():
                    self._remove_prefix()
                self._remove_downloads()

    @contextmanager
    def _locked(self, progress: Progress) -> Iterator[int]:
        with self._open_lock() as lock:
            if not _try_lock(lock):
                progress.step(
                    f"waiting for another process that is at work on {self.prefix}"
                )
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock

    @contextmanager
    def _open_lock(self) -> Iterator[int]:
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            yield lock
        finally:
            os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_disk_space(cache: Path) -> None:
    free_megabytes = shutil.disk_usage(cache).free // MEGABYTE
    if free_megabytes < NEEDED_MEGABYTES:
        raise Problem(
            f"{cache} has {free_megabytes} MB of free space, and making Bazel "
            f"{BAZEL_VERSION} takes {NEEDED_MEGABYTES} MB: "
            "free some, or name another folder by KVSWAP_BAZEL_CACHE"
        )


def machine_kind(name: str) -> MachineKind:
    """The kind of machine that `uname -m` calls `name`."""
    if name not in MACHINE_KINDS:
        served = " and ".join(MACHINE_KINDS)
        raise Problem(
            f"{NO_BAZEL}, and Debian's packages of Bazel {BAZEL_VERSION} are used on "
            f"{served} only, not on {name}: {USE_OWN_BAZEL}"
        )
    return MACHINE_KINDS[name]


def build_prefix(prefix: Path, downloads: Path, lock: int, progress: Progress) -> None:
    """Fills the prefix from the packages of the machine's Debian mirror."""
    # Imported here, so that the look at a complete prefix, which precedes every Bazel
    # command, stays quick.
    import debian_bazel_apt
    import debian_bazel_prefix

    machine = machine_kind(os.uname().machine)
    debian_bazel_apt.check_programs()
    begin = time.monotonic()
    progress.step(
        f"making Bazel {BAZEL_VERSION} from Debian's packages in {prefix}, once; "
        "this takes a minute"
    )
    # Child processes inherit the lock: if this process is killed, the next one waits
    # until they have ended too.
    inherited_files = (lock,)
    apt = debian_bazel_apt.PrivateApt(downloads, machine, inherited_files)
    mirrors = debian_bazel_apt.debian_mirrors(
        debian_bazel_apt.machine_sources(Path("/etc/apt"))
    )
    debian_bazel_apt.select_suite(apt, mirrors, progress)
    packages = debian_bazel_apt.download_packages(apt, progress)
    progress.step(f"unpacking {len(packages)} packages")
    debian_bazel_prefix.unpack(packages, prefix, inherited_files, progress)
    progress.step("adapting the programs to their place")
    debian_bazel_prefix.adapt(prefix, machine)
    debian_bazel_prefix.check(prefix, downloads)
    progress.step(
        f"Bazel {BAZEL_VERSION} is ready after {time.monotonic() - begin:.0f} s"
    )


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="debian_bazel.py",
        description=__doc__,
        epilog=EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "ensure", help="make the prefix unless it is there, and print its path"
    )
    commands.add_parser(
        "status",
        help="say whether the prefix is there and complete; exit code 1 if not",
    )
    commands.add_parser("remove", help="remove the prefix")
    return parser.parse_args(arguments)


def run(command: str, store: PrefixStore, build: Builder, progress: Progress) -> int:
    """Runs one command and returns the exit code."""
    if command == "ensure":
        store.ensure(build, progress)
        progress.end()
        print(store.prefix)
    elif command == "remove":
        store.remove(progress)
    else:
        complete = store.is_complete()
        state = "complete" if complete else "not there, or not complete"
        print(f"{store.prefix}: {state}")
        return 0 if complete else 1
    return 0


def main(
    arguments: list[str], environment: Mapping[str, str], build: Builder = build_prefix
) -> int:
    """Runs the command line. What goes wrong becomes one line that says what to do."""
    command = parse_arguments(arguments).command
    store = PrefixStore(cache_folder(environment))
    progress = Progress(sys.stderr)
    try:
        return run(command, store, build, progress)
    except Problem as problem:
        progress.fail(str(problem))
    except OSError as error:
        progress.fail(
            f"{error.filename or store.prefix}: {error.strerror or error}: free disk "
            "space or mend the permissions there, or name another folder by "
            "KVSWAP_BAZEL_CACHE"
        )
    except KeyboardInterrupt:
        progress.fail("interrupted: the next run goes on from what has been downloaded")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
