"""The device images where no toolkit is selected, as in releases, and where there are none."""

from __future__ import annotations

import os
from pathlib import Path

from tests.kernels.cubin import read_cubin
from tests.kernels.image_tables import read_table


def test_without_a_toolkit_they_run_on_drivers_since_12_0(tmp_path: Path) -> None:
    table = read_table(os.environ["IMAGE_TABLE"], tmp_path)
    version = os.environ["DEFAULT_NVRTC"]
    assert {image.name.rpartition(" ")[2] for image in table} == {version}
    cubins = [image for image in table if not image.is_ptx]
    assert {image.compute_capability for image in cubins} == {75, 80, 90, 100, 120}
    # What drivers load since CUDA 12.0. Those of Blackwell are newer themselves.
    older = [image for image in cubins if image.compute_capability < 100]
    assert {read_cubin(image.data).os_abi for image in older} == {0x33}


def test_device_kernels_can_be_left_out(tmp_path: Path) -> None:
    assert read_table(os.environ["TABLE_WITHOUT_DEVICE_KERNELS"], tmp_path) == []
