"""Downloads Debian packages of another suite, without root.

The machine's own package lists are not touched. The mirror and its keyring are those
that the machine's administrator set up: they are read from the machine's apt sources.
apt itself verifies signatures and hashes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from debian_bazel_recipe import (
    BAZEL_VERSION,
    PACKAGES,
    PACKAGES_LEFT_OUT,
    SUITES,
    MachineKind,
)
from debian_bazel_report import MEGABYTE, NO_BAZEL, USE_OWN_BAZEL, Problem, Progress

BAZEL_PACKAGE = "bazel-bootstrap"
PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")

# Suites of Debian's main archive. Third parties, and Debian's derivatives, name theirs
# otherwise.
DEBIAN_SUITES = frozenset(
    ("oldoldstable", "oldstable", "stable", "testing", "unstable", "sid")
    + ("bullseye", "bookworm", "trixie", "forky", "duke")
)

DEB822_FALSE = frozenset(("no", "false", "without", "off", "disable", "0"))


class SourceEntry(NamedTuple):
    """One entry of the machine's apt sources, whatever format it was written in."""

    types: tuple[str, ...]
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    # What apt's Signed-By takes: paths, fingerprints or a whole key block; empty for
    # apt's default keyrings.
    signed_by: str = ""

    def is_debian_archive(self) -> bool:
        """Whether this is Debian's main archive, which has its other suites too."""
        return (
            "deb" in self.types
            and "main" in self.components
            and not DEBIAN_SUITES.isdisjoint(self.suites)
        )


class Mirror(NamedTuple):
    """A mirror of Debian's main archive, and the keys that sign what it offers."""

    uri: str
    signed_by: str = ""


def parse_one_line_format(text: str) -> Iterator[SourceEntry]:
    """Reads the format of `*.list` files: `deb [option=value] uri suite component`."""
    for line in text.splitlines():
        content = line.partition("#")[0]
        options = ""
        if content.partition("[")[0].split() in (["deb"], ["deb-src"]):
            before, _, rest = content.partition("[")
            options, _, after = rest.partition("]")
            content = f"{before} {after}"
        fields = content.split()
        if len(fields) > 2:
            signed_by = [
                option.partition("=")[2]
                for option in options.split()
                if option.startswith("signed-by=")
            ]
            yield SourceEntry(
                types=(fields[0],),
                uris=(fields[1],),
                suites=(fields[2],),
                components=tuple(fields[3:]),
                signed_by=" ".join(signed_by).replace(",", " "),
            )


def parse_deb822_format(text: str) -> Iterator[SourceEntry]:
    """Reads the format of `*.sources` files: stanzas of `Field: value` lines.

    An indented line continues the one before.
    """
    for stanza in _deb822_stanzas(text):
        if stanza.get("enabled", "").lower() not in DEB822_FALSE:
            yield SourceEntry(
                types=tuple(stanza.get("types", "").split()),
                uris=tuple(stanza.get("uris", "").split()),
                suites=tuple(stanza.get("suites", "").split()),
                components=tuple(stanza.get("components", "").split()),
                signed_by=stanza.get("signed-by", ""),
            )


def _deb822_stanzas(text: str) -> Iterator[dict[str, str]]:
    stanza: dict[str, str] = {}
    field = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanza:
                yield stanza
            stanza, field = {}, ""
        elif not line[0].isspace():
            name, _, value = line.partition(":")
            field = name.strip().lower()
            stanza[field] = value.strip()
        elif field:
            # Kept as it is: a key block under Signed-By is valid only with its lines
            # and their indentation.
            stanza[field] += f"\n{line}"


def machine_sources(apt_folder: Path) -> Iterator[SourceEntry]:
    """All entries of the machine's apt sources; `apt_folder` is its /etc/apt."""
    parts = apt_folder / "sources.list.d"
    for path in [*apt_folder.glob("sources.list"), *sorted(parts.glob("*.list"))]:
        yield from parse_one_line_format(_read(path))
    for path in sorted(parts.glob("*.sources")):
        yield from parse_deb822_format(_read(path))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def debian_mirrors(sources: Iterable[SourceEntry]) -> list[Mirror]:
    """The Debian mirrors of the machine, each once, in the machine's own order."""
    entries = [entry for entry in sources if entry.is_debian_archive()]
    mirrors = [
        Mirror(uri, entry.signed_by)
        for entry in entries
        for uri in entry.uris
        if not uri.startswith("cdrom:")
    ]
    return list(dict.fromkeys(mirrors))


class AptFailure(Exception):
    """apt failed; the text is its own first word on why."""


class PackageFile(NamedTuple):
    """A package that apt chose, and where it lies once it is downloaded."""

    path: Path
    size: int


class PackageSource(Protocol):
    """What is asked of apt."""

    def use(self, mirror: Mirror, suite: str) -> None:
        """Turns to one suite of one mirror."""

    def versions(self, package: str) -> list[str]:
        """The versions of a package that the suite offers."""

    def choose(self, packages: Sequence[str]) -> list[PackageFile]:
        """The files of `packages` and of all that they depend on."""

    def download(
        self, packages: Sequence[str], show_percent: Callable[[float], None]
    ) -> None:
        """Downloads these files."""


class PrivateApt:
    """apt with configuration, lists and downloads of its own, all in one folder."""

    def __init__(
        self, folder: Path, machine: MachineKind, inherited_files: Sequence[int]
    ) -> None:
        self._folder = folder
        self._machine = machine
        self._inherited_files = tuple(inherited_files)
        self._configuration = folder / "apt.conf"
        self._sources = folder / "debian.sources"
        self._archives = folder / "cache/archives"
        self._empty_archives = folder / "cache/empty"
        self._log = folder / "apt.log"

    def use(self, mirror: Mirror, suite: str) -> None:
        """Turns to one suite of one mirror. What was downloaded earlier is used."""
        lists = self._folder / "state/lists"
        for folder in (self._archives, self._empty_archives, lists):
            (folder / "partial").mkdir(parents=True, exist_ok=True)
        (self._folder / "status").write_text(
            status_of_left_out_packages(self._machine), encoding="utf-8"
        )
        self._configuration.write_text(self._configuration_text(), encoding="utf-8")
        self._sources.write_text(sources_text(mirror, suite), encoding="utf-8")
        self._run("apt-get", "update")

    def versions(self, package: str) -> list[str]:
        """The versions of a package that the suite offers."""
        listing = self._run("apt-cache", "madison", package)
        # Each line: package | version | where from.
        return [line.split("|")[1].strip() for line in listing.splitlines()]

    def choose(self, packages: Sequence[str]) -> list[PackageFile]:
        """The files of `packages` and of all that they depend on."""
        # apt would not name what it has already downloaded, hence an archive folder
        # with nothing in it.
        archives = f"--option=Dir::Cache::archives={self._empty_archives}"
        listing = self._run("apt-get", "--print-uris", archives, *_install(packages))
        # Each line: address, file name, size, hash.
        lines = [shlex.split(line) for line in listing.splitlines()]
        return [PackageFile(self._archives / line[1], int(line[2])) for line in lines]

    def download(
        self, packages: Sequence[str], show_percent: Callable[[float], None]
    ) -> None:
        """Downloads these files."""
        reader, writer = os.pipe()
        process = self._start(
            "apt-get",
            f"--option=APT::Status-Fd={writer}",
            "--download-only",
            *_install(packages),
            further_files=(writer,),
        )
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8", errors="replace") as status:
            for line in status:
                # dlstatus:number of the file:percent of all:text
                fields = line.split(":")
                if fields[0] == "dlstatus":
                    show_percent(float(fields[2]))
        self._finish(process)

    def _run(self, program: str, *arguments: str) -> str:
        return self._finish(self._start(program, *arguments))

    def _start(
        self, program: str, *arguments: str, further_files: Sequence[int] = ()
    ) -> subprocess.Popen[str]:
        options = (f"--config-file={self._configuration}", "--quiet=2")
        with self._log.open("w", encoding="utf-8") as log:
            return subprocess.Popen(
                [program, *options, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=(*self._inherited_files, *further_files),
                # Messages are quoted, and their "E:" is looked for.
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                text=True,
                errors="replace",
            )

    def _finish(self, process: subprocess.Popen[str]) -> str:
        output, _ = process.communicate()
        if process.returncode != 0:
            raise AptFailure(first_error(_read(self._log)))
        return output

    def _configuration_text(self) -> str:
        # apt reads this after the machine's own configuration. So the machine's proxies
        # and credentials stay in force, while its hooks, which look after the machine's
        # own package lists, are cleared.
        return f"""\
Dir::State "{self._folder}/state";
Dir::State::status "{self._folder}/status";
Dir::Cache "{self._folder}/cache";
Dir::Cache::archives "archives";
Dir::Cache::pkgcache "packages.bin";
Dir::Cache::srcpkgcache "sources.bin";
Dir::Etc::sourcelist "{self._sources}";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{self._machine.debian_name}";
#clear APT::Architectures;
APT::Architectures {{ "{self._machine.debian_name}"; }};
APT::Sandbox::User "root";
APT::Keep-Downloaded-Packages "true";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::GzipIndexes "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
"""


def _install(packages: Sequence[str]) -> list[str]:
    return ["--yes", "--no-install-recommends", "install", *packages]


def sources_text(mirror: Mirror, suite: str) -> str:
    """apt's source entry for one suite of one mirror."""
    fields = {
        "Types": "deb",
        "URIs": mirror.uri,
        "Suites": suite,
        "Components": "main",
        "Targets": "Packages",
    }
    if mirror.signed_by:
        fields["Signed-By"] = mirror.signed_by
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def status_of_left_out_packages(machine: MachineKind) -> str:
    """A dpkg status file by which the packages that are left out are installed.

    Their version is newer than any that is asked for.
    """
    return "".join(
        f"Package: {package}\n"
        "Status: install ok installed\n"
        f"Architecture: {machine.debian_name}\n"
        "Multi-Arch: foreign\n"
        "Version: 999:0\n"
        "Maintainer: nobody\n"
        "Description: left out\n\n"
        for package in PACKAGES_LEFT_OUT
    )


def first_error(log: str) -> str:
    """apt's first error message; without one, its first line."""
    lines = log.strip().splitlines() or ["apt did not say why"]
    return next((line for line in lines if line.startswith("E:")), lines[0])


def check_programs(find: Callable[[str], str | None] = shutil.which) -> None:
    """Refuses a machine without apt."""
    missing = [program for program in PROGRAMS if find(program) is None]
    if missing:
        raise Problem(
            f"{NO_BAZEL}, and this machine is no Debian-like system with apt "
            f"(no {', '.join(missing)}): {USE_OWN_BAZEL}"
        )


def select_suite(
    apt: PackageSource, mirrors: Sequence[Mirror], progress: Progress
) -> None:
    """Turns apt to the first suite that has the recipe's Bazel."""
    if not mirrors:
        raise Problem(
            f"{NO_BAZEL}, and this machine's apt sources name no Debian mirror to get "
            f"one from: {USE_OWN_BAZEL}"
        )
    findings = []
    for mirror in mirrors:
        for suite in SUITES:
            progress.step(f"reading the package list of Debian's suite {suite}")
            finding = _why_not(apt, mirror, suite)
            if not finding:
                return
            findings.append(f"{suite}: {finding}")
    raise Problem(
        f"{NO_BAZEL}, and Bazel {BAZEL_VERSION} could not be had from this machine's "
        f"Debian mirror: check the network, or {USE_OWN_BAZEL} ({'; '.join(findings)})"
    )


def _why_not(apt: PackageSource, mirror: Mirror, suite: str) -> str:
    """Turns apt to a suite. Returns why it does not serve, or nothing if it does."""
    try:
        apt.use(mirror, suite)
        versions = apt.versions(BAZEL_PACKAGE)
    except AptFailure as failure:
        return str(failure)
    if not versions:
        return f"it has no {BAZEL_PACKAGE}"
    if BAZEL_VERSION in map(_upstream_version, versions):
        return ""
    return f"its {BAZEL_PACKAGE} is {', '.join(versions)}"


def _upstream_version(debian_version: str) -> str:
    return re.split("[+-]", debian_version)[0]


def download_packages(apt: PackageSource, progress: Progress) -> list[Path]:
    """Downloads the recipe's packages and what they need, and returns the files."""
    try:
        files = apt.choose(PACKAGES)
        megabytes = sum(file.size for file in files) / MEGABYTE
        progress.step(f"downloading {len(files)} packages, {megabytes:.0f} MB")
        apt.download(
            PACKAGES,
            lambda percent: progress.detail(f"{megabytes * percent / 100:.0f} MB"),
        )
    except AptFailure as failure:
        raise Problem(
            f"the packages of Bazel {BAZEL_VERSION} could not be downloaded: run the "
            f"same again, what has arrived is kept ({failure})"
        ) from failure
    return [file.path for file in files]
