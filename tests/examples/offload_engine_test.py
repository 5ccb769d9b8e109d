"""examples/offload_engine.py, with simulated memory and streams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import kvswap
import kvswap_sim
from examples import offload_engine
from examples.offload_engine import OffloadEngine, serve
from kvswap.testing.cuda_driver import CudaDriver
from tests.examples.simulated_cuda import SimulatedCuda

SEEDS = range(6)


@contextlib.contextmanager
def make_engine(driver: CudaDriver, seed: int) -> Iterator[OffloadEngine]:
    """An engine on simulated memory."""
    kvswap_sim.Simulator().seed = seed
    cuda = SimulatedCuda(driver)
    shape = (offload_engine.GPU_BLOCKS, *offload_engine.BLOCK_SHAPE)
    with cuda.in_place_of_torch_cuda():
        yield OffloadEngine([cuda.zeros(shape) for _ in range(offload_engine.LAYERS)])
    driver.synchronize()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_block_is_right(driver: CudaDriver, seed: int) -> None:
    calls = kvswap.stats().calls
    with make_engine(driver, seed) as engine:
        # 5 requests; blocks of the prefix, and one more in each round.
        assert serve(engine) == 5 * (2 + 3 + 4)
    # One that stores the prefix, five that load it, and swaps.
    assert kvswap.stats().calls - calls > 6 + 5


def test_a_missing_wait_is_seen(
    driver: CudaDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvswap.Completion, "wait_stream", lambda self, stream: None)
    wrong = 0
    for seed in SEEDS:
        with make_engine(driver, seed) as engine:
            try:
                serve(engine)
            except AssertionError:
                wrong += 1
    assert wrong


def test_a_wrong_block_is_seen(
    driver: CudaDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap_in = kvswap.swap_in

    def shifted(
        source: kvswap.BlockPool,
        target: kvswap.BlockPool,
        pairs: list[tuple[int, int]],
        **options: object,
    ) -> kvswap.Ticket:
        sources = [source for source, _ in pairs]
        targets = [target for _, target in pairs]
        return swap_in(
            source,
            target,
            list(zip(sources[1:] + sources[:1], targets, strict=True)),
            **options,  # type: ignore[arg-type]
        )

    monkeypatch.setattr(kvswap, "swap_in", shifted)
    with (
        make_engine(driver, 1) as engine,
        pytest.raises(AssertionError, match="request 0 read"),
    ):
        serve(engine)


def test_blocks_of_a_failed_load_are_free_again(driver: CudaDriver) -> None:
    with make_engine(driver, 1) as engine:
        free = sorted(engine.free_gpu)
        simulator = kvswap_sim.Simulator()
        for entry in ("cuMemcpyBatchAsync", "cuLaunchKernel", "cuMemcpyAsync"):
            simulator.fail(entry, 700, every=True)
        with pytest.raises(kvswap.SwapError):
            engine.step(offload_engine.Request(7))
        simulator.clear_faults()
        assert sorted(engine.free_gpu) == free


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert offload_engine.main() == 1
    assert "needs a GPU" in capsys.readouterr().err
