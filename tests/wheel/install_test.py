"""The wheels, installed by pip into an environment of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.environments import Environment
from tests.wheel.wheel_files import built_wheels, has_torch_operators

WHEELS = built_wheels()
# The last line of the demo where no byte is wrong.
END = re.compile(r"Every byte of \d+ blocks came back as it was")
SMALL_DEMO = ("-m", "kvswap", "demo", "--blocks=40", "--block_bytes=1001")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """What `pip install kvswap` gives: no torch, no NumPy, no simulated driver."""
    environment = Environment(tmp_path_factory.mktemp("bare") / "environment")
    environment.copy_distribution("absl-py")
    environment.install(WHEELS["kvswap"].path)
    yield environment


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """What `pip install kvswap[sim]` gives."""
    environment = Environment(tmp_path_factory.mktemp("simulated") / "environment")
    environment.copy_distribution("absl-py")
    environment.install(WHEELS["kvswap_sim"].path)
    environment.install(Path(f"{WHEELS['kvswap'].path}[sim]"))
    yield environment


def test_pip_check(bare: Environment, simulated: Environment) -> None:
    for environment in (bare, simulated):
        assert "No broken requirements found" in environment.pip("check")


def test_absl_is_asked_for(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    output = environment.pip(
        "install", "--no-index", WHEELS["kvswap"].path, check=False
    )
    assert "absl-py" in output
    assert "No matching distribution" in output


def test_import_alone(bare: Environment) -> None:
    output = bare.run(
        "-c",
        "import json, sys, kvswap; print(json.dumps("
        "[kvswap.__version__, kvswap.__file__, sorted(sys.modules)]))",
    )
    version, file, modules = json.loads(output)
    assert version == WHEELS["kvswap"].version
    assert Path(file).is_relative_to(bare.folder)
    assert {"torch", "numpy", "absl"}.isdisjoint(modules)


def test_program(bare: Environment) -> None:
    """Without any extra, in plain text; by its name as by `python -m`."""
    text = bare.run_script("kvswap", "--help")
    assert "Run first: kvswap doctor" in text
    assert "doctor" in bare.run("-m", "kvswap", "--help")
    version = f"kvswap {WHEELS['kvswap'].version}\n"
    assert bare.run_script("kvswap", "--version") == version
    assert "did you mean doctor?" in bare.run_script("kvswap", "docter", check=False)


def test_doctor(bare: Environment) -> None:
    report = json.loads(bare.run_script("kvswap", "doctor", "--json", check=False))
    assert report["kvswap"] == WHEELS["kvswap"].version
    assert set(report["versions"]["extras"].values()) == {None}
    assert report["torch"]["installed"] is False
    assert report["driver"]["tried"]
    assert report["failures"] == {}
    text = bare.run_script("kvswap", "doctor", check=False)
    assert "What to do" in text and "\x1b" not in text


def test_demo_says_what_it_lacks(bare: Environment) -> None:
    output = bare.run(*SMALL_DEMO, "--simulate", check=False)
    assert "there is no simulated driver" in output
    assert "-m pip install 'kvswap[sim]'" in output


def test_doctor_on_the_simulated_driver(simulated: Environment) -> None:
    code = """
import os, sys, kvswap_sim
os.environ.update(kvswap_sim.environment("12.8"))
from kvswap.command_line import main
sys.exit(main(["doctor"]))
"""
    text = simulated.run("-c", code, check=False)
    assert "[ok] SIMULATED driver for CUDA 12.8" in text
    assert "Swaps work here; see the warnings." in text


def test_demo_with_the_simulated_driver_alone(simulated: Environment) -> None:
    output = simulated.run(*SMALL_DEMO, "--simulate")
    assert "lists of Python" in output
    assert "SIMULATED driver for CUDA 13.0" in output
    assert END.search(output)


def test_demo_on_every_driver(simulated: Environment) -> None:
    versions = json.loads(
        simulated.run(
            "-c", "import json, kvswap_sim as s; print(json.dumps(s.DRIVER_VERSIONS))"
        )
    )
    assert len(versions) >= 8
    for version in versions:
        output = simulated.run(*SMALL_DEMO, "--simulate", f"--driver_version={version}")
        assert f"SIMULATED driver for CUDA {version}" in output
        assert END.search(output)


def test_demo_with_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = Environment(tmp_path / "environment")
    environment.copy_distribution("absl-py")
    environment.install(WHEELS["kvswap_sim"].path, WHEELS["kvswap"].path)
    environment.see_packages_of_this_python()
    output = environment.run(*SMALL_DEMO, "--simulate")
    assert "an offload round with torch" in output
    assert END.search(output)


def test_error_messages_arrive_whole(simulated: Environment) -> None:
    """Exceptions of C++ become Python's, with the C++ library that the wheel has."""
    output = simulated.run(
        "-c",
        """
import array, os, kvswap_sim
os.environ.update(kvswap_sim.environment("13.0"))
import kvswap
from kvswap.testing.cuda_driver import CudaDriver
for arguments, error in [
    ((array.array("q", [1]), array.array("q", [1, 2]), array.array("q", [1])), ValueError),
    ((array.array("d", [1.0]),) * 3, TypeError),
    (("text",) * 3, TypeError),
]:
    try:
        kvswap.swap_blocks_batch(*arguments, stream=0)
    except error as caught:
        print(type(caught).__name__, caught)
driver = CudaDriver(os.environ["KVSWAP_LIBCUDA"])
with driver.primary_context(0), driver.device_memory(4096) as memory:
    one = array.array("q", [memory.address])
    try:
        kvswap.swap_blocks_batch(one, array.array("q", [64]), array.array("q", [8]), stream=0)
    except kvswap.SwapError as caught:
        print(type(caught).__name__, caught.index, caught)
print("end")
""",
    )
    value_error, *type_errors, swap_error, end = output.splitlines()
    assert value_error.startswith("ValueError ")
    assert "dst_ptrs" in value_error
    assert [line.split()[0] for line in type_errors] == ["TypeError"] * 2
    assert swap_error.startswith("SwapError 0 ")
    assert "dst_ptrs[0] = 0x40 with sizes[0] = 8" in swap_error
    assert swap_error.endswith("Nothing was submitted")
    assert end == "end"


@pytest.mark.skipif(not has_torch_operators(), reason="built without torch's headers")
def test_operators_for_torch(tmp_path: Path) -> None:
    """Their errors pass from this library to torch, which has another C++ library."""
    pytest.importorskip("torch")
    environment = Environment(tmp_path / "environment")
    environment.copy_distribution("absl-py")
    environment.install(WHEELS["kvswap_sim"].path, WHEELS["kvswap"].path)
    environment.see_packages_of_this_python()
    output = environment.run(
        "-c",
        """
import os, kvswap_sim
os.environ.update(kvswap_sim.environment("13.0"))
import kvswap.torch_ops, torch
from kvswap.testing.cuda_driver import CudaDriver
swap_blocks_batch = torch.ops.kvswap.swap_blocks_batch
driver = CudaDriver(os.environ["KVSWAP_LIBCUDA"])
with driver.primary_context(0), driver.device_memory(16) as gpu, driver.pinned_memory(16) as host:
    host.view[:] = b"0123456789abcdef"
    source, target, sizes = map(torch.tensor, ([host.address], [gpu.address], [16]))
    swap_blocks_batch(source, target, sizes)
    driver.synchronize()
    print(gpu.read().decode())
    for arguments in ((source, torch.tensor([64]), sizes), (source, target, sizes.int())):
        for _ in range(1000):
            try:
                swap_blocks_batch(*arguments)
            except RuntimeError as caught:
                message = str(caught)
        print(message)
print(kvswap.stats().calls)
""",
    )
    bytes_there, of_library, of_operator, calls = output.splitlines()
    assert bytes_there == "0123456789abcdef"
    assert "dst_ptrs[0] = 0x40 with sizes[0] = 16" in of_library
    assert of_library.endswith("Nothing was submitted")
    assert of_operator.startswith("swap_blocks_batch: sizes has another dtype")
    assert of_operator.endswith("sizes.to(torch.int64)")
    assert calls == "1001"


def test_a_thread_that_ends_inside_a_call(simulated: Environment) -> None:
    """A daemon thread that the interpreter's end finds inside a call does no harm.

    CPython before 3.14 ends it by unwinding its stack, through the module's frames.
    """
    output = simulated.run(
        "-c",
        """
import array, os, threading, time, kvswap_sim
os.environ.update(kvswap_sim.environment("13.0"))
import kvswap
from kvswap.testing.cuda_driver import CudaDriver
driver = CudaDriver(os.environ["KVSWAP_LIBCUDA"])
held = [driver.primary_context(0)]
held[0].__enter__()
held.append(driver.device_memory(1 << 20))
memory = held[1].__enter__()
count = 4096
source = array.array("q", [memory.address]) * count
target = array.array("q", [memory.address + 4096]) * count
sizes = array.array("q", [64]) * count
def swap():
    while True:
        kvswap.swap_blocks_batch(source, target, sizes, stream=0)
for _ in range(4):
    threading.Thread(target=swap, daemon=True).start()
time.sleep(0.3)
print("end", flush=True)
""",
    )
    assert output.splitlines()[-1] == "end"


def test_another_python_is_named(simulated: Environment, tmp_path: Path) -> None:
    """A wheel of another Python, forced into this one, says so when it is imported."""
    environment = Environment(tmp_path / "environment")
    environment.install(WHEELS["kvswap_sim"].path)
    package = environment.site_packages / "kvswap"
    for path, content in WHEELS["kvswap"].content.items():
        target = environment.site_packages / path.replace(
            f"cpython-{WHEELS['kvswap'].python_tag[2:]}", "cpython-39"
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    output = environment.run("-c", "import kvswap", check=False)
    assert (
        f"kvswap in {package} was built for another Python (_core.cpython-39" in output
    )
    assert "-m pip install kvswap" in output


def test_a_package_without_its_module_is_named(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    for path, content in WHEELS["kvswap"].content.items():
        if path.endswith(".py"):
            target = environment.site_packages / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    output = environment.run("-c", "import kvswap", check=False)
    assert "kvswap has no extension module in" in output
    assert "it is built by Bazel" in output
