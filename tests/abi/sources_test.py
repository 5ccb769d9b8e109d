"""What the sources may say about CUDA.

Whatever cuda_driver_types.h claims about the driver is compared with NVIDIA's headers,
and only the file that does it depends on a toolkit.
"""

import pathlib
import re

import pytest

CSRC = pathlib.Path("csrc")
CHECK = CSRC / "abi" / "toolkit_abi_check.cc"
TYPES = CSRC / "abi" / "cuda_driver_types.h"


def code_of(path: pathlib.Path) -> str:
    """The text of a C or C++ file without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text(), flags=re.DOTALL)


def sources() -> list[pathlib.Path]:
    return sorted(
        path for path in CSRC.rglob("*") if path.suffix in (".c", ".cc", ".h")
    )


def test_control_sources_are_found() -> None:
    assert CHECK in sources()
    assert CSRC / "kvswap.h" in sources()
    assert CSRC / "driver" / "driver_entries.h" in sources()


@pytest.mark.parametrize("path", sources(), ids=str)
def test_only_the_check_depends_on_a_toolkit(path: pathlib.Path) -> None:
    depends = re.search(r"\bCUDA_VERSION\b|#include\s*[<\"]cuda", code_of(path))

    assert bool(depends) == (path == CHECK)


def named(pattern: str) -> list[str]:
    names = re.findall(pattern, code_of(TYPES))
    assert names, f"{TYPES} holds nothing like {pattern}"
    return names


@pytest.mark.parametrize("name", named(r"\b(k[A-Z]\w*)\s*="))
def test_every_constant_is_checked(name: str) -> None:
    assert re.search(rf"KVSWAP_CHECK_VALUE\({name},\s", code_of(CHECK)) or (
        # cuda.h has no name for it: it is the null pointer.
        name == "kStreamNull"
    )


@pytest.mark.parametrize(
    "name", named(r"\b(?:enum|using)\s+([A-Z](?:(?!_v\d)\w)*)\s*[:=]")
)
def test_every_type_is_checked(name: str) -> None:
    assert re.search(rf"KVSWAP_CHECK_TYPE\({name},\s", code_of(CHECK))


@pytest.mark.parametrize(
    "name, fields", re.findall(r"\bstruct\s+(\w+)\s*\{(.*?)\};", code_of(TYPES), re.S)
)
def test_every_field_is_checked(name: str, fields: str) -> None:
    for field in re.findall(r"(\w+)\s*;", fields):
        assert re.search(rf"KVSWAP_CHECK_FIELD\({name}, {field},\s", code_of(CHECK)), (
            f"{name}::{field}"
        )


@pytest.mark.parametrize("name, version", named(r"\busing\s+(\w+)_v(\d+)\s*="))
def test_every_function_is_checked(name: str, version: str) -> None:
    entries = code_of(CSRC / "driver" / "driver_entries.h")
    row = rf"ROW\({name}, {version}, "
    check = rf"KVSWAP_CHECK_FUNCTION\({name}, {version}\)"

    assert re.search(row, entries) or re.search(check, code_of(CHECK))
