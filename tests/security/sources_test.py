"""What the sources may not do, whichever function is to do it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_SOURCES = sorted(
    path for path in Path("csrc").rglob("*") if path.suffix in (".c", ".cc", ".h")
)

# dlopen's first argument: everywhere a library is loaded.
_LOADS = {
    "csrc/bindings/torch/current_stream.cc",  # what torch itself has loaded
    "csrc/driver/library.cc",
    "csrc/sim/kernel_plugins.cc",
    "csrc/sim/options.cc",  # itself
}


def code_of(text: str) -> str:
    """A C++ source without its comments and texts."""
    return _CODE.sub(" ", text)


def findings(text: str) -> list[str]:
    """What a source does that none may, each with what to do instead."""
    code = code_of(text)
    found = []
    if re.search(r"(?<!secure_)\bgetenv\s*\(", code):
        found.append("getenv: call secure_getenv, for set-user-ID programs")
    if re.search(r"\b(system|popen|execl\w*|execv\w*|posix_spawnp?)\s*\(", code):
        found.append("runs a program: kvswap starts none")
    if re.search(r"\b(socket|connect|bind|getaddrinfo)\s*\(", code):
        found.append("opens a connection: kvswap uses no network")
    return found


def test_there_are_sources() -> None:
    assert len(_SOURCES) > 100


@pytest.mark.parametrize("source", _SOURCES, ids=str)
def test_sources_do_nothing_that_they_may_not(source: Path) -> None:
    assert findings(source.read_text(encoding="utf-8")) == []


def test_libraries_are_loaded_where_it_is_known() -> None:
    loading = {
        str(source)
        for source in _SOURCES
        if re.search(r"\bdlm?open\s*\(", code_of(source.read_text(encoding="utf-8")))
    }
    assert loading == _LOADS


def test_the_driver_is_found_by_name_or_in_a_folder_of_the_system() -> None:
    """No relative path, no folder that everybody may write to."""
    text = Path("csrc/driver/library.cc").read_text(encoding="utf-8")
    (names,) = re.findall(r"kDefaultNames\[\] = \{(.*?)\};", text, re.DOTALL)
    found = re.findall(r'"([^"]+)"', names)
    assert found
    for name in found:
        assert "/" not in name or name.startswith("/usr/lib/"), name


@pytest.mark.parametrize(
    "text",
    [
        'const char* path = std::getenv("KVSWAP_LIBCUDA");',
        'const char* path = ::getenv ("KVSWAP_LIBCUDA");',
        'system("ls");',
        "int number = socket(AF_INET, SOCK_STREAM, 0);",
    ],
)
def test_mistakes_are_found(text: str) -> None:
    assert findings(text)


@pytest.mark.parametrize(
    "text",
    [
        'const char* path = secure_getenv("KVSWAP_LIBCUDA");',
        "// getenv() would read it\n",
        '/* system() */ Fail("getenv(name)");',
    ],
)
def test_controls_are_not(text: str) -> None:
    assert findings(text) == []
