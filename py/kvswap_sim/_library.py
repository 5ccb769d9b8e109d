"""Which library stands for which driver version, and where it is."""

from __future__ import annotations

import os
from pathlib import Path

LIBRARY_DIRECTORY_VARIABLE = "KVSWAP_SIM_LIBRARY_DIR"

# The libraries differ in the symbols that they export, as real drivers do: each
# row is the first version that a library can pass for.
_LIBRARIES = (
    (13000, "libcuda_sim.so"),
    (12080, "libcuda_sim_before_13_0.so"),
    (12000, "libcuda_sim_before_12_8.so"),
    (11040, "libcuda_sim_before_12_0.so"),
)

DRIVER_VERSIONS = (
    "11.4",
    "11.8",
    "12.0",
    "12.4",
    "12.8",
    "12.9",
    "13.0",
    "13.5",
)
"""Versions worth testing with: the ends, and both sides of each change."""


def version_number(driver_version: str) -> int:
    """``"12.8"`` as CUDA counts it: 12080."""
    major, separator, minor = driver_version.partition(".")
    if not (separator and major.isdigit() and minor.isdigit()):
        raise ValueError(f"{driver_version!r} is not a version such as '12.8'")
    return int(major) * 1000 + int(minor) * 10


def _library_name(driver_version: str) -> str:
    number = version_number(driver_version)
    if number <= 13050:
        for first, name in _LIBRARIES:
            if number >= first:
                return name
    raise ValueError(
        f"driver version {driver_version} is not simulated: 11.4 to 13.5 are"
    )


def _directories() -> list[Path]:
    chosen = os.environ.get(LIBRARY_DIRECTORY_VARIABLE)
    if chosen:
        return [Path(chosen)]
    here = Path(__file__).absolute().parent
    # Installed beside the package, or in a runfiles tree at their Bazel path.
    return [here, here.parent.parent / "csrc" / "sim"]


def library_path(driver_version: str = "13.0") -> str:
    """The file of the library that can pass for a driver of that version.

    Raises:
        ValueError: the version is none that is simulated.
        FileNotFoundError: the libraries are not where they are looked for:
            in ``$KVSWAP_SIM_LIBRARY_DIR`` if that is set, else beside this
            package, else in ``csrc/sim`` of the same tree.
    """
    name = _library_name(driver_version)
    directories = _directories()
    for directory in directories:
        path = directory / name
        if path.is_file():
            return str(path.resolve())
    looked = ", ".join(str(directory) for directory in directories)
    raise FileNotFoundError(
        f"{name} is not in {looked}; set {LIBRARY_DIRECTORY_VARIABLE} to the "
        "directory that holds the simulated driver's libraries"
    )
