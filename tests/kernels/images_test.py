"""The device images of each toolkit: which there are, and what is in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kernels.cubin import read_cubin
from tests.kernels.image_tables import Image, read_table
from tests.kernels.ptx import read_ptx

TOOLKIT = os.environ["KVSWAP_MATRIX_TOOLKIT"]
VERSION = tuple(int(number) for number in TOOLKIT.split("."))

# The language of PTX by CUDA's version: 12.4 speaks 8.4, 12.8 8.7, 13.0 9.0.
PTX_VERSIONS = {
    "12.4": "8.4",
    "12.8": "8.7",
    "12.9": "8.8",
    "13.0": "9.0",
    "13.5": "9.5",
}

PARAMETERS = {"4k": 4096, "32k": 32764}
# Items are as many as fit: less than one more is left over.
LARGEST_ITEM = 24

FILES = {
    Path(path).name: Path(path).read_bytes() for path in os.environ["IMAGES"].split()
}
CUBINS = [name for name in FILES if name.endswith(".cubin")]
PTX = [name for name in FILES if name.endswith(".ptx")]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> list[Image]:
    return read_table(os.environ["IMAGE_TABLE"], tmp_path_factory.mktemp("images"))


def architecture_of(name: str) -> int:
    """90 for sm_90_4k.cubin."""
    return int(name.split("_")[1])


def suffix_of(name: str) -> str:
    """4k for sm_90_4k.cubin."""
    return name.partition(".")[0].split("_")[2]


def kernels_of(name: str) -> set[str]:
    kinds = ["plain", "bulk"] if architecture_of(name) >= 90 else ["plain"]
    return {
        f"kvswap_{kind}_{items}_{suffix_of(name)}"
        for kind in kinds
        for items in ["compact", "sized"]
    }


def is_full(size: int, name: str) -> bool:
    most = PARAMETERS[suffix_of(name)]
    return most - LARGEST_ITEM < size <= most


def test_which_images_there_are() -> None:
    cubins = [75, 80, 90] + ([100, 120] if VERSION >= (12, 8) else [])
    expected = {f"sm_{cubin}_{size}.cubin" for cubin in cubins for size in PARAMETERS}
    expected |= {f"compute_90_{size}.ptx" for size in PARAMETERS}
    assert FILES.keys() == expected


@pytest.mark.parametrize("name", CUBINS)
def test_a_cubin_is_what_drivers_load(name: str) -> None:
    cubin = read_cubin(FILES[name])
    assert cubin.machine == "EM_CUDA"
    # The newer form came with Blackwell in 12.8, and for all GPUs in 13.0.
    is_older = VERSION < (13, 0) and architecture_of(name) < 100
    assert (cubin.os_abi, cubin.abi_version) == ((0x33, 7) if is_older else (0x41, 8))
    assert cubin.architecture == architecture_of(name)


@pytest.mark.parametrize("name", CUBINS)
def test_kernels_of_a_cubin(name: str) -> None:
    kernels = read_cubin(FILES[name]).kernels
    assert kernels.keys() == kernels_of(name)
    for kernel in kernels.values():
        assert is_full(kernel.parameter_bytes, name)


@pytest.mark.parametrize("name", CUBINS)
def test_registers_suffice(name: str) -> None:
    kernels = read_cubin(FILES[name]).kernels
    assert {kernel: k.frame_bytes for kernel, k in kernels.items()} == dict.fromkeys(
        kernels, 0
    )


@pytest.mark.parametrize("name", PTX)
def test_ptx(name: str) -> None:
    ptx = read_ptx(FILES[name])
    assert ptx.version == PTX_VERSIONS[TOOLKIT]
    assert ptx.target == "sm_90"
    assert ptx.kernels.keys() == kernels_of(name)
    assert all(is_full(size, name) for size in ptx.kernels.values())
    assert not ptx.uses_local_memory


def test_a_program_holds_all_of_them(table: list[Image]) -> None:
    assert sorted(image.data for image in table) == sorted(FILES.values())


def test_the_table_describes_them(table: list[Image]) -> None:
    by_data = {data: name for name, data in FILES.items()}
    for image in table:
        file = by_data[image.data]
        architecture = file.rpartition("_")[0]
        assert image.is_ptx == file.endswith(".ptx")
        # What reads PTX as text finds its end.
        assert not image.is_ptx or image.data.index(b"\0") == len(image.data) - 1
        assert image.compute_capability == architecture_of(file)
        assert image.parameter_bytes == PARAMETERS[suffix_of(file)]
        assert image.has_bulk == any("bulk" in kernel for kernel in kernels_of(file))
        assert image.name == (
            f"{architecture}, {image.parameter_bytes} bytes of parameters, "
            f"NVRTC {TOOLKIT}"
        )


def test_ptx_comes_last(table: list[Image]) -> None:
    order = [(image.is_ptx, image.compute_capability) for image in table]
    assert order == sorted(order)
