"""Which engine each kind of stream takes: asked of ``kvswap.plan``, on memory of its own."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator

import kvswap
from kvswap.doctor.schema import Choice
from kvswap.testing.cuda_driver import (
    CAPTURE_RELAXED,
    STREAM_LEGACY,
    STREAM_PER_THREAD,
    CudaDriver,
    Stream,
)

SMALL_BLOCK = 16 * 1024
LARGE_BLOCK = 1024 * 1024
STREAMS = ("legacy", "per_thread", "blocking", "non_blocking", "capturing")
DIRECTIONS = ("device_to_host", "host_to_device")

_BYTES = 8 * LARGE_BLOCK


@contextlib.contextmanager
def _stream(driver: CudaDriver, kind: str) -> Iterator[int | Stream]:
    if kind == "legacy":
        yield STREAM_LEGACY
    elif kind == "per_thread":
        yield STREAM_PER_THREAD
    else:
        with driver.stream(non_blocking=kind != "blocking") as stream:
            if kind != "capturing":
                yield stream
                return
            stream.begin_capture(CAPTURE_RELAXED)
            try:
                yield stream
            finally:
                stream.end_capture().close()


def choices(driver: CudaDriver, device: int) -> list[Choice]:
    """For each kind of stream, direction and size. Nothing is copied."""
    found: list[Choice] = []
    with (
        driver.primary_context(device),
        driver.device_memory(_BYTES) as gpu,
        driver.pinned_memory(_BYTES) as host,
    ):
        for kind in STREAMS:
            with _stream(driver, kind) as stream:
                for direction in DIRECTIONS:
                    places = [gpu.address, host.address]
                    if direction == "host_to_device":
                        places.reverse()
                    for size in (SMALL_BLOCK, LARGE_BLOCK):
                        found.append(
                            _choice(kind, direction, size, places[0], places[1], stream)
                        )
    return found


def _choice(
    kind: str,
    direction: str,
    size: int,
    source: int,
    destination: int,
    stream: int | Stream,
) -> Choice:
    count = _BYTES // size
    # The destinations backwards: neighbours of one side are none on the other.
    plan = kvswap.plan(
        array("Q", [source + i * size for i in range(count)]),
        array("Q", [destination + i * size for i in reversed(range(count))]),
        array("Q", [size] * count),
        stream=stream,
    )
    return Choice(
        stream=kind,
        direction=direction,
        block_bytes=size,
        blocks=count,
        engine=plan.engine,
        engine_copies={name: n for name, n in plan.engine_copies.items() if n},
        unavailable=dict(plan.unavailable),
        explanations=dict(plan.explanations),
    )
