"""Before cuInit, after a fork, without devices, and wrong environments."""

from __future__ import annotations

import ctypes

import pytest

import kvswap_sim
from tests.sim import child
from tests.sim.client import Start, cuda_driver


@pytest.mark.parametrize("version", kvswap_sim.DRIVER_VERSIONS)
def test_versions(start: Start, version: str) -> None:
    simulator, driver = start(version)
    major, minor = version.split(".")
    assert driver.version() == int(major) * 1000 + int(minor) * 10
    assert simulator.driver_version == version


def test_preset_versions() -> None:
    presets = {}
    for version in ("11.8", "12.4", "12.8", "13.0"):
        simulator = kvswap_sim.Simulator(path=kvswap_sim.library_path(version))
        simulator.reset()
        presets[version] = simulator.driver_version
    assert presets == {
        "11.8": "11.8",
        "12.4": "12.4",
        "12.8": "12.8",
        "13.0": "13.0",
    }


def test_version_that_the_exports_do_not_fit(start: Start) -> None:
    simulator, _ = start("12.8")
    with pytest.raises(ValueError, match="set_driver_version"):
        simulator.driver_version = "13.0"
    with pytest.raises(ValueError, match="not simulated"):
        kvswap_sim.library_path("10.2")
    with pytest.raises(ValueError, match="not a version"):
        kvswap_sim.library_path("12")


def test_before_initialisation(start: Start) -> None:
    simulator, _ = start("13.0")
    simulator.reset()
    driver = cuda_driver.CudaDriver(simulator.path, initialize=False)
    assert driver.version() == 13000
    assert driver.error_name(1) == "CUDA_ERROR_INVALID_VALUE"
    word = ctypes.byref(ctypes.c_uint64())
    for function, arguments in (
        ("cuDeviceGet", (word, 0)),
        ("cuDeviceGetCount", (word,)),
        ("cuDevicePrimaryCtxRetain", (word, 0)),
        ("cuCtxGetCurrent", (word,)),
        ("cuMemAlloc_v2", (word, ctypes.c_size_t(64))),
        ("cuStreamIsCapturing", (None, word)),
        ("cuThreadExchangeStreamCaptureMode", (word,)),
    ):
        assert driver.result(function, *arguments) == 3, function


def test_cuinit_flags(start: Start) -> None:
    _, driver = start("13.0")
    assert driver.result("cuInit", ctypes.c_uint(1)) == 1


def test_no_devices() -> None:
    result = child.run(
        """
        driver = cuda_driver.CudaDriver(initialize=False)
        assert driver.version() == 13000
        print(driver.result("cuInit", 0), driver.result("cuCtxSynchronize"))
        """,
        kvswap_sim.environment("13.0", devices=0),
    )
    assert result.stdout.split() == ["100", "3"], result.stderr


def test_child_of_an_initialised_process() -> None:
    result = child.run(
        """
        driver = cuda_driver.CudaDriver()
        context = driver.retain_primary()
        child = os.fork()
        if child == 0:
            count = ctypes.byref(ctypes.c_int())
            codes = [
                driver.result("cuInit", 0),
                driver.result("cuDeviceGetCount", count),
                driver.result("cuCtxGetCurrent", count),
                driver.result("cuDriverGetVersion", count),
            ]
            os._exit(0 if codes == [3, 3, 3, 0] else 1)
        print(os.waitpid(child, 0)[1], driver.device_count())
        """
    )
    assert result.stdout.split() == ["0", "1"], result.stderr


def test_child_of_a_process_that_did_not_initialise() -> None:
    result = child.run(
        """
        driver = cuda_driver.CudaDriver(initialize=False)
        driver.version()
        child = os.fork()
        if child == 0:
            driver.call("cuInit", 0)
            with driver.primary_context():
                driver.device_memory(64)
            os._exit(0)
        print(os.waitpid(child, 0)[1], driver.result("cuInit", 0))
        """
    )
    assert result.stdout.split() == ["0", "0"], result.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KVSWAP_SIM_DRIVER_VERSION", "thirteen"),
        ("KVSWAP_SIM_DRIVER_VERSION", "12.4"),
        ("KVSWAP_SIM_DRIVER_VERSION", "13"),
        ("KVSWAP_SIM_DEVICES", "-1"),
        ("KVSWAP_SIM_DEVICES", "65"),
        ("KVSWAP_SIM_DEVICES", "two"),
        ("KVSWAP_SIM_SEED", "x"),
        ("KVSWAP_SIM_SEED", "18446744073709551616"),
        ("KVSWAP_SIM_WITHOUT", "cuNoSuchFunction"),
        ("KVSWAP_SIM_LOOKUP", "cuMemcpyAsync"),
        ("KVSWAP_SIM_LOOKUP", "cuMemcpyAsync=lie"),
        ("KVSWAP_SIM_LOOKUP", "cuNoSuchFunction=null"),
        ("KVSWAP_SIM_FAULTS", "cuMemcpyAsync"),
        ("KVSWAP_SIM_FAULTS", "cuMemcpyAsync#0=1"),
        ("KVSWAP_SIM_FAULTS", "cuMemcpyAsync#1=x"),
        ("KVSWAP_SIM_FAULTS", "cuNoSuchFunction#1=1"),
        ("KVSWAP_SIM_FAULTS", "cuMemcpyAsync#1=1,later"),
        ("KVSWAP_SIM_FAULTS", "cuMemcpyAsync>10=1"),
        ("KVSWAP_SIM_TRACE", "/nowhere/trace"),
    ],
)
def test_malformed_variable(variable: str, value: str) -> None:
    result = child.run(
        "kvswap_sim.Simulator().driver_version",
        {**kvswap_sim.environment("13.0"), variable: value},
    )
    assert result.returncode == -6
    assert f'{variable}="{value}"' in result.stderr


def test_environment_reaches_the_child() -> None:
    result = child.run(
        """
        simulator = kvswap_sim.Simulator()
        driver = cuda_driver.CudaDriver()
        print(simulator.driver_version, driver.device_count(), simulator.seed)
        """,
        kvswap_sim.environment("12.4", devices=3, seed=77),
    )
    assert result.stdout.split() == ["12.4", "3", "77"], result.stderr


def test_random_seed_is_printed() -> None:
    result = child.run(
        "print(kvswap_sim.Simulator().seed)",
        {**kvswap_sim.environment("13.0"), "KVSWAP_SIM_SEED": "random"},
    )
    assert f"cuda_sim: seed {result.stdout.strip()}\n" in result.stderr


def test_not_a_simulated_driver() -> None:
    with pytest.raises(ValueError, match="not a simulated driver"):
        kvswap_sim.Simulator(path="libc.so.6")


def test_library_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv(kvswap_sim.LIBRARY_DIRECTORY_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="KVSWAP_SIM_LIBRARY_DIR"):
        kvswap_sim.library_path("13.0")
