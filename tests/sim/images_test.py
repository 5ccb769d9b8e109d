"""Which images a driver loads, and what it finds in them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tests.sim import kernels
from tests.sim.client import Start
from tests.sim.kernel_images import NEWER, Kernel, cubin, ptx

INVALID_VALUE = 1
INVALID_IMAGE = 200
INVALID_CONTEXT = 201
NO_BINARY_FOR_GPU = 209
INVALID_PTX = 218
UNSUPPORTED_PTX_VERSION = 222
INVALID_HANDLE = 400
NOT_FOUND = 500

SMALL = [Kernel("kernel", 64)]
LARGE = [Kernel("other", 64), Kernel("kernel", 4104)]


def load_code(driver: Any, image: bytes | None) -> int:
    """The code that loading an image answers; what was loaded stays."""
    return int(
        driver.result("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), image)
    )


@pytest.mark.parametrize(
    ("image", "capability", "version", "code"),
    [
        # Cubins, by the driver.
        (cubin(SMALL, 90, toolkit="12.4"), "9.0", "11.8", INVALID_IMAGE),
        (cubin(SMALL, 90, toolkit="12.4"), "9.0", "12.0", 0),
        (cubin(SMALL, 90, toolkit="12.8"), "9.0", "12.0", 0),
        (cubin(SMALL, 90, toolkit="12.8"), "9.0", "13.5", 0),
        (cubin(SMALL, 90, toolkit="13.0"), "9.0", "12.9", INVALID_IMAGE),
        (cubin(SMALL, 90, toolkit="13.0"), "9.0", "13.0", 0),
        (cubin(SMALL, 100, toolkit="12.8"), "10.0", "12.4", INVALID_IMAGE),
        (cubin(SMALL, 100, toolkit="12.8"), "10.0", "12.8", 0),
        (cubin(SMALL, 100, toolkit="13.0"), "10.0", "12.9", INVALID_IMAGE),
        # Cubins, by the device.
        (cubin(SMALL, 80), "7.5", "13.0", NO_BINARY_FOR_GPU),
        (cubin(SMALL, 80), "8.0", "13.0", 0),
        (cubin(SMALL, 80), "8.6", "13.0", 0),
        (cubin(SMALL, 86), "8.0", "13.0", NO_BINARY_FOR_GPU),
        (cubin(SMALL, 80), "9.0", "13.0", NO_BINARY_FOR_GPU),
        (cubin(SMALL, 100), "12.0", "13.0", NO_BINARY_FOR_GPU),
        (cubin(SMALL, 120), "12.1", "13.0", 0),
        # PTX, by the driver.
        (ptx(SMALL, version="7.8"), "9.0", "11.4", UNSUPPORTED_PTX_VERSION),
        (ptx(SMALL, version="7.8"), "9.0", "11.8", 0),
        (ptx(SMALL, version="8.0"), "9.0", "12.0", 0),
        (ptx(SMALL, version="8.4"), "9.0", "12.0", UNSUPPORTED_PTX_VERSION),
        (ptx(SMALL, version="8.4"), "9.0", "12.4", 0),
        (ptx(SMALL, version="8.7"), "9.0", "12.4", UNSUPPORTED_PTX_VERSION),
        (ptx(SMALL, version="8.7"), "9.0", "12.8", 0),
        (ptx(SMALL, version="9.0"), "9.0", "12.9", UNSUPPORTED_PTX_VERSION),
        (ptx(SMALL, version="9.0"), "9.0", "13.0", 0),
        (ptx(SMALL, version="99.0"), "9.0", "13.5", UNSUPPORTED_PTX_VERSION),
        # PTX, by the device.
        (ptx(SMALL, "sm_80"), "7.5", "13.0", INVALID_PTX),
        (ptx(SMALL, "sm_80"), "8.0", "13.0", 0),
        (ptx(SMALL, "sm_80"), "12.0", "13.0", 0),
        (ptx(SMALL, "sm_90a"), "9.0", "13.0", 0),
        (ptx(SMALL, "sm_90a"), "10.0", "13.0", INVALID_PTX),
        (ptx(SMALL, "sm_100f", version="8.8"), "10.3", "13.0", 0),
        (ptx(SMALL, "sm_100f", version="8.8"), "12.0", "13.0", INVALID_PTX),
        # More than 4096 bytes of parameters.
        (cubin(LARGE, 90, toolkit="12.4"), "9.0", "12.0", INVALID_IMAGE),
        (cubin(LARGE, 90, toolkit="12.4"), "9.0", "12.4", 0),
        (ptx(LARGE, version="8.0"), "9.0", "12.0", INVALID_PTX),
        (cubin([Kernel("kernel", 4096)], 90, toolkit="12.4"), "9.0", "12.0", 0),
        # What is no image.
        (cubin(SMALL, 90, abi=(0x51, 9)), "9.0", "13.0", INVALID_IMAGE),
        (cubin(SMALL, 90, abi=(NEWER[0], 7)), "9.0", "13.0", INVALID_IMAGE),
        (cubin(SMALL, 90, machine=62), "9.0", "13.0", INVALID_IMAGE),
        (b"no image at all\0", "9.0", "13.0", INVALID_IMAGE),
        (b"\0", "9.0", "13.0", INVALID_IMAGE),
        (b".version 8.0\n.entry kernel()\0", "9.0", "13.0", INVALID_PTX),
        (None, "9.0", "13.0", INVALID_VALUE),
    ],
)
def test_loading(
    start: Start, image: bytes | None, capability: str, version: str, code: int
) -> None:
    simulator, driver = start(version)
    simulator.set_compute_capability(capability)
    with driver.primary_context():
        assert load_code(driver, image) == code
    assert simulator.live()["modules"] == 0


@pytest.mark.parametrize("capability", ["8.0", "9.0", "10.0"])
@pytest.mark.parametrize("form", ["cubin", "newer cubin", "ptx"])
def test_what_an_image_says(start: Start, form: str, capability: str) -> None:
    simulator, driver = start("13.0")
    simulator.set_compute_capability(capability)
    described = [Kernel("first", 64, 1024, 0), Kernel("second", 4096, 32, 256)]
    number = int(capability.replace(".", ""))
    image = {
        "cubin": lambda: cubin(described, number),
        "newer cubin": lambda: cubin(described, number, toolkit="13.0"),
        "ptx": lambda: ptx(described, f"sm_{number}", version="8.7"),
    }[form]()
    with driver.primary_context():
        module = kernels.Module(driver, image)
        for kernel in described:
            function = module.function(kernel.name)
            read = function.attribute
            assert read(function.MAX_THREADS) == kernel.max_threads
            assert read(function.STATIC_SHARED_BYTES) == kernel.shared_bytes
            assert (
                read(function.MAX_DYNAMIC_SHARED_BYTES) == 49152 - kernel.shared_bytes
            )
            assert (read(5), read(6)) == (number, number)
        # The same function again.
        assert module.function("first").handle.value == (
            module.function("first").handle.value
        )


@pytest.mark.parametrize("form", [cubin, ptx])
def test_names(start: Start, form: Any) -> None:
    _, driver = start("13.0")
    found = ctypes.byref(ctypes.c_void_p())
    with driver.primary_context():
        module = kernels.Module(driver, form(SMALL))

        def code(name: bytes | None, handle: Any = module.handle) -> int:
            return int(driver.result("cuModuleGetFunction", found, handle, name))

        assert code(b"kernel") == 0
        assert code(b"") == INVALID_VALUE
        for name in (b"kern", b"kernel2", b"no_kernel", b"helper", b"ring"):
            assert code(name) == NOT_FOUND
        assert code(None) == INVALID_VALUE
        assert code(b"kernel", None) == INVALID_HANDLE
        module.unload()
        assert code(b"kernel") == INVALID_HANDLE
        assert driver.result("cuModuleUnload", module.handle) == INVALID_HANDLE


def test_modules_belong_to_contexts(start: Start) -> None:
    simulator, driver = start("13.0", devices=2)
    simulator.set_compute_capability("8.0", device=1)
    assert load_code(driver, cubin(SMALL)) == INVALID_CONTEXT
    with driver.primary_context(1):
        assert load_code(driver, cubin(SMALL, 90)) == NO_BINARY_FOR_GPU
        assert load_code(driver, cubin(SMALL, 80)) == 0
    created = driver.create_context()
    with created.current():
        module = kernels.Module(driver, cubin(SMALL))
        function = module.function("kernel")
    assert simulator.live()["modules"] == 1
    created.close()
    assert simulator.live()["modules"] == 0
    with driver.primary_context():
        assert driver.result("cuModuleUnload", module.handle) == INVALID_HANDLE
        assert function.set_attribute(8, 0) == INVALID_HANDLE
        assert function.launch_code(bytes(64)) == INVALID_HANDLE


@pytest.mark.parametrize(
    ("capability", "most"),
    [("7.5", 65536), ("8.0", 166912), ("8.6", 101376), ("9.0", 232448)],
)
def test_shared_memory(start: Start, capability: str, most: int) -> None:
    simulator, driver = start("13.0")
    simulator.set_compute_capability(capability)
    assert driver.device_attribute(97, 0) == most
    number = int(capability.replace(".", ""))
    with driver.primary_context():
        image = cubin([Kernel("kernel", 0, 32, 256)], number)
        function = kernels.Module(driver, image).function("kernel")
        dynamic = function.MAX_DYNAMIC_SHARED_BYTES
        assert function.set_attribute(dynamic, most - 256) == 0
        assert function.attribute(dynamic) == most - 256
        for value in (most - 255, -1):
            assert function.set_attribute(dynamic, value) == INVALID_VALUE
        assert function.attribute(dynamic) == most - 256
        assert function.set_attribute(function.MAX_THREADS, 64) == INVALID_VALUE
        assert function.set_attribute(9, 100) == 0
        assert function.set_attribute(9, 101) == INVALID_VALUE
        word = ctypes.byref(ctypes.c_int())
        assert driver.result("cuFuncGetAttribute", word, 99, function.handle) == 1
        assert driver.result("cuFuncGetAttribute", word, 8, None) == INVALID_HANDLE
