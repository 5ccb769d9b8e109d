"""Every test in C++ is on the list of tests that CI runs with sanitizers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# Of the source tree, whose link this file is.
_TESTS = Path(__file__).resolve().parents[1]
_RULE = re.compile(r"^(abi_matrix_)?cc_test\(\n(.*?)^\)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r'^    name = "(\w+)"', re.MULTILINE)
# The row of the ABI matrix that the sanitizers' configurations leave.
_ROW = "_cuda12.8"

# What they leave out: it is for builds without a toolkit.
_LEFT_OUT = {"//tests/abi:no_toolkit_test"}


def _tests_in_c() -> Iterator[str]:
    for build in sorted(_TESTS.glob("*/BUILD")):
        for rule in _RULE.finditer(build.read_text(encoding="utf-8")):
            name = _NAME.search(rule[2])
            assert name is not None, rule[0]
            if "no_sanitizer" not in rule[2]:
                row = _ROW if rule[1] else ""
                yield f"//tests/{build.parent.name}:{name[1]}{row}"
    for source in sorted((_TESTS / "fuzz").glob("*_fuzzer.cc")):
        yield f"//tests/fuzz:{source.stem}_test"


def _listed(suite: str) -> set[str]:
    build = (_TESTS / "sanitizers" / "BUILD").read_text(encoding="utf-8")
    _, begin, rest = build.partition(f'    name = "{suite}",\n')
    assert begin
    return set(re.findall(r'^        "(//[^"]+)",$', rest.partition("\n)")[0], re.M))


def test_every_test_in_c_is_listed() -> None:
    found = set(_tests_in_c())
    assert len(found) > 12 and found > _LEFT_OUT
    abi = (_TESTS / "abi" / "BUILD").read_text(encoding="utf-8")
    _, _, rest = abi.partition('name = "sanitizer_tests",')
    listed = _listed("memory_tests") | {
        f"//tests/abi{name}"
        for name in re.findall(r'"(:[^"]+)"', rest.partition("]")[0])
    }
    assert found - listed == _LEFT_OUT


def test_threads_are_looked_at_in_listed_tests_alone() -> None:
    assert _listed("thread_tests") <= _listed("memory_tests") | {
        f"//tests/abi:resolve_once_test{_ROW}"
    }
