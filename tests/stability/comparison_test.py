"""How differences to the committed lists are judged, and what the readers understand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import set_version
from tests.stability import (
    c_interface,
    exported_symbols,
    operator_schemas,
    python_interface,
)
from tests.stability.c_header import Field, parse
from tests.stability.committed_list import (
    CommittedList,
    Entries,
    check,
    compare,
    no_rule,
)
from tests.stability.update import update

_LAYOUT = {
    "options": "struct, 16 bytes, alignment 8",
    "options.struct_size": "offset 0, 8 bytes, size_t",
    "options.engine": "offset 8, 4 bytes, int32_t",
    "memory": "struct, 8 bytes, alignment 4",
    "memory.kind": "offset 0, 4 bytes, int32_t",
    "status": "enum, 4 bytes",
    "status.OK": "0",
}


def _layout(changes: Entries) -> tuple[list[str], list[str]]:
    found = compare(_LAYOUT, {**_LAYOUT, **changes}, c_interface.rule)
    return found.additions, found.breaks


def test_the_same_is_no_difference() -> None:
    assert not compare(_LAYOUT, dict(_LAYOUT), c_interface.rule)


def test_an_enumerator_more_is_an_addition() -> None:
    additions, breaks = _layout({"status.BUSY": "1"})
    assert len(additions) == 1 and not breaks


def test_an_enumerator_of_another_value_is_a_break() -> None:
    additions, breaks = _layout({"status.OK": "1"})
    assert not additions and len(breaks) == 1


def test_what_goes_is_a_break() -> None:
    now = {name: text for name, text in _LAYOUT.items() if name != "status.OK"}
    found = compare(_LAYOUT, now, c_interface.rule)
    assert not found.additions
    assert found.breaks == ["removed: status.OK: 0"]


def test_a_field_at_the_end_is_an_addition() -> None:
    additions, breaks = _layout(
        {
            "options": "struct, 24 bytes, alignment 8",
            "options.limit": "offset 16, 8 bytes, size_t",
        }
    )
    assert len(additions) == 2 and not breaks


def test_a_field_in_the_padding_is_a_break() -> None:
    additions, breaks = _layout({"options.limit": "offset 12, 4 bytes, int32_t"})
    assert not additions
    assert "callers of today own the first 16 bytes" in breaks[0]


def test_a_structure_without_a_size_cannot_grow() -> None:
    additions, breaks = _layout(
        {
            "memory": "struct, 12 bytes, alignment 4",
            "memory.device": "offset 8, 4 bytes, int32_t",
        }
    )
    assert "it has no struct_size" in breaks[0]


@pytest.mark.parametrize(
    "structure",
    ["struct, 8 bytes, alignment 8", "struct, 32 bytes, alignment 16"],
)
def test_a_structure_that_shrinks_or_is_aligned_otherwise_is_a_break(
    structure: str,
) -> None:
    additions, breaks = _layout({"options": structure})
    assert not additions and len(breaks) == 1


def test_a_new_structure_is_an_addition() -> None:
    additions, breaks = _layout(
        {
            "more": "struct, 8 bytes, alignment 8",
            "more.struct_size": "offset 0, 8 bytes, size_t",
        }
    )
    assert len(additions) == 2 and not breaks


def test_a_new_parameter_needs_a_default() -> None:
    before = {"plan": "function"}
    optional = {"plan": "function", "plan(flag)": "keyword, bool, default False"}
    required = {"plan": "function", "plan(flag)": "keyword, bool, required"}
    assert not compare(before, optional, python_interface.rule).breaks
    assert "give it a default" in str(compare(before, required, python_interface.rule))
    assert compare(before, required, python_interface.rule).breaks
    # With the function itself it is no burden to anyone.
    assert not compare({}, required, python_interface.rule).breaks


_SCHEMA = {"kvswap::copy": "(Tensor src, Tensor(a!) dst) -> ()"}


def test_an_argument_more_is_an_addition_with_a_default_at_the_end() -> None:
    def differences(schema: str) -> tuple[int, int]:
        now = {"kvswap::copy": schema}
        found = compare(_SCHEMA, now, operator_schemas.rule)
        return len(found.additions), len(found.breaks)

    assert differences("(Tensor src, Tensor(a!) dst, bool any=False) -> ()") == (1, 0)
    for broken in (
        "(Tensor src, Tensor(a!) dst, bool any) -> ()",
        "(Tensor src, bool any=False, Tensor(a!) dst) -> ()",
        "(Tensor src, Tensor dst) -> ()",
        "(Tensor src) -> ()",
        "(Tensor src, Tensor(a!) dst, bool any=False) -> Tensor",
    ):
        assert differences(broken) == (0, 1), broken


def test_schemas_are_found_in_the_sources() -> None:
    assert set(operator_schemas.collect()) == {
        "kvswap::swap_blocks",
        "kvswap::swap_blocks_batch",
    }


def test_a_new_export_has_the_version_of_its_release() -> None:
    major, minor, _ = set_version.read_version(Path.cwd()).split(".")
    before = {"kvswap_old": "KVSWAP_0.0"}
    now = {"kvswap_new": f"KVSWAP_{major}.{minor}"}
    found = compare(before, before | now, exported_symbols.rule)
    assert len(found.additions) == 1 and not found.breaks
    late = {"kvswap_new": "KVSWAP_0.0"}
    found = compare(before, before | late, exported_symbols.rule)
    assert "the version of what comes now is" in found.breaks[0]


def test_failures_say_what_to_do() -> None:
    committed = CommittedList("numbers", "Numbers", lambda: {"one": "1"}, no_rule)
    check(committed, "# Numbers\none: 1\n")
    with pytest.raises(AssertionError) as addition:
        check(committed, "")
    assert "added:   one: 1" in str(addition.value)
    assert "./bazelw run //tests/stability:update`" in str(addition.value)
    with pytest.raises(AssertionError) as change:
        check(committed, "one: 2\n")
    assert "BREAK     changed: one: 2 -> 1" in str(change.value)
    assert "--accept-breaks" in str(change.value)


def test_update_writes_additions_and_asks_about_breaks(tmp_path: Path) -> None:
    committed = CommittedList("numbers", "Numbers", lambda: {"one": "1"}, no_rule)
    path = tmp_path / committed.path
    path.parent.mkdir(parents=True)
    assert update(committed, tmp_path, accept_breaks=False)
    assert path.read_text() == committed.text()
    assert path.read_text().endswith("\none: 1\n")
    path.write_text("one: 2\n")
    assert not update(committed, tmp_path, accept_breaks=False)
    assert path.read_text() == "one: 2\n"
    assert update(committed, tmp_path, accept_breaks=True)
    assert path.read_text() == committed.text()


_HEADER = """
#define SOME_H_
#define SOME_API
#define SOME_SIZE 4 /* elements */
#ifdef __cplusplus
extern "C" {
#endif
/* Not a field; */
typedef struct options {
  size_t struct_size;  /* first; */
  const void* const* places;
  char text[SOME_SIZE];
} options;
typedef struct handle handle;
SOME_API const char* name_of(int32_t a, const options
    *b);
SOME_API int none(void);
EXTRA
#ifdef __cplusplus
} /* extern "C" */
#endif
"""


def test_a_header_is_read() -> None:
    header = parse(_HEADER.replace("EXTRA", ""))
    assert header.structures == {
        "options": (
            Field("struct_size", "size_t"),
            Field("places", "const void* const*"),
            Field("text", "char[SOME_SIZE]"),
        )
    }
    assert header.macros == {"SOME_SIZE": "4"}
    assert header.opaque == ("handle",)
    assert {name: str(text) for name, text in header.functions.items()} == {
        "name_of": "const char* (int32_t, const options*)",
        "none": "int (void)",
    }


@pytest.mark.parametrize(
    "declaration",
    [
        "typedef int number;",
        "typedef struct one another;",
        "int not_marked(void);",
        "typedef struct odd { int bits : 3; } odd;",
        "typedef struct odd { void (*call)(int); } odd;",
        "typedef struct odd { int a, b; } odd;",
        "typedef enum odd { WITHOUT_VALUE } odd;",
        "SOME_API int callback(int (*function)(void));",
        "union odd { int a; };",
    ],
)
def test_what_is_not_understood_is_an_error(declaration: str) -> None:
    with pytest.raises(ValueError, match="c_header.py"):
        parse(_HEADER.replace("EXTRA", declaration))


def test_public_names_exist() -> None:
    for module in python_interface.PUBLIC_MODULES:
        assert python_interface.public_names(module)


def test_private_bases_give_their_members() -> None:
    entries = python_interface.describe("kvswap.testing.cuda_driver")
    assert entries["kvswap.testing.cuda_driver.Stream.close"]
    assert not any("._" in name and "__" not in name for name in entries)


def test_parameters_are_described() -> None:
    function = ast.parse(
        "def f(self, a, /, b: int, c='x', *rest: str, d=1, e, **more): ..."
    ).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert python_interface.describe_function("f", function, True) == {
        "f": "function, returns not annotated",
        "f(a)": "positional only 1, not annotated, required",
        "f(b)": "parameter 2, int, required",
        "f(c)": "parameter 3, not annotated, default 'x'",
        "f(*rest)": "any number, str",
        "f(d)": "keyword, not annotated, default 1",
        "f(e)": "keyword, not annotated, required",
        "f(**more)": "any number, not annotated",
    }
