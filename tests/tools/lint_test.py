"""Tests of tools/lint.py: each check names each mistake, and passes what has none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).absolute().parents[2]
LINT = ROOT / "tools" / "lint.py"
SETTINGS = ("pyproject.toml", ".clang-format")
BUILDIFIER = os.environ.get("KVSWAP_BUILDIFIER") or shutil.which("buildifier")

# A small tree in which nothing is wrong.
CLEAN = {
    "BUILD": '"""A package."""\n\nexports_files(["a.cc"])\n',
    "a.cc": "int Answer() { return 42; }\n",
    "a.py": '"""A module."""\n\n\ndef answer() -> int:\n    return 42\n',
    "docs/a.md": (
        "[code](../a.cc), [folder](../docs/), [part](#part), [web](https://x.example/y)\n"
        "\n"
        "[root](/BUILD) `[no](link)`\n"
        "\n"
        "```python\nx = [1](2)  # [no](link)\n```\n"
        "\n"
        "[named]: a.md#part\n"
    ),
    "a.bzl": (
        '"""Downloads."""\n\n'
        "def a(ctx, more):\n"
        '    ctx.download(url = "a", sha256 = "12")\n'
        '    ctx.execute(["pip", "download", "--require-hashes"])\n'
        '    ctx.execute(["npm", "ci"] + more)\n'
    ),
    "a.lock": "# Two.\na==1 \\\n    --hash=sha256:12\nb==2 --hash=sha256:34\n",
    "package-lock.json": (
        '{\n  "packages": {\n    "": {},\n'
        '    "node_modules/a": {"integrity": "sha512-x"}\n  }\n}\n'
    ),
    "tests/consumers/bad_input/b.lock": "b==1\n",
    "picture.png": "\0 \t ",
}


class Mistake(NamedTuple):
    """A file with a mistake, and how the check names it."""

    check: str
    file: str
    content: str | bytes
    said: str
    mends_itself: bool = False


MISTAKES = [
    Mistake(
        "buildifier",
        "b/BUILD",
        '"""B."""\n\nexports_files( ["a"])\n',
        "b/BUILD:3: not formatted",
        True,
    ),
    Mistake(
        "buildifier",
        "b/b.bzl",
        '"""B."""\n\nload(":c.bzl", "c")\n',
        "b/b.bzl:3: load: ",
        True,
    ),
    Mistake("buildifier", "b.bzl", '"""B."""\n\ndef f(:\n', "b.bzl:3:8: syntax error"),
    Mistake(
        "clang-format",
        "b/b.h",
        "#pragma once\n\nint  f();\n",
        "b/b.h:3:4: error: code should be clang-formatted",
        True,
    ),
    Mistake("ruff", "b/b.py", "\nimport os\n", "b/b.py:2:8: F401", True),
    Mistake("ruff", "b.py", "print(missing)\n", "b.py:1:7: F821"),
    Mistake("ruff", "b.pyi", "x : int\n", "b.pyi:1:2: unformatted", True),
    Mistake(
        "ruff", "b.md", "B\n\n```python\nx=1\n```\n", "b.md:4:2: unformatted", True
    ),
    Mistake("mypy", "b/b.py", "\ndef f(x):\n    return x\n", "b/b.py:2: error: "),
    Mistake("mypy", "b.py", "import a\n\nx: str = a.answer()\n", "b.py:3: error: "),
    Mistake("text", "b", "x\ny \n", "b:2: white space at the end of the line", True),
    Mistake("text", "b.txt", "x\r\n", "b.txt:1: white space at the end", True),
    Mistake("text", "b.txt", "x\ny", "b.txt:2: no newline at the end", True),
    Mistake("text", "b.txt", "x\n\n\n", "b.txt:3: an empty line at the end", True),
    Mistake("text", "b.txt", "\n", "b.txt:1: an empty line at the end", True),
    Mistake("text", "b.cc", "x\n\ty\n", "b.cc:2: a tab"),
    Mistake("text", "b.txt", b"x\n\xff\n", "b.txt:2: not UTF-8"),
    Mistake("links", "b.md", "x\n[b](docs/b.md)\n", "b.md:2: link to docs/b.md"),
    Mistake("links", "b.md", "![b]( <b.png> )\n", "b.md:1: link to b.png"),
    Mistake("links", "b.md", "x\n\n[b]: b.txt\n", "b.md:3: link to b.txt"),
    Mistake("links", "docs/b.md", "[b](../../b.md)\n", "docs/b.md:1: link to ../../b"),
    Mistake("locks", "b.lock", "\nb==1\n", "b.lock:2: b==1 has no --hash=sha256:"),
    Mistake(
        "locks",
        "b.lock",
        "a==1 --hash=sha256:1\nb>=1 \\\n  --hash=sha256:2\n",
        "b.lock:2: b>=1 is not pinned",
    ),
    Mistake("locks", "b.lock", "# b==1\n", "b.lock:1: nothing is locked"),
    Mistake(
        "locks",
        "b/package-lock.json",
        '{"packages": {"":{},\n"b": {"version": "1"}}}\n',
        "b/package-lock.json:2: b has no sha512 integrity",
    ),
    Mistake(
        "locks",
        "b/package-lock.json",
        '{"packages": {"":{},\n"b": {"integrity": "sha512-x",\n"resolved": "x"}}}\n',
        "b/package-lock.json:3: b names a host",
    ),
    Mistake(
        "locks", "b/package-lock.json", "{}\n", "b/package-lock.json:1: no package"
    ),
    Mistake(
        "locks",
        "b/b.bzl",
        'def b(ctx):\n    ctx.download(url = "x")\n',
        "b/b.bzl:2: download without integrity or sha256",
    ),
    Mistake(
        "locks",
        "WORKSPACE",
        'maybe(\n    http_archive,\n    name = "b",\n)\n',
        "WORKSPACE:1: http_archive without integrity or sha256",
    ),
    Mistake(
        "locks",
        "b.bzl",
        'def b(ctx):\n    ctx.execute(["python3", "-m", "pip", "download", "b"])\n',
        "b.bzl:2: pip without --require-hashes",
    ),
    Mistake(
        "locks",
        "b.bzl",
        'def b(ctx, more):\n    ctx.execute(["pip", "install"] + more)\n\n'
        'def c(ctx):\n    b(ctx, ["--require-hashes"])\n    b(ctx, [])\n',
        "b.bzl:6: pip without --require-hashes",
    ),
    Mistake(
        "locks",
        "b.bzl",
        'def b(ctx, npm):\n    ctx.execute([npm, "install"])\n',
        "b.bzl:2: npm without ci",
    ),
]

CHECKS = list(dict.fromkeys(mistake.check for mistake in MISTAKES))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name in SETTINGS:
        write(folder / name, (ROOT / name).read_text())
    for name, content in CLEAN.items():
        write(folder / name, content)
    return folder


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def lint(
    tree: Path,
    *arguments: str,
    python: str = sys.executable,
    buildifier: str = str(BUILDIFIER),
) -> subprocess.CompletedProcess[str]:
    # Set under Bazel, and keeps a program from finding the modules beside it.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    return subprocess.run(
        [
            python,
            "-B",
            str(LINT),
            f"--root={tree}",
            f"--buildifier={buildifier}",
            *arguments,
        ],
        check=False,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def skip_without_program(check: str) -> None:
    if check == "buildifier" and (
        BUILDIFIER is None
        or subprocess.run([BUILDIFIER, "--version"], check=False).returncode != 0
    ):
        pytest.skip("there is no buildifier")


def contents(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("check", CHECKS)
def test_clean_tree_passes_and_is_not_written_to(tree: Path, check: str) -> None:
    skip_without_program(check)
    before = contents(tree)
    result = lint(tree, check, "--fix")
    assert result.returncode == 0, result.stdout
    assert result.stdout.endswith("files, nothing wrong\n")
    assert contents(tree) == before


@pytest.mark.parametrize(
    "mistake", MISTAKES, ids=lambda mistake: f"{mistake.check} {mistake.said}"
)
def test_mistake_is_named(tree: Path, mistake: Mistake) -> None:
    skip_without_program(mistake.check)
    path = tree / mistake.file
    write(path, mistake.content)
    before = contents(tree)

    result = lint(tree, mistake.check)
    assert result.returncode == 1, result.stdout
    lines = result.stdout.splitlines()
    assert any(line.startswith(mistake.said) for line in lines), result.stdout
    # Nothing else is wrong, and nothing else is blamed.
    assert not [line for line in lines if line.startswith(tuple(CLEAN))], result.stdout
    assert contents(tree) == before

    if mistake.mends_itself:
        assert lines[-1].endswith(f"run tools/lint.py --fix {mistake.check}")
        result = lint(tree, "--fix", mistake.check)
        assert result.returncode == 0, result.stdout
        changed = contents(tree)
        assert changed.keys() == before.keys()
        differing = [name for name in before if changed[name] != before[name]]
        assert differing == [mistake.file]


def test_what_does_not_mend_itself_is_named_after_fixing(tree: Path) -> None:
    write(tree / "b.txt", "x\ty \n")
    result = lint(tree, "--fix", "text")
    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == "b.txt:1: a tab"
    assert (tree / "b.txt").read_text() == "x\ty\n"


def test_every_check_of_the_program_is_tested(tree: Path) -> None:
    text = lint(tree, "--help").stdout
    checks = text.partition("checks (default: all):\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in checks.splitlines()] == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_runs_on_the_repository(check: str) -> None:
    assert f'"{check}"' in (ROOT / "tests/lint/BUILD").read_text()


def test_without_names_all_checks_run(tree: Path) -> None:
    write(tree / "b.txt", "x ")
    output = lint(tree, buildifier="/no/buildifier").stdout
    for check in CHECKS:
        assert f"\n{check}: " in f"\n{output}"


def test_check_that_covers_nothing_fails(tree: Path) -> None:
    (tree / "docs/a.md").unlink()
    result = lint(tree, "links")
    assert result.returncode == 1
    assert "no file is named *.md" in result.stdout


@pytest.mark.parametrize("check", ["clang-format", "mypy", "ruff"])
def test_missing_module(tree: Path, tmp_path: Path, check: str) -> None:
    environment = tmp_path / "environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True
    )
    write(tree / "b.txt", "x ")
    python = str(environment / "bin/python3")
    result = lint(tree, check, "text", python=python)
    assert result.returncode == 2
    module = check.replace("-", "_")
    first, *others = result.stdout.splitlines()
    assert first.startswith(f"{check}: not run: {python} has no {module}")
    assert "./bazelw run //tools:lint" in first
    # The other checks run all the same.
    assert any(line.startswith("b.txt:1: ") for line in others)


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_missing_buildifier(tree: Path, fix: tuple[str, ...]) -> None:
    result = lint(tree, "buildifier", *fix, buildifier="/no/buildifier")
    assert result.returncode == 2
    assert "/no/buildifier: No such file" in result.stdout
    assert "./bazelw run //tools:lint" in result.stdout


def test_buildifier_that_says_why_it_does_not_run(tree: Path, tmp_path: Path) -> None:
    program = tmp_path / "buildifier"
    program.write_text("#!/bin/sh\necho install npm >&2\nexit 1\n")
    program.chmod(0o755)
    result = lint(tree, "buildifier", buildifier=str(program))
    assert result.returncode == 2
    assert result.stdout == "buildifier: not run: install npm\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nonsense"], "no check nonsense"), (["--root=/no/tree"], "is no source tree")],
)
def test_wrong_arguments(tree: Path, arguments: list[str], said: str) -> None:
    result = lint(tree, *arguments)
    assert result.returncode == 2
    assert said in result.stdout


class TestSources:
    """What is a source, and what is left behind by tools."""

    @pytest.fixture
    def wrong(self, tree: Path) -> Path:
        """The clean tree, with wrong files that are no sources."""
        for name in ("bazel-bin/b.txt", "user.bazelrc", "__pycache__/b.txt"):
            write(tree / name, "x ")
        write(tree.parent / "outside/b.txt", "x ")
        (tree / "bazel-out").symlink_to(tree.parent / "outside")
        (tree / "link.txt").symlink_to(tree.parent / "outside/b.txt")
        write(tree / ".gitignore", "/bazel-*\nuser.bazelrc\n__pycache__\n")
        return tree

    @staticmethod
    def git(folder: Path, *arguments: str) -> None:
        if shutil.which("git") is None:
            pytest.skip("there is no git")
        subprocess.run(["git", *arguments], cwd=folder, check=True)

    @staticmethod
    def check(tree: Path) -> None:
        assert lint(tree, "text").returncode == 0
        write(tree / "new/b.txt", "x \n")
        result = lint(tree, "text")
        assert result.returncode == 1
        assert result.stdout.startswith("new/b.txt:1: ")

    def test_without_git(self, wrong: Path) -> None:
        self.check(wrong)

    def test_in_git(self, wrong: Path) -> None:
        self.git(wrong, "init", "--quiet")
        write(wrong / ".gitignore", "/bazel-*\nuser.bazelrc\n__pycache__\n/mine\n")
        write(wrong / "mine/b.txt", "x ")
        write(wrong / "gone.txt", "x\n")
        self.git(wrong, "add", "gone.txt")
        (wrong / "gone.txt").unlink()
        self.check(wrong)

    def test_link_to_what_git_ignores(self, wrong: Path) -> None:
        self.git(wrong, "init", "--quiet")
        write(wrong / "b.md", "[b](bazel-bin/b.txt)\n")
        result = lint(wrong, "links")
        assert result.returncode == 1
        assert result.stdout.startswith("b.md:1: link to bazel-bin/b.txt")

    def test_in_a_checkout_of_something_else_that_ignores_it(self, wrong: Path) -> None:
        self.git(wrong.parent, "init", "--quiet")
        write(wrong.parent / ".gitignore", "*\n")
        self.check(wrong)
