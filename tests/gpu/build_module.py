"""Builds the folder `kvswap` for the Python that runs this, from carried parts.

For machines without Bazel: compiles the pybind11 module against this Python and links
it with a libkvswap.so that was built elsewhere.

    python tests/gpu/build_module.py --library FOLDER/libkvswap.so --output OUT
    KVSWAP_PACKAGE_DIR=OUT python -m pytest tests/gpu

Needs a C++17 compiler (CXX, else g++), this Python's headers, and pybind11's: those of
--pybind11, of the Python package pybind11, or of torch, in this order.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pybind11_include(given: pathlib.Path | None) -> pathlib.Path:
    """The folder that holds pybind11/pybind11.h."""
    candidates = [given] if given is not None else []
    for package in ("pybind11", "torch"):
        specification = importlib.util.find_spec(package)
        if specification is not None and specification.origin is not None:
            candidates.append(pathlib.Path(specification.origin).parent / "include")
    for candidate in candidates:
        if (candidate / "pybind11" / "pybind11.h").is_file():
            return candidate
    looked_in = ", ".join(str(candidate) for candidate in candidates) or "nothing"
    raise SystemExit(f"no pybind11/pybind11.h found; looked in: {looked_in}")


def build(
    library: pathlib.Path, output: pathlib.Path, pybind11: pathlib.Path | None
) -> pathlib.Path:
    """Fills `output`/kvswap and returns that folder."""
    package = output.resolve() / "kvswap"
    package.mkdir(parents=True, exist_ok=True)
    for source in ROOT.glob("py/kvswap/**/*"):
        if source.suffix in (".c", ".py", ".pyi", ".typed"):
            target = package / source.relative_to(ROOT / "py" / "kvswap")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    shutil.copy(library, package / "libkvswap.so")
    sources = sorted(ROOT.glob("csrc/bindings/*.cc"))
    command = [
        os.environ.get("CXX", "g++"),
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-I",
        str(ROOT),
        "-isystem",
        str(pybind11_include(pybind11)),
        "-isystem",
        sysconfig.get_paths()["include"],
        *map(str, sources),
        str(package / "libkvswap.so"),
        "-Wl,-rpath,$ORIGIN",
        "-o",
        str(package / "_core.so"),
    ]
    subprocess.run(command, check=True)
    return package


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--pybind11", type=pathlib.Path)
    arguments = parser.parse_args()
    print(build(arguments.library, arguments.output, arguments.pybind11))


if __name__ == "__main__":
    main()
