"""Wrong arguments: an error that names argument and index, and nothing submitted."""

from __future__ import annotations

import array
import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import kvswap

ARRAYS = ["src_ptrs", "dst_ptrs", "sizes"]

COUNT = 3
SIZE = 8


@pytest.fixture(params=["swap_blocks_batch", "plan"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Each of the two functions that take descriptors."""
    function: Callable[..., Any] = getattr(kvswap, request.param)
    return function


@pytest.fixture
def memory() -> Any:
    """Host memory: COUNT sources, then COUNT destinations."""
    return (ctypes.c_uint64 * (2 * COUNT))(*range(1, 2 * COUNT + 1))


@pytest.fixture
def arguments(memory: Any, context: None) -> dict[str, Any]:
    """Arguments with nothing wrong: the control of every test here."""
    source = ctypes.addressof(memory)
    destination = source + COUNT * SIZE
    return {
        "src_ptrs": array.array("q", range(source, destination, SIZE)),
        "dst_ptrs": array.array(
            "q", range(destination, destination + COUNT * SIZE, SIZE)
        ),
        "sizes": array.array("q", [SIZE] * COUNT),
        "stream": 0,
    }


@pytest.fixture(autouse=True)
def nothing_submitted(memory: Any) -> Any:
    """Whatever a test here does, no byte is copied and no copy counted."""
    bytes_before = bytes(memory)
    copies_before = kvswap.stats().copies
    yield
    assert kvswap.stats().copies == copies_before
    assert bytes(memory) == bytes_before


def refused(
    call: Callable[..., Any],
    arguments: dict[str, Any],
    error: type[Exception],
    *fragments: str,
) -> None:
    """Checks that the call raises exactly `error`, with all fragments in its text."""
    with pytest.raises(error) as raised:
        call(**arguments)
    assert raised.type is error
    for fragment in fragments:
        assert fragment in str(raised.value)


def test_control_is_accepted(arguments: dict[str, Any]) -> None:
    assert kvswap.plan(**arguments).copies == COUNT


NOT_ARRAYS: dict[str, tuple[Any, ...]] = {
    "list": ([1, 2, 3], "not a list", 'array.array("q", {name})'),
    "tuple": ((1, 2, 3), "not a tuple", 'array.array("q", {name})'),
    "none": (None, "not None"),
    "int": (1, "not an int"),
    "str": ("123", "not a str"),
    "range": (range(3), "not a range"),
    "class": (array.array, "not the class <class 'array.array'>"),
    "bytes": (bytes(24), "items of format 'B'"),
    "float64": (numpy.zeros(3), "dtype float64"),
    "int32": (numpy.zeros(3, numpy.int32), "dtype int32"),
    "bool": (numpy.zeros(3, bool), "dtype bool"),
    "object": (numpy.zeros(3, object), "dtype object"),
    "complex64": (numpy.zeros(3, numpy.complex64), "dtype complex64"),
    "text": (numpy.array(["a", "b", "c"]), "dtype <U1"),
    "record": (numpy.zeros(3, "i4,i4"), "dtype [('f0'"),
    "other byte order": (numpy.zeros(3, ">i8"), "dtype >i8"),
    "datetime64": (numpy.zeros(3, "M8[s]"), "does not lend its memory"),
    "array.array of double": (array.array("d", [1, 2, 3]), "items of format 'd'"),
    "array.array of int": (array.array("i", [1, 2, 3]), "items of format 'i'"),
    "ctypes double": ((ctypes.c_double * 3)(), "items of format '<d'"),
    "ctypes big-endian": (
        (ctypes.c_uint64.__ctype_be__ * 3)(),
        "items of format '>",
    ),
    "torch.float32": (torch.zeros(3), "dtype torch.float32"),
    "torch.int32": (torch.zeros(3, dtype=torch.int32), "dtype torch.int32"),
    "torch.bool": (torch.zeros(3, dtype=torch.bool), "dtype torch.bool"),
    "torch on another device": (
        torch.zeros(3, dtype=torch.int64, device="meta"),
        "on device meta",
        "CPU",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("case", NOT_ARRAYS)
def test_type_of_an_array(
    call: Callable[..., Any], arguments: dict[str, Any], name: str, case: str
) -> None:
    value, *fragments = NOT_ARRAYS[case]
    arguments[name] = value
    refused(
        call,
        arguments,
        TypeError,
        name,
        *(fragment.format(name=name) for fragment in fragments),
    )


MISSHAPEN: dict[str, tuple[Any, str]] = {
    "numpy 0-d": (numpy.array(5), "has 0 dimensions"),
    "numpy 2-d": (numpy.zeros((3, 1), numpy.int64), "has 2 dimensions"),
    "numpy strided": (numpy.zeros(6, numpy.int64)[::2], "is not contiguous"),
    "numpy reversed": (numpy.zeros(3, numpy.int64)[::-1], "is not contiguous"),
    "numpy broadcast": (
        numpy.broadcast_to(numpy.int64(5), (3,)),
        "is not contiguous",
    ),
    "memoryview strided": (
        memoryview(array.array("q", range(6)))[::2],
        "is not contiguous",
    ),
    "memoryview 2-d": (
        memoryview(bytes(24)).cast("q", (3, 1)),
        "has 2 dimensions",
    ),
    "memoryview misaligned": (
        memoryview(bytearray(32))[3:27].cast("q"),
        "is not aligned",
    ),
    "numpy misaligned": (
        numpy.zeros(32, numpy.uint8)[3:27].view(numpy.int64),
        "is not aligned",
    ),
    "torch 0-d": (torch.tensor(5), "has 0 dimensions"),
    "torch 2-d": (torch.zeros((3, 1), dtype=torch.int64), "has 2 dimensions"),
    "torch strided": (torch.arange(6)[::2], "is not contiguous"),
    "torch expanded": (torch.tensor([5]).expand(3), "is not contiguous"),
    "torch sparse": (torch.tensor([1, 2, 3]).to_sparse(), "is not contiguous"),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("case", MISSHAPEN)
def test_shape_of_an_array(
    call: Callable[..., Any], arguments: dict[str, Any], name: str, case: str
) -> None:
    value, fragment = MISSHAPEN[case]
    arguments[name] = value
    refused(call, arguments, ValueError, f"{name} {fragment}")


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("name", ARRAYS)
def test_tensor_without_memory(
    call: Callable[..., Any], arguments: dict[str, Any], name: str
) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        arguments[name] = torch.zeros(COUNT, dtype=torch.int64)
    refused(
        call, arguments, TypeError, f"{name} is a tensor without memory", "FakeTensor"
    )


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    ("method", "answer"),
    [("numel", -1), ("numel", "3"), ("data_ptr", "3"), ("data_ptr", -1), ("dim", None)],
)
def test_tensor_whose_class_answers_otherwise(
    call: Callable[..., Any],
    arguments: dict[str, Any],
    name: str,
    method: str,
    answer: object,
) -> None:
    """Nothing is read where nothing is known to be."""
    kind = type("Odd", (torch.Tensor,), {method: lambda _self: answer})
    arguments[name] = torch.zeros(COUNT, dtype=torch.int64).as_subclass(kind)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        call(**arguments)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("length", [0, COUNT - 1, COUNT + 1])
def test_unequal_lengths(
    call: Callable[..., Any], arguments: dict[str, Any], name: str, length: int
) -> None:
    arguments[name] = array.array("q", [8] * length)
    lengths = [len(arguments[array_name]) for array_name in ARRAYS]
    refused(
        call,
        arguments,
        ValueError,
        "src_ptrs, dst_ptrs and sizes must be of equal length, "
        "not {}, {} and {}".format(*lengths),
    )


@pytest.mark.parametrize("make", [array.array, numpy.array, torch.tensor])
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("index", range(COUNT))
def test_negative_element(
    call: Callable[..., Any],
    arguments: dict[str, Any],
    name: str,
    index: int,
    make: Callable[..., Any],
) -> None:
    values = list(arguments[name])
    values[index] = -5
    arguments[name] = array.array("q", values) if make is array.array else make(values)
    refused(call, arguments, ValueError, f"{name}[{index}] is negative: -5")


@pytest.mark.parametrize("index", [0, 15, 16, 17, 31, 32, 999])
def test_negative_element_of_a_long_array(
    call: Callable[..., Any], arguments: dict[str, Any], index: int
) -> None:
    for name in ARRAYS:
        arguments[name] = array.array("q", list(arguments[name][:1]) * 1000)
    arguments["sizes"][index] = -(2**63)
    refused(call, arguments, ValueError, f"sizes[{index}] is negative: {-(2**63)}")


@pytest.mark.parametrize("name", ["src_ptrs", "dst_ptrs"])
@pytest.mark.parametrize("index", range(COUNT))
def test_null_pointer_with_a_size(
    call: Callable[..., Any], arguments: dict[str, Any], name: str, index: int
) -> None:
    arguments[name][index] = 0
    refused(call, arguments, ValueError, f"{name}[{index}]", "null")


@pytest.mark.parametrize("index", range(COUNT))
def test_size_that_overflows_the_address_space(
    call: Callable[..., Any], arguments: dict[str, Any], index: int
) -> None:
    sizes = numpy.array(arguments["sizes"], numpy.uint64)
    sizes[index] = 2**64 - 1
    arguments["sizes"] = sizes
    refused(call, arguments, ValueError, f"[{index}]")


NOT_STREAMS: dict[str, tuple[Any, type[Exception], str]] = {
    "bool": (True, TypeError, "not a bool"),
    "str": ("0", TypeError, "not a str"),
    "float": (0.0, TypeError, "not a float"),
    "numpy integer": (numpy.int64(0), TypeError, "not a numpy.int64"),
    "tensor": (torch.tensor(0), TypeError, "not a torch.Tensor"),
    "tuple": ((0, 0), TypeError, "not a tuple"),
    "class": (torch.cuda.Stream, TypeError, "not the class"),
    "negative": (-1, ValueError, "-1"),
    "too large": (2**64, ValueError, str(2**64)),
}


@pytest.mark.parametrize("case", NOT_STREAMS)
def test_stream(call: Callable[..., Any], arguments: dict[str, Any], case: str) -> None:
    arguments["stream"], error, fragment = NOT_STREAMS[case]
    refused(call, arguments, error, "stream", fragment)


WRONG_OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown engine": (
        {"engine": "turbo"},
        ValueError,
        "engine must be one of 'auto', 'batch', 'loop', 'kernel', 'bridge', not 'turbo'",
    ),
    "engine misspelt": (
        {"engine": "kernal"},
        ValueError,
        "not 'kernal'; did you mean kernel?",
    ),
    "engine of another case": (
        {"engine": "Batch"},
        ValueError,
        "not 'Batch'; did you mean batch?",
    ),
    "src_access misspelt": (
        {"src_access": "during_call"},
        ValueError,
        "not 'during_call'; did you mean during_api_call?",
    ),
    "priority misspelt": (
        {"priority": "troughput"},
        ValueError,
        "not 'troughput'; did you mean throughput?",
    ),
    "empty engine": ({"engine": ""}, ValueError, "engine must be one of"),
    "engine with a NUL": ({"engine": "loop\0"}, ValueError, r"not 'loop\x00'"),
    "engine without UTF-8": ({"engine": "\ud800"}, ValueError, r"not '\ud800'"),
    "engine as a number": ({"engine": 1}, TypeError, "engine must be a str"),
    "engine None": ({"engine": None}, TypeError, "engine must be a str, not None"),
    "unknown src_access": (
        {"src_access": "later"},
        ValueError,
        "src_access must be one of 'stream', 'during_api_call', 'any', not 'later'",
    ),
    "src_access as a bool": (
        {"src_access": True},
        TypeError,
        "src_access must be a str, not a bool",
    ),
    "max_batch zero": ({"max_batch": 0}, ValueError, "max_batch must be from 1"),
    "max_batch negative": ({"max_batch": -1}, ValueError, "not -1"),
    "max_batch too large": ({"max_batch": 2**64}, ValueError, f"not {2**64}"),
    "max_batch as a bool": (
        {"max_batch": True},
        TypeError,
        "max_batch must be an int or None, not a bool",
    ),
    "max_batch as a float": ({"max_batch": 8.0}, TypeError, "not a float"),
    "strict as a number": ({"strict": 1}, TypeError, "strict must be a bool"),
    "strict None": ({"strict": None}, TypeError, "not None"),
    "unknown priority": (
        {"priority": "high"},
        ValueError,
        "priority must be one of 'throughput', 'compute', not 'high'",
    ),
    "priority None": (
        {"priority": None},
        TypeError,
        "priority must be a str, not None",
    ),
    "policy as a list": (
        {"policy": []},
        TypeError,
        "policy must be a kvswap.Policy or None, not a list",
    ),
    "prefer_overlap as a number": (
        {"prefer_overlap": 1},
        TypeError,
        "prefer_overlap must be a bool, not an int",
    ),
}


def test_a_name_that_is_like_no_other(
    call: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="not 'xyzzy'$"):
        call(**arguments, engine="xyzzy")


@pytest.mark.parametrize("case", WRONG_OPTIONS)
def test_option(call: Callable[..., Any], arguments: dict[str, Any], case: str) -> None:
    options, error, fragment = WRONG_OPTIONS[case]
    refused(call, arguments | options, error, fragment)


def test_engine_name_is_read_whole(
    call: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    class Name(str):
        __slots__ = ()

    refused(call, arguments | {"engine": Name("turbo")}, ValueError, "turbo")


class TestCallingConvention:
    """Arguments are matched with parameters as of any Python function."""

    def test_missing(self, call: Callable[..., Any], arguments: dict[str, Any]) -> None:
        del arguments["dst_ptrs"]
        refused(
            call,
            arguments,
            TypeError,
            f"{call.__name__}() missing required argument 'dst_ptrs'",
        )

    def test_unknown(self, call: Callable[..., Any], arguments: dict[str, Any]) -> None:
        refused(
            call,
            arguments | {"sources": 1},
            TypeError,
            f"{call.__name__}() got an unexpected keyword argument 'sources'",
        )

    def test_twice(self, call: Callable[..., Any], arguments: dict[str, Any]) -> None:
        message = "got multiple values for argument 'src_ptrs'"
        with pytest.raises(TypeError, match=re.escape(message)):
            call(arguments["src_ptrs"], **arguments)

    def test_options_are_keyword_only(
        self, call: Callable[..., Any], arguments: dict[str, Any]
    ) -> None:
        message = "takes 3 positional arguments but 4 were given"
        with pytest.raises(TypeError, match=message):
            call(*arguments.values())

    def test_names_that_are_not_interned(self, arguments: dict[str, Any]) -> None:
        copied = {
            "".join(list(name)): value
            for name, value in (arguments | {"engine": "loop"}).items()
        }
        assert kvswap.plan(**copied).engine == "loop"


def test_first_wrong_argument_is_named(
    call: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    arguments["src_ptrs"][2] = -1
    arguments["sizes"][0] = -1
    refused(call, arguments, ValueError, "src_ptrs[2] is negative")
