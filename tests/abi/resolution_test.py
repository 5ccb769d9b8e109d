"""The 9-argument cuMemcpyBatchAsync: how it is asked for, and how it is called."""

from __future__ import annotations

from typing import Any

import pytest

import kvswap_sim
from tests import child_process
from tests.abi import drivers

_BATCH = "cuMemcpyBatchAsync"
_LEGACY_STREAM_FLAG = 1
_NINE_ARGUMENTS = {
    "destinations",
    "sources",
    "sizes",
    "count",
    "attributes",
    "attribute_indices",
    "attribute_count",
    "failed_index",
    "stream",
}


def _describe(version: str, **options: Any) -> dict[str, Any]:
    found = child_process.run(
        "tests.abi.scenarios",
        "describe_driver",
        environment=kvswap_sim.environment(version, **options),
    )
    assert isinstance(found, dict)
    return found


def _swap(version: str, kind: str = "created", **options: Any) -> dict[str, Any]:
    outcome = child_process.run(
        "tests.abi.scenarios",
        "swap_round",
        kind,
        "auto",
        environment=kvswap_sim.environment(version, **options),
    )
    assert isinstance(outcome, dict)
    return outcome


@pytest.mark.parametrize("version", drivers.ALL)
def test_asked_once_by_name_version_and_flags(version: str) -> None:
    requests = child_process.run(
        "tests.abi.scenarios",
        "lookups",
        environment=kvswap_sim.environment(version),
    )
    batch = [r for r in requests if r["symbol"] == _BATCH]
    assert [(r["version"], r["flags"]) for r in batch] == [(12080, _LEGACY_STREAM_FLAG)]
    names = [r["symbol"] for r in requests]
    assert len(names) == len(set(names))
    assert {r["flags"] for r in requests} == {_LEGACY_STREAM_FLAG}


@pytest.mark.parametrize("version", drivers.WITH_BATCH)
def test_called_with_all_nine_arguments(version: str) -> None:
    outcome = _swap(version)
    calls = outcome["calls"]
    assert len(calls) == outcome["planned_driver_calls"] > 1
    received: list[tuple[int, int, int]] = []
    for call in calls:
        # Never the function of 8 arguments, which a 13.x driver has under this name.
        assert (call["name"], call["version"]) == (_BATCH, 12080)
        arguments = call["arguments"]
        assert set(arguments) == _NINE_ARGUMENTS | {
            "source_access_orders",
            "attribute_flags",
        }
        count = arguments["count"]
        assert 0 < count <= 16
        # One entry of attributes for all copies of the call.
        assert arguments["attribute_count"] == 1
        assert arguments["attribute_indices"] == [0]
        assert arguments["source_access_orders"] == [1]
        assert arguments["failed_index"] != 0
        assert arguments["stream"] == outcome["stream"]
        columns = [arguments[name] for name in ("sources", "destinations", "sizes")]
        assert {len(column) for column in columns} == {count}
        received += zip(*columns, strict=True)
    table = outcome["table"]
    given = zip(table["sources"], table["destinations"], table["sizes"], strict=True)
    assert received == [row for row in given if row[2] != 0]
    assert outcome["device_differences"] == outcome["host_differences"] == 0


@pytest.mark.parametrize("version", drivers.WITH_EIGHT_ARGUMENTS)
def test_the_driver_has_the_other_function_too(version: str) -> None:
    """The control: on these drivers the wrong lookup would find something else."""
    simulator = kvswap_sim.Simulator(version)
    client = child_process.run(
        "tests.abi.resolution_test",
        "address_at",
        13000,
        environment=kvswap_sim.environment(version),
    )
    assert client["at_other"] != 0
    assert client["at_12080"] != 0
    assert client["at_other"] != client["at_12080"]
    assert simulator.driver_version == version


def address_at(version: int) -> dict[str, int]:
    """The addresses that a driver gives for the batch call at two versions."""
    import ctypes
    import os

    library = ctypes.CDLL(os.environ["KVSWAP_LIBCUDA"])
    addresses = []
    for asked in (version, 12080):
        address, status = ctypes.c_void_p(), ctypes.c_int()
        code = library.cuGetProcAddress_v2(
            _BATCH.encode(),
            ctypes.byref(address),
            asked,
            ctypes.c_uint64(_LEGACY_STREAM_FLAG),
            ctypes.byref(status),
        )
        assert (code, status.value) == (0, 0)
        addresses.append(address.value or 0)
    return {"at_other": addresses[0], "at_12080": addresses[1]}


@pytest.mark.parametrize("lie", ["code", "null", "status"])
@pytest.mark.parametrize("version", drivers.WITH_BATCH)
def test_each_sign_of_a_missing_function_alone(version: str, lie: str) -> None:
    found = _describe(version, lookups={_BATCH: lie})
    assert found["usable"], found["message"]
    assert not found["batch_available"]
    entry = found["entries"][_BATCH]
    assert not entry["present"]
    assert entry["message"]
    outcome = _swap(version, lookups={_BATCH: lie})
    assert outcome["engine"] == ["loop"] * 3
    assert outcome["unavailable"] == [{"batch": "no_batch_symbol"}] * 3
    assert {call["name"] for call in outcome["calls"]} == {"cuMemcpyAsync"}
    assert outcome["device_differences"] == outcome["host_differences"] == 0


@pytest.mark.parametrize("version", drivers.WITH_BATCH)
def test_left_out_in_spite_of_the_version(version: str) -> None:
    outcome = _swap(version, without=[_BATCH])
    assert outcome["unavailable"][1] == {"batch": "no_batch_symbol"}
    assert outcome["device_differences"] == outcome["host_differences"] == 0


@pytest.mark.parametrize("lie", ["code", "null", "status"])
def test_a_missing_required_function_makes_the_driver_unusable(lie: str) -> None:
    found = _describe("13.0", lookups={"cuMemcpyAsync": lie})
    assert not found["usable"]
    assert "cuMemcpyAsync" in found["message"]
    assert not found["entries"]["cuMemcpyAsync"]["present"]


@pytest.mark.parametrize("version", drivers.BEFORE_BATCH)
def test_older_drivers_say_why(version: str) -> None:
    entry = _describe(version)["entries"][_BATCH]
    assert not entry["present"]
    assert f"supports CUDA {version}" in entry["message"]
    assert "12.8" in entry["message"]
