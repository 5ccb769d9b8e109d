"""The naive op, hard-linked with cuMemcpyBatchAsync, needs a driver that exports it.

The import is tried in a process of its own, with nothing but another libcuda.so.1.
"""

import os
import pathlib
import subprocess
import sys

import pytest


def run_naive_op(folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Imports and calls the module in a new process that finds libcuda.so.1 in `folder`."""
    module = pathlib.Path(os.environ["NAIVE_OP"]).absolute()
    return subprocess.run(
        [sys.executable, "-c", "import naive_op; print(naive_op.swap_nothing())"],
        env={"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": str(module.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def driver_folder(
    tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> pathlib.Path:
    """A folder whose libcuda.so.1 is the library that the variable `request.param` names."""
    library = pathlib.Path(os.environ[request.param]).absolute()
    (tmp_path / "libcuda.so.1").symlink_to(library)
    return tmp_path


@pytest.mark.parametrize("driver_folder", ["DRIVER_12_8", "DRIVER_13_0"], indirect=True)
def test_control_imports_and_runs_where_the_driver_exports_the_symbol(
    driver_folder: pathlib.Path,
) -> None:
    completed = run_naive_op(driver_folder)

    assert completed.returncode == 0, completed.stderr
    # CUDA_ERROR_NOT_INITIALIZED: the driver was called, and nobody had called cuInit.
    assert completed.stdout == "3\n"


@pytest.mark.parametrize("driver_folder", ["DRIVER_12_4"], indirect=True)
def test_import_fails_where_the_driver_lacks_the_symbol(
    driver_folder: pathlib.Path,
) -> None:
    completed = run_naive_op(driver_folder)

    assert completed.returncode != 0
    assert "ImportError" in completed.stderr
    assert "undefined symbol: cuMemcpyBatchAsync" in completed.stderr


def test_import_fails_without_a_driver(tmp_path: pathlib.Path) -> None:
    completed = run_naive_op(tmp_path)

    assert completed.returncode != 0
    assert "ImportError: libcuda.so.1" in completed.stderr
