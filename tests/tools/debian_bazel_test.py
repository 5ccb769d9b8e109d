"""Tests of bazelw and of the program behind it, tools/debian_bazel.py.

None needs the network: where the real program downloads, a builder of the test's own
fills the prefix.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import debian_bazel
import debian_bazel_apt as apt
import debian_bazel_prefix as prefix_module
import debian_bazel_recipe as recipe
from debian_bazel_report import Problem, Progress

ROOT = Path(__file__).absolute().parents[2]
TOOLS = ROOT / "tools"

AMD64 = recipe.MACHINE_KINDS["x86_64"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def progress(log: io.StringIO) -> Progress:
    return Progress(log)


class TestAptSources:
    def test_one_line_format(self) -> None:
        text = textwrap.dedent("""\
            # deb http://mirror.example/commented bookworm main
            deb http://mirror.example/plain bookworm main contrib # a remark

            deb [arch=amd64 signed-by=/a.gpg,/b.gpg] http://mirror.example/keys sid main
            deb-src [ trusted=yes ] http://mirror.example/source bookworm main
            nonsense
            """)
        assert list(apt.parse_one_line_format(text)) == [
            apt.SourceEntry(
                types=("deb",),
                uris=("http://mirror.example/plain",),
                suites=("bookworm",),
                components=("main", "contrib"),
            ),
            apt.SourceEntry(
                types=("deb",),
                uris=("http://mirror.example/keys",),
                suites=("sid",),
                components=("main",),
                signed_by="/a.gpg /b.gpg",
            ),
            apt.SourceEntry(
                types=("deb-src",),
                uris=("http://mirror.example/source",),
                suites=("bookworm",),
                components=("main",),
            ),
        ]

    def test_deb822_format(self) -> None:
        text = textwrap.dedent("""\
            Types: deb deb-src
            # a remark inside a stanza
            URIs: http://mirror.example/one
             http://mirror.example/two
            Suites: bookworm bookworm-updates
            Components: main
            Signed-By: /keys/debian.gpg

            Enabled: no
            Types: deb
            URIs: http://mirror.example/disabled
            Suites: bookworm
            Components: main


            types: deb
            uris: http://mirror.example/last
            suites: nodistro
            components: main
            """)
        first, last = apt.parse_deb822_format(text)
        assert first == apt.SourceEntry(
            types=("deb", "deb-src"),
            uris=("http://mirror.example/one", "http://mirror.example/two"),
            suites=("bookworm", "bookworm-updates"),
            components=("main",),
            signed_by="/keys/debian.gpg",
        )
        assert last.uris == ("http://mirror.example/last",)

    def test_key_block_reaches_apt_as_it_was_written(self) -> None:
        key = (
            "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEYCQjIxYJ\n"
            " -----END PGP PUBLIC KEY BLOCK-----"
        )
        text = (
            "Types: deb\nURIs: http://mirror.example\nSuites: sid\nComponents: main\n"
            f"Signed-By:{key}\n"
        )
        (entry,) = apt.parse_deb822_format(text)
        (mirror,) = apt.debian_mirrors([entry])
        assert apt.sources_text(mirror, "forky").endswith(f"Signed-By: {key}\n")

    def test_both_formats_are_read_from_a_machine(self, tmp_path: Path) -> None:
        parts = tmp_path / "sources.list.d"
        parts.mkdir()
        (tmp_path / "sources.list").write_text("deb http://a.example bookworm main\n")
        (parts / "b.list").write_text("deb http://b.example bookworm main\n")
        (parts / "c.sources").write_text(
            "Types: deb\nURIs: http://c.example\nSuites: sid\nComponents: main\n"
        )
        (parts / "d.save").write_text("deb http://d.example bookworm main\n")
        mirrors = apt.debian_mirrors(apt.machine_sources(tmp_path))
        assert [mirror.uri for mirror in mirrors] == [
            "http://a.example",
            "http://b.example",
            "http://c.example",
        ]

    def test_machine_without_sources(self, tmp_path: Path) -> None:
        assert list(apt.machine_sources(tmp_path)) == []


class TestMirror:
    def test_only_debians_main_archive_is_chosen(self) -> None:
        text = textwrap.dedent("""\
            deb https://third-party.example/repo nodistro main
            deb http://mirror.example/security bookworm-security main
            deb http://mirror.example/flat ./
            deb cdrom:[Debian]/ bookworm main
            deb-src http://mirror.example/source bookworm main
            deb http://mirror.example/games bookworm contrib
            deb [signed-by=/keys/debian.gpg] http://mirror.example/debian bookworm main
            deb [signed-by=/keys/debian.gpg] http://mirror.example/debian sid main
            deb http://other.example/debian bookworm main
            """)
        assert apt.debian_mirrors(apt.parse_one_line_format(text)) == [
            apt.Mirror("http://mirror.example/debian", "/keys/debian.gpg"),
            apt.Mirror("http://other.example/debian"),
        ]

    def test_source_entry_names_suite_and_keys(self) -> None:
        text = apt.sources_text(apt.Mirror("http://mirror.example", "/k.gpg"), "sid")
        assert "Suites: sid\n" in text
        assert "Signed-By: /k.gpg\n" in text
        assert "Signed-By" not in apt.sources_text(apt.Mirror("http://m.example"), "s")


class FakeApt:
    """Answers as apt would for given suites; a suite that is not given is refused."""

    def __init__(self, versions_by_suite: dict[str, list[str]]) -> None:
        self.used: list[tuple[str, str]] = []
        self._versions_by_suite = versions_by_suite

    def use(self, mirror: apt.Mirror, suite: str) -> None:
        self.used.append((mirror.uri, suite))
        if suite not in self._versions_by_suite:
            raise apt.AptFailure(f"E: there is no {suite}")

    def versions(self, package: str) -> list[str]:
        return self._versions_by_suite[self.used[-1][1]]

    def choose(self, packages: Sequence[str]) -> list[apt.PackageFile]:
        return [apt.PackageFile(Path(f"{name}.deb"), 2_000_000) for name in packages]

    def download(
        self, packages: Sequence[str], show_percent: Callable[[float], None]
    ) -> None:
        show_percent(50.0)


class TestSuite:
    MIRROR = apt.Mirror("http://mirror.example")

    def test_first_suite_that_has_the_version_is_used(self, progress: Progress) -> None:
        fake = FakeApt({"forky": ["7.7.1+ds-8+b1"], "sid": ["7.7.1+ds-9"]})
        apt.select_suite(fake, [self.MIRROR], progress)
        assert fake.used == [("http://mirror.example", "forky")]

    @pytest.mark.parametrize(
        "forky", [[], ["7.7.10+ds-1"], ["4.2.3+ds-9", "8.0.0+ds-1"]]
    )
    def test_sid_where_forky_lacks_it(
        self, forky: list[str], progress: Progress
    ) -> None:
        fake = FakeApt({"forky": forky, "sid": ["8.0.0+ds-1", "7.7.1-1"]})
        apt.select_suite(fake, [self.MIRROR], progress)
        assert fake.used[-1] == ("http://mirror.example", "sid")

    def test_next_mirror_where_the_first_fails(self, progress: Progress) -> None:
        class SecondMirrorOnly(FakeApt):
            def use(self, mirror: apt.Mirror, suite: str) -> None:
                super().use(mirror, suite)
                if mirror == TestSuite.MIRROR:
                    raise apt.AptFailure("E: no route")

        fake = SecondMirrorOnly({"forky": ["7.7.1+ds-8"]})
        apt.select_suite(fake, [self.MIRROR, apt.Mirror("http://2.example")], progress)
        assert fake.used[-1] == ("http://2.example", "forky")

    def test_message_says_what_each_suite_lacks(self, progress: Progress) -> None:
        with pytest.raises(Problem) as caught:
            apt.select_suite(FakeApt({"sid": ["9.0"]}), [self.MIRROR], progress)
        message = str(caught.value)
        assert "forky: E: there is no forky" in message
        assert "sid: its bazel-bootstrap is 9.0" in message
        assert "bazelisk" in message
        assert "\n" not in message

    def test_message_where_there_is_no_mirror(self, progress: Progress) -> None:
        with pytest.raises(Problem, match="name no Debian mirror"):
            apt.select_suite(FakeApt({}), [], progress)


class TestDownload:
    def test_number_and_size_are_told(
        self, progress: Progress, log: io.StringIO
    ) -> None:
        files = apt.download_packages(FakeApt({}), progress)
        assert len(files) == len(recipe.PACKAGES)
        assert f"downloading {len(files)} packages, {2 * len(files)} MB" in (
            log.getvalue()
        )

    def test_failure_says_that_downloads_are_kept(self, progress: Progress) -> None:
        class Offline(FakeApt):
            def download(
                self, packages: Sequence[str], show_percent: Callable[[float], None]
            ) -> None:
                raise apt.AptFailure("E: no route")

        with pytest.raises(Problem, match=r"what has arrived is kept \(E: no route\)"):
            apt.download_packages(Offline({}), progress)

    def test_first_error_of_apt_is_quoted(self) -> None:
        assert apt.first_error("W: a\nE: b\nE: c\n") == "E: b"
        assert apt.first_error("W: a\n") == "W: a"
        assert apt.first_error("") == "apt did not say why"

    def test_packages_left_out_count_as_installed(self) -> None:
        stanzas = apt.status_of_left_out_packages(AMD64).strip().split("\n\n")
        assert len(stanzas) == len(recipe.PACKAGES_LEFT_OUT)
        assert all("\nStatus: install ok installed\n" in text for text in stanzas)
        assert not set(recipe.PACKAGES) & set(recipe.PACKAGES_LEFT_OUT)


class TestMachine:
    def test_machine_without_apt(self) -> None:
        with pytest.raises(Problem) as caught:
            apt.check_programs(find=lambda program: None)
        assert str(caught.value) == (
            "no Bazel >= 7 on the PATH, and this machine is no Debian-like system with "
            "apt (no apt-get, apt-cache, dpkg-deb): install bazelisk, or Bazel "
            f"{recipe.BAZEL_VERSION}, and put it on the PATH"
        )

    def test_machine_with_apt(self) -> None:
        apt.check_programs(find=lambda program: f"/usr/bin/{program}")

    def test_processor_that_is_not_served(self) -> None:
        assert debian_bazel.machine_kind("x86_64") == AMD64
        with pytest.raises(Problem, match=r"x86_64 and aarch64 only, not on s390x"):
            debian_bazel.machine_kind("s390x")


class TestLinks:
    def test_absolute_links_point_into_the_prefix(self, tmp_path: Path) -> None:
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/file").write_text("ours")
        (tmp_path / "usr/lib").mkdir(parents=True)
        to_file = tmp_path / "usr/lib/file"
        to_file.symlink_to("/etc/file")
        to_folder = tmp_path / "usr/lib/folder"
        to_folder.symlink_to("/etc")

        prefix_module.reroot_links(tmp_path)

        assert os.readlink(to_file) == "../../etc/file"
        assert to_file.read_text() == "ours"
        assert os.readlink(to_folder) == "../../etc"

    @pytest.mark.parametrize("target", ["/no/such/file", "relative", "../../etc/file"])
    def test_other_links_stay(self, target: str, tmp_path: Path) -> None:
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/file").touch()
        link = tmp_path / "usr/lib/link"
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
        prefix_module.reroot_links(tmp_path)
        assert os.readlink(link) == target

    def test_link_to_a_link_is_pointed_at_the_prefix(self, tmp_path: Path) -> None:
        # The second link's own target is on the machine, not in the prefix.
        (tmp_path / "second").symlink_to("/no/such/file")
        (tmp_path / "first").symlink_to("/second")
        prefix_module.reroot_links(tmp_path)
        assert os.readlink(tmp_path / "first") == "second"


class TestJava:
    def test_one_real_folder_is_found(self, tmp_path: Path) -> None:
        home = tmp_path / "usr/lib/jvm/java-25-openjdk-amd64"
        (home / "bin").mkdir(parents=True)
        (home / "bin/java").touch()
        (home.parent / "default-java").symlink_to(home.name)
        (home.parent / "openjdk-25").mkdir()
        assert prefix_module.find_java_home(tmp_path) == home

    def test_no_runtime(self, tmp_path: Path) -> None:
        with pytest.raises(Problem, match="brought 0 Java runtimes"):
            prefix_module.find_java_home(tmp_path)

    def test_classpath_has_listed_jars_first_and_all_others(
        self, tmp_path: Path
    ) -> None:
        list_file = tmp_path / prefix_module.CLASSPATH_FILE
        list_file.parent.mkdir(parents=True)
        list_file.write_text("/usr/share/java/z.jar\n/usr/share/java/b.jar\n")
        jars = tmp_path / "usr/share/java"
        jars.mkdir()
        for name in ("a.jar", "b.jar", "z.jar", "notes.txt"):
            (jars / name).touch()
        prefix_module.write_classpath(tmp_path)
        lines = list_file.read_text().splitlines()
        assert lines == [
            *(str(jars / name) for name in ("z.jar", "b.jar", "a.jar")),
            str(tmp_path / "version"),
        ]

    def test_version_is_written(self, tmp_path: Path) -> None:
        prefix_module.write_version(tmp_path)
        properties = tmp_path / "version/build-data.properties"
        assert properties.read_text() == f"build.label={recipe.BAZEL_VERSION}\n"


class TestCertificates:
    def test_key_store_format(self) -> None:
        store = prefix_module.java_key_store([b"one", b"three"])
        assert store[:12] == bytes.fromhex("feedfeed 00000002 00000002")
        assert b"\x00\x05X.509\x00\x00\x00\x03one" in store
        assert b"\x00\x05X.509\x00\x00\x00\x05three" in store
        # What OpenJDK's keytool leaves when the last entry is deleted from a store.
        assert prefix_module.java_key_store([])[12:].hex() == (
            "e2686e45fb43dfa4d992dd41ceb6b21c6330d792"
        )

    def test_bundle_is_split(self) -> None:
        bundle = (
            "# a remark\n-----BEGIN CERTIFICATE-----\nb25l\n-----END CERTIFICATE-----\n"
            "-----BEGIN CERTIFICATE-----\ndGhyZWU=\n-----END CERTIFICATE-----\n"
        )
        assert prefix_module.certificates_of(bundle) == [b"one", b"three"]

    def test_the_machines_own_store_is_not_written_through_the_link(
        self, tmp_path: Path
    ) -> None:
        machines_own = tmp_path / "machines-own"
        machines_own.write_text("untouched")
        store = tmp_path / "cacerts"
        store.symlink_to(machines_own)
        prefix_module.write_certificates(store, tmp_path / "no-such-bundle")
        assert machines_own.read_text() == "untouched"
        assert store.read_bytes().startswith(bytes.fromhex("feedfeed"))


class TestBazelrc:
    PREFIX = Path("/cache/bazel")
    JAVA_HOME = PREFIX / "usr/lib/jvm/java"

    def test_contents(self) -> None:
        lines = prefix_module.bazelrc(self.PREFIX, self.JAVA_HOME).splitlines()
        rules_cc = "rules_cc=/cache/bazel/usr/share/bazel/rules/cc"
        stand_in = "com_google_protobuf=/cache/bazel/registry/sources/protobuf"
        for line in (
            "startup --install_base=/cache/bazel/usr/share/bazel",
            "startup --trust_install_base",
            "startup --server_javabase=/cache/bazel/usr/lib/jvm/java",
            "common --registry=file:///cache/bazel/registry",
            f"common --override_module={rules_cc}",
            f"common:workspace --override_repository={rules_cc}",
            f"common:workspace --override_repository={stand_in}",
        ):
            assert line in lines

    def test_every_packaged_module_is_there_in_both_modes(self) -> None:
        text = prefix_module.bazelrc(self.PREFIX, self.JAVA_HOME)
        for name in recipe.PACKAGED_MODULES:
            assert f"\ncommon --override_module={name}=" in text
            assert f"\ncommon:workspace --override_repository={name}=" in text

    def test_spaces_in_paths_are_quoted(self) -> None:
        text = prefix_module.bazelrc(Path("/my cache"), Path("/my cache/java"))
        assert "startup '--server_javabase=/my cache/java'\n" in text
        assert "common --registry=file:///my%20cache/registry\n" in text

    def test_launcher_passes_the_bazelrc_and_arguments(self, tmp_path: Path) -> None:
        prefix = tmp_path / "my prefix"
        make_echo_program(prefix / "usr/bin/bazel")
        prefix_module.write_launcher(prefix)
        launcher = str(prefix / "bin/bazel")
        assert output_of([launcher, "build", "a b"]).splitlines() == [
            f"--bazelrc={prefix}/bazelrc",
            "build",
            "a b",
        ]
        assert output_of([launcher, "--version"]) == f"bazel {recipe.BAZEL_VERSION}\n"


class TestRegistry:
    def test_stand_ins_can_be_found_and_loaded(self, tmp_path: Path) -> None:
        prefix_module.write_registry(tmp_path)
        for module in recipe.STAND_IN_MODULES:
            for version in module.versions:
                entry = tmp_path / "registry/modules" / module.name / version
                module_file = (entry / "MODULE.bazel").read_text()
                assert f'name = "{module.name}", version = "{version}"' in module_file
                source = json.loads((entry / "source.json").read_text())
                assert source["type"] == "local_path"
                assert (Path(source["path"]) / "BUILD.bazel").is_file()

    def test_modules_that_bazels_tools_do_not_name_are_depended_on(self) -> None:
        # Bazel refuses to override a module that is not in the graph.
        dependencies = {
            name for module in recipe.STAND_IN_MODULES for name in module.dependencies
        }
        assert {"rules_pkg", "rules_shell"} <= dependencies
        assert dependencies <= set(recipe.PACKAGED_MODULES)


class TestCacheFolder:
    def test_choice(self) -> None:
        environment = {"HOME": "/home/me"}
        choose = debian_bazel.cache_folder
        assert choose(environment) == Path("/home/me/.cache/kvswap")
        environment["XDG_CACHE_HOME"] = "/xdg"
        assert choose(environment) == Path("/xdg/kvswap")
        environment["KVSWAP_BAZEL_CACHE"] = "/own"
        assert choose(environment) == Path("/own")


class CountingBuilder:
    """Fills a prefix with one file, and counts how often it was asked to."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.calls = 0
        self._failure = failure

    def __call__(
        self, prefix: Path, downloads: Path, lock: int, progress: Progress
    ) -> None:
        self.calls += 1
        assert list(prefix.iterdir()) == []
        (prefix / "half").touch()
        (downloads / f"package{self.calls}").touch()
        if self._failure:
            raise self._failure


class TestStamp:
    def test_built_once(self, tmp_path: Path, progress: Progress) -> None:
        build = CountingBuilder()
        cache = tmp_path / "not there yet"
        for _ in range(2):
            debian_bazel.PrefixStore(cache).ensure(build, progress)
        assert build.calls == 1
        assert debian_bazel.PrefixStore(cache).is_complete()
        assert not list(cache.glob("*.downloads"))

    def test_failed_build_is_not_complete_and_its_downloads_stay(
        self, tmp_path: Path, progress: Progress
    ) -> None:
        store = debian_bazel.PrefixStore(tmp_path)
        with pytest.raises(Problem):
            store.ensure(CountingBuilder(Problem("no network")), progress)
        assert not store.is_complete()
        assert [path.name for path in tmp_path.glob("*.downloads/*")] == ["package1"]
        # The builder itself checks that it begins with an empty prefix.
        store.ensure(CountingBuilder(), progress)
        assert store.is_complete()

    def test_prefix_copied_from_elsewhere_is_not_complete(
        self, tmp_path: Path, progress: Progress
    ) -> None:
        debian_bazel.PrefixStore(tmp_path / "a").ensure(CountingBuilder(), progress)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        assert not debian_bazel.PrefixStore(tmp_path / "b").is_complete()

    def test_remove(self, tmp_path: Path, progress: Progress) -> None:
        store = debian_bazel.PrefixStore(tmp_path)
        store.ensure(CountingBuilder(), progress)
        store.remove(progress)
        assert not store.is_complete()
        assert not store.prefix.exists()

    def test_remove_where_nothing_is(self, tmp_path: Path, progress: Progress) -> None:
        debian_bazel.PrefixStore(tmp_path / "none").remove(progress)
        assert not (tmp_path / "none").exists()

    def test_leftovers_of_other_recipes(
        self, tmp_path: Path, progress: Progress
    ) -> None:
        half = debian_bazel.PrefixStore(tmp_path, "bazel-7.0.0-0")
        with pytest.raises(Problem):
            half.ensure(CountingBuilder(Problem("no network")), progress)
        complete = debian_bazel.PrefixStore(tmp_path, "bazel-7.0.0-9")
        complete.ensure(CountingBuilder(), progress)

        debian_bazel.PrefixStore(tmp_path).ensure(CountingBuilder(), progress)

        assert not half.prefix.exists()
        assert not list(tmp_path.glob("*.downloads"))
        assert complete.is_complete()


# A process that ensures a prefix by a builder of its own: it notes that it began, and
# goes on as soon as the file named "go" is there.
ENSURE_SLOWLY = """\
import sys, time
from pathlib import Path

import debian_bazel

def build(prefix, downloads, lock, progress):
    (prefix / "half").touch()
    with open(cache / "begun", "a") as begun:
        print("begun", file=begun)
    while not (cache / "go").exists():
        time.sleep(0.01)

cache = Path(sys.argv[1])
environment = {"KVSWAP_BAZEL_CACHE": sys.argv[1]}
sys.exit(debian_bazel.main(["ensure"], environment, build))
"""


class TestProcesses:
    @staticmethod
    def start(cache: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-B", "-c", ENSURE_SLOWLY, str(cache)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(TOOLS)},
            text=True,
        )

    def test_two_at_once_build_once(self, tmp_path: Path) -> None:
        first = self.start(tmp_path)
        wait_for((tmp_path / "begun").exists)
        second = self.start(tmp_path)
        assert second.stderr is not None
        assert "waiting for another process" in second.stderr.readline()
        (tmp_path / "go").touch()
        outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
        prefix = debian_bazel.PrefixStore(tmp_path).prefix
        assert outputs == [f"{prefix}\n"] * 2
        assert (first.returncode, second.returncode) == (0, 0)
        assert (tmp_path / "begun").read_text() == "begun\n"

    def test_killed_build_is_not_complete_and_is_done_again(
        self, tmp_path: Path
    ) -> None:
        killed = self.start(tmp_path)
        wait_for((tmp_path / "begun").exists)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=60)
        store = debian_bazel.PrefixStore(tmp_path)
        assert (store.prefix / "half").exists()
        assert not store.is_complete()

        (tmp_path / "go").touch()
        again = self.start(tmp_path)
        again.communicate(timeout=60)
        assert again.returncode == 0
        assert store.is_complete()
        assert (tmp_path / "begun").read_text() == "begun\n" * 2


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


class TestCommandLine:
    def run(
        self, command: str, cache: Path, build: debian_bazel.Builder | None = None
    ) -> int:
        environment = {"KVSWAP_BAZEL_CACHE": str(cache)}
        return debian_bazel.main([command], environment, build or CountingBuilder())

    def test_ensure_prints_the_prefix_and_nothing_else(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.run("ensure", tmp_path) == 0
        prefix = debian_bazel.PrefixStore(tmp_path).prefix
        assert capsys.readouterr().out == f"{prefix}\n"

    def test_status(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run("status", tmp_path) == 1
        assert "not there, or not complete" in capsys.readouterr().out
        self.run("ensure", tmp_path)
        capsys.readouterr()
        assert self.run("status", tmp_path) == 0
        assert capsys.readouterr().out.endswith(": complete\n")

    def test_remove(self, tmp_path: Path) -> None:
        self.run("ensure", tmp_path)
        assert self.run("remove", tmp_path) == 0
        assert self.run("status", tmp_path) == 1

    @pytest.mark.parametrize(
        ("failure", "said"),
        [
            (Problem("what happened: what to do"), "what happened: what to do"),
            (OSError(28, "No space left on device", "/a"), "/a: No space left"),
            (KeyboardInterrupt(), "interrupted"),
        ],
    )
    def test_what_goes_wrong_is_one_line(
        self,
        failure: BaseException,
        said: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert self.run("ensure", tmp_path, CountingBuilder(failure)) == 1
        output, error = capsys.readouterr()
        assert output == ""
        assert error.startswith(f"bazelw: {said}")
        assert error.count("\n") == 1

    def test_help_teaches_the_commands(self) -> None:
        text = output_of([sys.executable, str(TOOLS / "debian_bazel.py"), "--help"])
        for word in ("ensure", "status", "remove", "KVSWAP_BAZEL_CACHE"):
            assert word in text


class TestProgress:
    def test_plain_lines_where_there_is_no_terminal(
        self, progress: Progress, log: io.StringIO
    ) -> None:
        progress.step("one")
        progress.detail("half")
        progress.step("two")
        progress.end()
        assert log.getvalue() == "bazelw: one\nbazelw: two\n"

    def test_one_updating_line_on_a_terminal(self) -> None:
        terminal = Terminal()
        progress = Progress(terminal)
        progress.step("one")
        progress.detail("half")
        assert terminal.getvalue() == "bazelw: one\r\x1b[Kbazelw: one: half"
        progress.fail("no")
        assert terminal.getvalue().endswith("\r\x1b[Kbazelw: one\nbazelw: no\n")


# What bazelw itself calls.
UTILITIES = ("cksum", "cut", "dirname")


def make_program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def make_echo_program(path: Path) -> None:
    """Makes a program that prints its arguments, one a line."""
    make_program(path, 'printf "%s\\n" "$@"')


def make_bazel(path: Path, version: str) -> None:
    """Makes a Bazel that knows its version and otherwise prints its arguments."""
    make_program(
        path,
        f'if [ "$1" = --version ]; then echo "{version}"\n'
        f'else echo "{path.name}"; printf "%s\\n" "$@"; fi',
    )


def output_of(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class TestBazelw:
    """bazelw with nothing on its PATH but what the test puts there."""

    @pytest.fixture
    def path_folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "path"
        folder.mkdir()
        for name in UTILITIES:
            program = shutil.which(name)
            assert program is not None
            (folder / name).symlink_to(program)
        return folder

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        folder = tmp_path / "my workspace"
        (folder / "package").mkdir(parents=True)
        (folder / "MODULE.bazel").touch()
        return folder

    @pytest.fixture
    def bazelw(
        self, path_folder: Path, workspace: Path, tmp_path: Path
    ) -> Callable[..., subprocess.CompletedProcess[str]]:
        def run(*arguments: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [str(ROOT / "bazelw"), *arguments],
                check=False,
                cwd=workspace / folder,
                env={
                    "PATH": str(path_folder),
                    "HOME": str(tmp_path / "home"),
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                capture_output=True,
                text=True,
            )

        return run

    Run = Callable[..., subprocess.CompletedProcess[str]]

    @pytest.mark.parametrize(
        "version", ["bazel 7.0.0", "bazel 7.7.1", "bazel 8.4.2", "bazel 10.0.0-pre"]
    )
    def test_new_bazel_is_used(
        self, version: str, bazelw: Run, path_folder: Path
    ) -> None:
        make_bazel(path_folder / "bazel", version)
        assert bazelw("info").stdout == "bazel\ninfo\n"

    @pytest.mark.parametrize(
        "version", ["bazel 4.2.3", "bazel 6.5.0", "bazel no_version", ""]
    )
    def test_old_or_strange_bazel_is_not_used(
        self, version: str, bazelw: Run, path_folder: Path
    ) -> None:
        make_bazel(path_folder / "bazel", version)
        make_bazel(path_folder / "bazelisk", "bazel 4.2.3")
        assert bazelw("info").stdout == "bazelisk\ninfo\n"

    def test_arguments_are_passed_on_untouched(
        self, bazelw: Run, path_folder: Path
    ) -> None:
        make_bazel(path_folder / "bazel", "bazel 7.7.1")
        arguments = ["--max_idle_secs=5", "build", "a  b", "", "$HOME", "*", "--", "-c"]
        assert bazelw(*arguments).stdout.splitlines() == ["bazel", *arguments]

    def test_exit_code_is_bazels(self, bazelw: Run, path_folder: Path) -> None:
        script = 'if [ "$1" = --version ]; then echo bazel 8; else exit 37; fi'
        make_program(path_folder / "bazel", script)
        assert bazelw("test").returncode == 37

    @pytest.mark.parametrize(
        "arguments",
        [("test", "--config=workspace", "//..."), ("test", "--config", "workspace")],
    )
    def test_workspace_mode_has_an_output_base_of_its_own(
        self,
        arguments: tuple[str, ...],
        bazelw: Run,
        path_folder: Path,
        tmp_path: Path,
    ) -> None:
        make_bazel(path_folder / "bazel", "bazel 7.7.1")
        _, option, *rest = bazelw(*arguments).stdout.splitlines()
        home = tmp_path / "home"
        assert option.startswith(f"--output_base={home}/.cache/kvswap/workspace-mode-")
        assert rest == list(arguments)
        # The same from any folder of the workspace, another one in another workspace.
        below = bazelw(*arguments, folder="package").stdout.splitlines()
        assert below[1] == option
        (tmp_path / "my workspace/package/WORKSPACE").touch()
        other = bazelw(*arguments, folder="package").stdout.splitlines()
        assert other[1] != option

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--output_base=/mine", "test", "--config=workspace"),
            ("--output_base", "/mine", "test", "--config=workspace"),
            ("--output_user_root=/mine", "test", "--config=workspace"),
            ("run", "//:program", "--", "--config=workspace"),
            ("test", "workspace"),
        ],
    )
    def test_output_base_is_otherwise_left_alone(
        self, arguments: tuple[str, ...], bazelw: Run, path_folder: Path
    ) -> None:
        make_bazel(path_folder / "bazel", "bazel 7.7.1")
        assert bazelw(*arguments).stdout.splitlines() == ["bazel", *arguments]

    def test_link_to_itself_on_the_path(self, bazelw: Run, path_folder: Path) -> None:
        (path_folder / "bazel").symlink_to(ROOT / "bazelw")
        make_bazel(path_folder / "bazelisk", "bazel 7.7.1")
        assert bazelw("info").stdout == "bazelisk\ninfo\n"

    def test_private_bazel_is_used(
        self, bazelw: Run, path_folder: Path, tmp_path: Path, progress: Progress
    ) -> None:
        store = debian_bazel.PrefixStore(tmp_path / "home/.cache/kvswap")
        store.ensure(CountingBuilder(), progress)
        make_bazel(store.prefix / "bin/bazel", "bazel 7.7.1")
        make_bazel(path_folder / "bazel", "bazel 4.2.3")
        (path_folder / "python3").symlink_to(sys.executable)
        result = bazelw("build", "a b")
        assert result.stdout.splitlines() == ["bazel", "build", "a b"]
        assert result.stderr == ""

    def test_machine_without_apt(self, bazelw: Run, path_folder: Path) -> None:
        (path_folder / "python3").symlink_to(sys.executable)
        result = bazelw("build")
        assert result.returncode == 1
        assert result.stdout == ""
        assert "no Debian-like system with apt" in result.stderr
        assert result.stderr.count("\n") == 1

    def test_machine_without_python(self, bazelw: Run) -> None:
        result = bazelw("build")
        assert result.returncode == 1
        assert "no python3" in result.stderr
        assert result.stderr.count("\n") == 1
