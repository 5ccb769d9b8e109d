"""Blocks of other languages.

C compiles; C++ and CMake are parts of the example; commands have the options; Starlark
parses.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kvswap_sim
from kvswap.command_line import (
    COMMANDS,
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    make_parser,
)
from kvswap.doctor.report import EXIT_STATUSES
from tests.docs.pages import ROOT, Block, all_blocks

# What a piece of a program takes for granted.
_AROUND = """\
{includes}
#include <stdio.h>
void piece(const void* const* src_ptrs, void* const* dst_ptrs, const size_t* sizes,
           size_t count, void* stream);
void piece(const void* const* src_ptrs, void* const* dst_ptrs, const size_t* sizes,
           size_t count, void* stream) {{
#line {line}
{body}
}}
"""


def _c_source(block: Block) -> str:
    if re.search(r"\bint main\(", block.text):
        return block.text
    includes = re.findall(r"^#include .*$", block.text, re.MULTILINE)
    # Blank lines in place of the includes keep the numbers of the others.
    body = re.sub(r"^#include .*$", "", block.text, flags=re.MULTILINE)
    return _AROUND.format(includes="\n".join(includes), body=body, line=block.line + 1)


@functools.cache
def _compiler() -> str:
    names = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    for name in filter(None, names):
        if found := shutil.which(name):
            return found
    pytest.skip("there is no C compiler: CC, cc, gcc or clang")


def _compile(block: Block, folder: Path) -> Path:
    source, program = folder / "block.c", folder / "block"
    source.write_text(_c_source(block), encoding="utf-8")
    runs = "int main(" in block.text
    package = Path(_package())
    subprocess.run(
        [
            _compiler(),
            "-std=c99",
            "-Wall",
            "-Werror",
            f"-I{package / 'include'}",
            str(source),
            *(["-o", str(program)] if runs else ["-c", "-o", str(program)]),
            *(
                [f"-L{package}", f"-Wl,-rpath,{package}", "-lkvswap", "-ldl"]
                if runs
                else []
            ),
        ],
        check=True,
        text=True,
        capture_output=True,
    )
    if runs:
        environment = {**os.environ, **kvswap_sim.environment("13.0")}
        subprocess.run([program], check=True, env=environment, timeout=60)
    return program


@functools.cache
def _package() -> str:
    import kvswap

    return kvswap.get_library_dir()


@pytest.mark.parametrize("block", all_blocks("c"), ids=str)
def test_c_compiles(block: Block, tmp_path: Path) -> None:
    try:
        _compile(block, tmp_path)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{block}: {error.stderr}")


def test_wrong_c_fails(tmp_path: Path) -> None:
    block = Block("page", 1, '#include "kvswap.h"\nkvswap_swap_all(count);\n')
    with pytest.raises(subprocess.CalledProcessError) as error:
        _compile(block, tmp_path)
    assert "kvswap_swap_all" in error.value.stderr


_EXAMPLE = ROOT / "examples/cpp_program"


def _is_part_of(block: Block, *files: str) -> bool:
    """Whether a file has the block's lines one after another, however indented."""

    def lines(text: str) -> str:
        return "\n".join(["", *(line.strip() for line in text.splitlines()), ""])

    return any(
        lines(block.text) in lines((_EXAMPLE / name).read_text(encoding="utf-8"))
        for name in files
    )


@pytest.mark.parametrize("block", all_blocks("cpp"), ids=str)
def test_cpp_is_part_of_the_example(block: Block) -> None:
    assert _is_part_of(block, "swap_pools.cc", "driver.h")


@pytest.mark.parametrize("block", all_blocks("cmake"), ids=str)
def test_cmake_is_part_of_the_example(block: Block) -> None:
    assert _is_part_of(block, "CMakeLists.txt")


def test_what_is_no_part_of_the_example_fails() -> None:
    text = all_blocks("cpp")[0].text
    assert not _is_part_of(Block("page", 1, text + "return 0;"), "swap_pools.cc")
    assert not _is_part_of(Block("page", 1, text[1:]), "swap_pools.cc")


# python -m kvswap bench --seconds=300 [--json=FILE]
_PROGRAM = re.compile(
    r"^(?:\w+=\S+ )*(?:python3? -m kvswap|kvswap) (?P<command>\w+)(?P<rest>[^#]*)"
)
_OPTION = re.compile(r"--[a-z][\w-]*")
_CONFIG = re.compile(r"--config=([\w.]+)")


def _lines(block: Block) -> list[str]:
    joined = block.text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines()]


def _options() -> list[tuple[str, str, str]]:
    """Where, the command, an option that is given to it ("" for none)."""
    found = []
    for block in all_blocks("console", "sh", "bash"):
        for line in _lines(block):
            if match := _PROGRAM.match(line):
                names = _OPTION.findall(match["rest"]) or [""]
                found += [(str(block), match["command"], name) for name in names]
    return sorted(set(found))


@functools.cache
def _help(command: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "kvswap", command, "--help"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            # Help is not to be wrapped inside of an option's name.
            "COLUMNS": "200",
        },
        text=True,
        capture_output=True,
        timeout=120,
    )
    return result.stdout + result.stderr


def _knows(command: str, option: str) -> bool:
    text = _help(command)
    # absl shows a flag as --[no]name where it may be negated.
    pattern = re.escape(option).replace(r"\-\-", r"--(?:\[no\])?", 1)
    return bool(re.search(rf"{pattern}(?![\w-])", text)) or (
        not option and command in text
    )


@pytest.mark.parametrize(("where", "command", "option"), _options())
def test_options_of_kvswap_are_there(where: str, command: str, option: str) -> None:
    assert _knows(command, option), f"{where}: kvswap {command} knows no {option}"


# Pages that name the options of a command in their text.
_PAGES_OF_COMMANDS = {
    "docs/benchmarking.md": "bench",
    "docs/connector.md": "bench",
    "docs/doctor.md": "doctor",
}


@pytest.mark.parametrize("page", _PAGES_OF_COMMANDS)
def test_options_in_the_text_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    options = set(re.findall(r"`(--[a-z][\w-]*)", text)) - {"--config"}
    assert options
    command = _PAGES_OF_COMMANDS[page]
    assert not [option for option in options if not _knows(command, option)]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str) -> None:
    actions = make_parser()[1][command]._actions
    assert len(actions) > 3
    assert not [action.option_strings for action in actions if not action.help]


def test_exit_statuses_are_explained() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    table = text.partition("| exit status | |")[2].partition("\n\n")[0]
    rows = set(re.findall(r"\d+", " ".join(re.findall(r"^\| ([^|]+)", table, re.M))))
    of_doctor = {str(status) for status in EXIT_STATUSES.values()}
    of_all = {str(s) for s in (EXIT_USAGE, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE)}
    assert rows == {"0", "1"} | of_all | of_doctor
    # Each command's own are in its help too.
    for command in COMMANDS:
        assert "exit status" in _help(command)


def test_a_wrong_option_fails() -> None:
    assert _options()
    assert not _knows("bench", "--no-such-option")


def test_configurations_of_bazel_are_there() -> None:
    there = set(
        re.findall(
            r"^\w+:([\w.]+) ", (ROOT / ".bazelrc").read_text(encoding="utf-8"), re.M
        )
    )
    assert "release" in there
    missing = [
        f"{block}: --config={name}"
        for block in all_blocks("console", "sh", "bash")
        for name in _CONFIG.findall(block.text)
        if name not in there
    ]
    assert not missing


def test_console_lines_are_shell() -> None:
    for block in all_blocks("console", "sh", "bash"):
        for line in _lines(block):
            shlex.split(line, comments=True)


# What these pages show of it is Python's grammar too.
@pytest.mark.parametrize("block", all_blocks("starlark"), ids=str)
def test_starlark_parses(block: Block) -> None:
    ast.parse(block.text)
