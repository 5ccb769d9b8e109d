"""A driver without the batch call: the real one behind a library that leaves it out."""

from __future__ import annotations

import pathlib

import pytest
from gpu_support import run_in_child

_ROUNDS = """
import torch, kvswap
assert not kvswap.driver_info().batch_available, kvswap.driver_info()
options = dict(engine="{engine}")
if "{engine}" != "auto":
    options["strict"] = True
for size in (1000, 4096, 65_536, 2 << 20):
    count = 500 if size < 100_000 else 8
    host = torch.randint(0, 256, (count * size,), dtype=torch.uint8).pin_memory()
    back = torch.zeros_like(host).pin_memory()
    device = torch.zeros(count * size, dtype=torch.uint8, device="cuda")
    order = torch.randperm(count)
    offsets, sizes = torch.arange(count) * size, torch.full((count,), size)
    for stream in (torch.cuda.Stream(), 0, 2):
        device.zero_(); back.zero_(); torch.cuda.synchronize()
        results = [
            kvswap.swap_blocks_batch(host.data_ptr() + offsets,
                                     device.data_ptr() + order * size, sizes,
                                     stream=stream, **options),
            kvswap.swap_blocks_batch(device.data_ptr() + order * size,
                                     back.data_ptr() + offsets, sizes,
                                     stream=stream, **options),
        ]
        torch.cuda.synchronize()
        assert torch.equal(back, host), (size, stream)
        for result in results:
            ran = {{name for name, copies in result.copies.items() if copies}}
            assert ran and ran <= {allowed}, result
print("bytes equal")
"""


@pytest.fixture(scope="module")
def old_driver(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The library, compiled here."""
    native = pytest.importorskip("kvswap.benchmark.native")
    from gpu_support import kvswap

    folder = tmp_path_factory.mktemp("driver")
    try:
        library: pathlib.Path = native.driver_without_batch(
            folder, kvswap.driver_info().path
        )
    except native.CompilerError as error:
        pytest.skip(str(error))
    return library


@pytest.mark.parametrize(
    ("engine", "allowed"),
    [("auto", {"kernel", "loop"}), ("kernel", {"kernel"}), ("loop", {"loop"})],
)
def test_driver_without_the_batch_call(
    old_driver: pathlib.Path, engine: str, allowed: set[str]
) -> None:
    output = run_in_child(
        _ROUNDS.format(engine=engine, allowed=allowed),
        KVSWAP_LIBCUDA=str(old_driver),
    )
    assert "bytes equal" in output


def test_batch_is_unavailable_there(old_driver: pathlib.Path) -> None:
    output = run_in_child(
        "import torch, kvswap\n"
        "host = torch.zeros(8, dtype=torch.uint8).pin_memory()\n"
        "device = torch.zeros(8, dtype=torch.uint8, device='cuda')\n"
        "try:\n"
        "    kvswap.swap_blocks_batch(\n"
        "        torch.tensor([host.data_ptr()]), torch.tensor([device.data_ptr()]),\n"
        "        torch.tensor([8]), stream=torch.cuda.Stream(), engine='batch',\n"
        "        strict=True)\n"
        "except kvswap.UnsupportedError as error:\n"
        "    print(error.unavailable)\n",
        KVSWAP_LIBCUDA=str(old_driver),
    )
    assert "no_batch_symbol" in output
