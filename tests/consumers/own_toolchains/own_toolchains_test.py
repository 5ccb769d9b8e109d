"""kvswap was built and runs with this repository's Python, pybind11, torch and CUDA."""

from __future__ import annotations

import os
import re
import sys
import unittest
from pathlib import Path

import torch

import kvswap_sim

os.environ["KVSWAP_LIBCUDA"] = kvswap_sim.library_path("13.0")

import kvswap
import kvswap._core
from kvswap.testing.cuda_driver import CudaDriver


class OwnToolchainsTest(unittest.TestCase):
    def test_python(self) -> None:
        self.assertRegex(sys.prefix, r"own_python/environment$")

    def test_pybind11(self) -> None:
        # The number of pybind11's internals that its extension modules carry: 4 and 5
        # up to 2.13, later ones in 3.
        module = Path(kvswap._core.__file__).read_bytes()
        found = re.search(rb"__pybind11_internals_v(\d+)_", module)
        assert found is not None
        self.assertIn(int(found[1]), (4, 5))

    def test_cuda_toolkit(self) -> None:
        self.assertEqual(kvswap.driver_info().toolkit_version, 12060)

    def test_torch(self) -> None:
        driver = CudaDriver(os.environ["KVSWAP_LIBCUDA"])
        with driver.primary_context(0):
            stream = driver.stream()
            gpu_cache = driver.device_memory(8192)
            pinned = driver.pinned_memory(8192)
            gpu_cache.write(bytes(range(256)) * 32)
            kvswap.swap_blocks_batch(
                torch.tensor([gpu_cache.address, gpu_cache.address + 4096]),
                torch.tensor([pinned.address, pinned.address + 4096]),
                torch.tensor([4096, 4096]),
                stream=stream,
            )
            stream.synchronize()
            self.assertEqual(bytes(pinned.view), bytes(range(256)) * 32)
        self.assertIn("third_party/torch", torch.__file__)


if __name__ == "__main__":
    unittest.main()
