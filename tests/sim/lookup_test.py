"""cuGetProcAddress: names, versions, flags, and lies on demand."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import kvswap_sim
from tests.sim.client import Start

NOT_FOUND, TOO_OLD = 1, 2


def look_up(
    driver: Any, name: str, version: int, flags: int = 1
) -> tuple[int, int, int]:
    """cuGetProcAddress_v2: the code, the pointer, the status."""
    function, status = ctypes.c_void_p(), ctypes.c_int(-1)
    code = driver.result(
        "cuGetProcAddress_v2",
        name.encode(),
        ctypes.byref(function),
        ctypes.c_int(version),
        ctypes.c_uint64(flags),
        ctypes.byref(status),
    )
    return code, function.value or 0, status.value


def look_up_short(
    driver: Any, name: str, version: int, flags: int = 1
) -> tuple[int, int]:
    """cuGetProcAddress of 11.3: the code and the pointer."""
    function = ctypes.c_void_p()
    code = driver.result(
        "cuGetProcAddress",
        name.encode(),
        ctypes.byref(function),
        ctypes.c_int(version),
        ctypes.c_uint64(flags),
    )
    return code, function.value or 0


def exported(driver: Any, symbol: str) -> int:
    return ctypes.cast(getattr(driver.library, symbol), ctypes.c_void_p).value or 0


NEW = ["12.8", "12.9", "13.0", "13.5"]
OLD = ["12.0", "12.4", "12.7"]


@pytest.mark.parametrize("version", NEW)
def test_batch_at_12080_is_the_function_of_nine_arguments(
    start: Start, version: str
) -> None:
    _, driver = start(version)
    assert look_up(driver, "cuMemcpyBatchAsync", 12080) == (
        0,
        exported(driver, "cuMemcpyBatchAsync"),
        0,
    )


@pytest.mark.parametrize("version", ["13.0", "13.5"])
def test_batch_at_13000_is_the_function_of_eight_arguments(
    start: Start, version: str
) -> None:
    _, driver = start(version)
    eight = exported(driver, "cuMemcpyBatchAsync_v2")
    assert look_up(driver, "cuMemcpyBatchAsync", 13000) == (0, eight, 0)
    assert eight != exported(driver, "cuMemcpyBatchAsync")


@pytest.mark.parametrize("version", NEW)
def test_batch_asked_below_its_version(start: Start, version: str) -> None:
    _, driver = start(version)
    assert look_up(driver, "cuMemcpyBatchAsync", 12070) == (0, 0, TOO_OLD)


@pytest.mark.parametrize("version", OLD)
def test_batch_on_a_driver_without_it(start: Start, version: str) -> None:
    _, driver = start(version)
    number = driver.version()
    assert look_up(driver, "cuMemcpyBatchAsync", number) == (0, 0, NOT_FOUND)


@pytest.mark.parametrize("version", OLD + NEW)
def test_version_above_the_drivers_own(start: Start, version: str) -> None:
    _, driver = start(version)
    number = driver.version()
    for name in ("cuMemcpyAsync", "cuNoSuchFunction"):
        code, function, _ = look_up(driver, name, number + 10)
        assert (code, function) == (1, 0)


@pytest.mark.parametrize("version", OLD + NEW)
def test_unknown_name(start: Start, version: str) -> None:
    _, driver = start(version)
    assert look_up(driver, "cuNoSuchFunction", 12000) == (0, 0, NOT_FOUND)
    # Exported symbols are not names.
    assert look_up(driver, "cuMemAlloc_v2", 12000) == (0, 0, NOT_FOUND)


@pytest.mark.parametrize("version", ["11.4", "11.8", "12.4", "13.0"])
def test_four_argument_form(start: Start, version: str) -> None:
    _, driver = start(version)
    assert look_up_short(driver, "cuMemcpyAsync", 11040) == (
        0,
        exported(driver, "cuMemcpyAsync"),
    )
    assert look_up_short(driver, "cuNoSuchFunction", 11040) == (500, 0)
    assert look_up_short(driver, "cuMemcpyBatchAsync", 11040) == (500, 0)
    assert look_up_short(driver, "cuMemcpyAsync", 99000) == (1, 0)


@pytest.mark.parametrize(
    ("name", "version", "symbol"),
    [
        ("cuGetProcAddress", 11030, "cuGetProcAddress"),
        ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
        ("cuMemAlloc", 3020, "cuMemAlloc_v2"),
        ("cuDevicePrimaryCtxRelease", 7000, "cuDevicePrimaryCtxRelease"),
        ("cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"),
        ("cuStreamGetCtx", 9020, "cuStreamGetCtx"),
        ("cuStreamGetCtx", 12040, "cuStreamGetCtx"),
        ("cuStreamGetCtx", 12050, "cuStreamGetCtx_v2"),
        ("cuCtxGetDevice", 12090, "cuCtxGetDevice"),
        ("cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"),
        ("cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo"),
        ("cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"),
        ("cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"),
        ("cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"),
    ],
)
def test_highest_version_not_above_the_one_asked_for(
    start: Start, name: str, version: int, symbol: str
) -> None:
    _, driver = start("13.0")
    assert look_up(driver, name, version) == (0, exported(driver, symbol), 0)


def test_flags_choose_the_default_stream(start: Start) -> None:
    _, driver = start("13.0")
    legacy = exported(driver, "cuMemcpyAsync")
    per_thread = exported(driver, "cuMemcpyAsync_ptsz")
    assert look_up(driver, "cuMemcpyAsync", 12000, 0) == (0, legacy, 0)
    assert look_up(driver, "cuMemcpyAsync", 12000, 1) == (0, legacy, 0)
    assert look_up(driver, "cuMemcpyAsync", 12000, 2) == (0, per_thread, 0)
    plain = exported(driver, "cuMemAlloc_v2")
    assert look_up(driver, "cuMemAlloc", 12000, 2) == (0, plain, 0)
    assert look_up(driver, "cuMemcpyAsync", 12000, 4)[0] == 1


def test_per_thread_form_takes_handle_0_for_the_threads_stream(
    start: Start,
) -> None:
    simulator, driver = start("13.0")
    with driver.primary_context():
        device, pinned = driver.device_memory(64), driver.pinned_memory(64)
        size = ctypes.c_size_t(64)
        driver.call(
            "cuMemcpyAsync_ptsz",
            ctypes.c_uint64(device.address),
            ctypes.c_uint64(pinned.address),
            size,
            None,
        )
    assert simulator.trace("cuMemcpyAsync")[-1].arguments["stream"] == 2


@pytest.mark.parametrize("version", ["11.8", "12.4", "12.8", "13.0"])
def test_works_before_initialisation(start: Start, version: str) -> None:
    simulator, _ = start(version)
    simulator.reset()
    library = ctypes.CDLL(simulator.path)
    function = ctypes.c_void_p()
    assert (
        library.cuGetProcAddress(
            b"cuInit",
            ctypes.byref(function),
            ctypes.c_int(11040),
            ctypes.c_uint64(0),
        )
        == 0
    )
    assert function.value


# What a library of that age exports, and what it does not.
@pytest.mark.parametrize(
    ("version", "present", "absent"),
    [
        ("13.0", ["cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"], []),
        ("12.8", ["cuMemcpyBatchAsync"], ["cuMemcpyBatchAsync_v2"]),
        (
            "12.7",
            ["cuGetProcAddress_v2", "cuCtxGetId"],
            ["cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"],
        ),
        (
            "11.8",
            ["cuGetProcAddress", "cuMemcpyAsync"],
            ["cuGetProcAddress_v2", "cuCtxGetId", "cuMemcpyBatchAsync"],
        ),
    ],
)
def test_exported_symbols(version: str, present: list[str], absent: list[str]) -> None:
    library = ctypes.CDLL(kvswap_sim.library_path(version))
    assert [name for name in present if not hasattr(library, name)] == []
    assert [name for name in absent if hasattr(library, name)] == []


def test_lie_code(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.lookup("cuMemcpyAsync", "code")
    function = exported(driver, "cuMemcpyAsync")
    assert look_up(driver, "cuMemcpyAsync", 12000) == (999, function, 0)
    assert look_up_short(driver, "cuMemcpyAsync", 12000) == (999, function)


def test_lie_null(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.lookup("cuMemcpyAsync", "null")
    assert look_up(driver, "cuMemcpyAsync", 12000) == (0, 0, 0)
    assert look_up_short(driver, "cuMemcpyAsync", 12000) == (0, 0)


def test_lie_status(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.lookup("cuMemcpyAsync", "status")
    function = exported(driver, "cuMemcpyAsync")
    assert look_up(driver, "cuMemcpyAsync", 12000) == (0, function, 1)
    assert look_up(driver, "cuMemAlloc", 12000)[2] == 0


def test_left_out(start: Start) -> None:
    simulator, driver = start("13.0")
    simulator.leave_out("cuMemcpyBatchAsync")
    answer = look_up(driver, "cuMemcpyBatchAsync", 12080)
    assert answer == (0, 0, NOT_FOUND)
    simulator.clear_faults()
    assert look_up(driver, "cuMemcpyBatchAsync", 12080)[1] != 0


def test_requests_are_recorded(start: Start) -> None:
    simulator, driver = start("13.0")
    look_up(driver, "cuMemcpyBatchAsync", 12070)
    call = simulator.trace("cuGetProcAddress")[-1]
    assert call.symbol == "cuGetProcAddress_v2"
    assert call.arguments["symbol"] == "cuMemcpyBatchAsync"
    assert call.arguments["version"] == 12070
    assert call.arguments["flags"] == 1
    assert call.outputs == {"status": TOO_OLD, "function": 0}
    assert call.result == 0
