"""Turns Debian packages into a prefix: a folder from which Bazel runs in place.

The system may be older than the packages: the prefix's programs use its own C library.
What Bazel starts, the machine's compilers and interpreters, use the machine's. Nothing
outside the prefix is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import ssl
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from debian_bazel_recipe import (
    BAZEL_VERSION,
    PACKAGED_MODULES,
    STAND_IN_MODULES,
    MachineKind,
    StandInModule,
)
from debian_bazel_report import USE_OWN_BAZEL, Problem, Progress

SHARE = "usr/share/bazel"
CLASSPATH_FILE = f"{SHARE}/bazel_classpath_debian_depends.txt"
CERTIFICATE_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


def unpack(
    packages: Sequence[Path],
    prefix: Path,
    inherited_files: Sequence[int],
    progress: Progress,
) -> None:
    """Unpacks packages into the prefix, several at a time."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = {
            pool.submit(_unpack_one, path, prefix, inherited_files): path
            for path in packages
        }
        for number, job in enumerate(as_completed(jobs), start=1):
            failure = job.result()
            if failure:
                pool.shutdown(wait=True, cancel_futures=True)
                raise Problem(
                    f"{jobs[job].name} could not be unpacked into {prefix}: "
                    f"is the disk full? ({failure})"
                )
            progress.detail(f"{number} of {len(packages)}")


def _unpack_one(package: Path, prefix: Path, inherited_files: Sequence[int]) -> str:
    return _failure_of(
        ["dpkg-deb", "--extract", str(package), str(prefix)], inherited_files
    )


def _failure_of(command: Sequence[str], inherited_files: Sequence[int] = ()) -> str:
    """Runs a command; returns its last words if it failed, else nothing."""
    result = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=tuple(inherited_files),
    )
    if result.returncode == 0:
        return ""
    last_line = (result.stderr or result.stdout).strip().rpartition("\n")[2]
    return last_line or f"exit code {result.returncode}"


def adapt(prefix: Path, machine: MachineKind) -> None:
    """Makes the unpacked tree run from where it lies."""
    reroot_links(prefix)
    java_home = find_java_home(prefix)
    use_own_libraries(prefix, java_home, machine)
    write_certificates(java_home / "lib/security/cacerts", CERTIFICATE_BUNDLE)
    write_version(prefix)
    write_classpath(prefix)
    write_registry(prefix)
    (prefix / "bazelrc").write_text(bazelrc(prefix, java_home), encoding="utf-8")
    write_launcher(prefix)


def reroot_links(prefix: Path) -> None:
    """Points absolute symbolic links at the prefix, if it has what they name.

    The others mean the machine's files.
    """
    for link in _symbolic_links(prefix):
        target = os.readlink(link)
        own_target = prefix / target.lstrip("/")
        if target.startswith("/") and os.path.lexists(own_target):
            link.unlink()
            link.symlink_to(os.path.relpath(own_target, link.parent))


def _symbolic_links(folder: Path) -> Iterator[Path]:
    for parent, folder_names, file_names in os.walk(folder):
        for name in (*folder_names, *file_names):
            path = Path(parent, name)
            if path.is_symlink():
                yield path


def find_java_home(prefix: Path) -> Path:
    """The Java runtime's folder, by its real name and not by one of the links to it."""
    runtimes = prefix / "usr/lib/jvm"
    homes = [
        home
        for home in runtimes.glob("*")
        if (home / "bin/java").exists() and not home.is_symlink()
    ]
    if len(homes) != 1:
        raise Problem(
            f"the packages brought {len(homes)} Java runtimes under {runtimes} where "
            "one is expected: mend PACKAGES in tools/debian_bazel_recipe.py"
        )
    return homes[0]


def use_own_libraries(prefix: Path, java_home: Path, machine: MachineKind) -> None:
    """Binds the prefix's programs to the prefix's loader and libraries.

    The search path is a DT_RPATH: it also serves the libraries that the programs load,
    and, unlike LD_LIBRARY_PATH, the programs that Bazel starts do not inherit it.
    """
    libraries = prefix / "usr/lib" / machine.triplet
    loader = libraries / machine.loader
    patchelf = [
        str(loader),
        "--library-path",
        str(libraries),
        str(prefix / "usr/bin/patchelf"),
    ]
    search_path = ":".join(
        map(str, (libraries, java_home / "lib", java_home / "lib/server"))
    )
    changes = [
        "--set-interpreter",
        str(loader),
        "--force-rpath",
        "--set-rpath",
        search_path,
    ]
    for program in _programs(prefix, java_home, machine):
        failure = _failure_of([*patchelf, *changes, str(program)])
        if failure:
            raise Problem(
                f"patchelf failed on {program}: is the disk full? ({failure})"
            )


def _programs(prefix: Path, java_home: Path, machine: MachineKind) -> list[Path]:
    return [
        prefix / "usr/bin/bazel",
        java_home / "lib/jspawnhelper",
        *sorted((prefix / "usr/libexec" / machine.triplet / "bazel").iterdir()),
        *sorted((java_home / "bin").iterdir()),
    ]


def write_certificates(store: Path, bundle: Path) -> None:
    """Gives Java the machine's certificate authorities, for Bazel's downloads by https.

    Debian makes this file when it installs a package, which does not happen here.
    """
    text = ""
    if bundle.is_file():
        text = bundle.read_text(encoding="utf-8", errors="replace")
    # The packages have a link to the machine's own store here, which must not be
    # written through.
    store.unlink(missing_ok=True)
    store.write_bytes(java_key_store(certificates_of(text)))


def certificates_of(bundle: str) -> list[bytes]:
    """The certificates of a PEM bundle in binary form."""
    begin, end = ssl.PEM_HEADER, ssl.PEM_FOOTER
    blocks = [part.partition(end)[0] for part in bundle.split(begin)[1:]]
    return [ssl.PEM_cert_to_DER_cert(f"{begin}{block}{end}\n") for block in blocks]


def java_key_store(certificates: Sequence[bytes]) -> bytes:
    """A Java key store (JKS, version 2) of certificates, with the usual password."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode("ascii")

    content = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        trusted_certificate, created = 2, 0
        content += struct.pack(">I", trusted_certificate) + text(f"certificate{number}")
        content += struct.pack(">Q", created) + text("X.509")
        content += struct.pack(">I", len(certificate)) + certificate
    # The salt is part of the format.
    salted_password = "changeit".encode("utf-16-be") + b"Mighty Aphrodite"
    return content + hashlib.sha1(salted_password + content).digest()


def write_version(prefix: Path) -> None:
    """Tells Bazel its version, which the packages leave out and rule sets go by."""
    folder = _version_folder(prefix)
    folder.mkdir(exist_ok=True)
    (folder / "build-data.properties").write_text(
        f"build.label={BAZEL_VERSION}\n", encoding="ascii"
    )


def _version_folder(prefix: Path) -> Path:
    return prefix / "version"


def write_classpath(prefix: Path) -> None:
    """Lists the jars of Bazel's server: the packages' own list, then all others.

    The others are there because many jars name the jars that they need by absolute
    paths outside the prefix.
    """
    list_file = prefix / CLASSPATH_FILE
    listed = [
        prefix / line.strip().lstrip("/")
        for line in list_file.read_text(encoding="utf-8").splitlines()
    ]
    others = sorted((prefix / "usr/share/java").glob("*.jar"))
    entries = dict.fromkeys([*listed, *others, _version_folder(prefix)])
    list_file.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf-8")


def write_registry(prefix: Path) -> None:
    """Writes a Bazel registry of the stand-in modules."""
    for module in STAND_IN_MODULES:
        source = _stand_in_folder(prefix, module)
        empty_files = dict.fromkeys(("BUILD.bazel", "MODULE.bazel", "WORKSPACE"), "")
        _write_files(source, {**empty_files, **dict(module.files)})
        description = json.dumps({"type": "local_path", "path": str(source)})
        for version in module.versions:
            entry = {
                "MODULE.bazel": _module_file(module, version),
                "source.json": description,
            }
            _write_files(_registry(prefix) / "modules" / module.name / version, entry)


def _write_files(folder: Path, contents: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


def _registry(prefix: Path) -> Path:
    return prefix / "registry"


def _module_file(module: StandInModule, version: str) -> str:
    lines = [f'module(name = "{module.name}", version = "{version}")']
    # The version does not matter, since all of them are overridden.
    lines += [
        f'bazel_dep(name = "{name}", version = "0")' for name in module.dependencies
    ]
    return "".join(f"{line}\n" for line in lines)


def _stand_in_folder(prefix: Path, module: StandInModule) -> Path:
    return _registry(prefix) / "sources" / module.name


def bazelrc(prefix: Path, java_home: Path) -> str:
    """The options that make Bazel run from the prefix and find its modules there.

    Whatever version of a packaged module is asked for, the packaged one is used.
    """
    folders = {
        name: prefix / SHARE / folder for name, folder in PACKAGED_MODULES.items()
    }
    stand_in_folders = {
        module.workspace_name: _stand_in_folder(prefix, module)
        for module in STAND_IN_MODULES
        if module.workspace_name
    }
    options = [
        ("startup", f"--install_base={prefix / SHARE}"),
        ("startup", "--trust_install_base"),
        ("startup", f"--server_javabase={java_home}"),
        ("common", f"--registry={_registry(prefix).as_uri()}"),
        # A lock file would name folders of this machine.
        ("common", "--lockfile_mode=off"),
        # Sandboxes have an empty /tmp; the prefix must be there in them even if it lies
        # under /tmp.
        ("common", f"--sandbox_add_mount_pair={prefix}"),
    ]
    for name, folder in folders.items():
        options.append(("common", f"--override_module={name}={folder}"))
    for name, folder in {**folders, **stand_in_folders}.items():
        options.append(("common:workspace", f"--override_repository={name}={folder}"))
    return "".join(f"{command} {shlex.quote(option)}\n" for command, option in options)


def write_launcher(prefix: Path) -> None:
    """Writes PREFIX/bin/bazel, which can be put on a PATH like any other Bazel."""
    program = shlex.quote(str(prefix / "usr/bin/bazel"))
    options = shlex.quote(f"--bazelrc={prefix / 'bazelrc'}")
    launcher = _launcher(prefix)
    launcher.parent.mkdir(exist_ok=True)
    launcher.write_text(
        f"""\
#!/bin/sh
# Bazel would look for its version in its own program file, where the packages lack it.
if [ "${{1-}}" = --version ]; then
    echo "bazel {BAZEL_VERSION}"
else
    exec {program} {options} "$@"
fi
""",
        encoding="utf-8",
    )
    launcher.chmod(0o755)


def _launcher(prefix: Path) -> Path:
    return prefix / "bin/bazel"


def check(prefix: Path, scratch: Path) -> None:
    """Starts Bazel and its server once: what cannot run must not count as complete."""
    startup_options = [
        "--batch",
        "--nohome_rc",
        "--nosystem_rc",
        "--noworkspace_rc",
        f"--output_user_root={scratch / 'check'}",
    ]
    failure = _failure_of([str(_launcher(prefix)), *startup_options, "version"])
    if failure:
        raise Problem(
            f"Bazel {BAZEL_VERSION} was made in {prefix} but does not start: "
            f"{USE_OWN_BAZEL} ({failure})"
        )
