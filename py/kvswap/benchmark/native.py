"""C code of the benchmark, compiled when it runs."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

_FOLDER = pathlib.Path(__file__).resolve().parent


class CompilerError(RuntimeError):
    """There is no C compiler, or it refused the source."""


def compile_shared(
    source: str, output: pathlib.Path, definitions: Sequence[str] = ()
) -> pathlib.Path:
    """Compiles a file of this folder to a shared library.

    Args:
        source: its name.
        output: the library.
        definitions: of macros, as "NAME=value".

    Raises:
        CompilerError: see there.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise CompilerError("no C compiler: set CC, or install cc or gcc")
    outcome = subprocess.run(
        [
            compiler,
            "-O2",
            "-fPIC",
            "-shared",
            *(f"-D{definition}" for definition in definitions),
            str(_FOLDER / source),
            "-o",
            str(output),
            "-ldl",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        raise CompilerError(f"{compiler} refused {source}: {outcome.stderr.strip()}")
    return output


@functools.cache
def _library_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kvswap_bench_")


def driver_without_batch(folder: pathlib.Path, real: str) -> pathlib.Path:
    """A driver that has all that another library has, but not the batch call."""
    return compile_shared(
        "no_batch_driver.c",
        folder / "libcuda_no_batch.so",
        [f'REAL_DRIVER="{real}"'],
    )


@functools.cache
def copy_loop() -> ctypes.CDLL:
    """The library of native_loop.c."""
    folder = pathlib.Path(_library_folder().name)
    library = ctypes.CDLL(str(compile_shared("native_loop.c", folder / "loop.so")))
    library.copy_each.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    return library
