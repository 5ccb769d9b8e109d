"""C code of the benchmark, compiled when it runs."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

_FOLDER = pathlib.Path(__file__).resolve().parent


class CompilerError(RuntimeError):
    """There is no C compiler, or it refused the source."""


def compile_shared(source: str, output: pathlib.Path) -> pathlib.Path:
    """Compiles a file of this folder to a shared library.

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


@functools.cache
def shared_library(source: str) -> pathlib.Path:
    """A file of this folder as a shared library, compiled once a process."""
    folder = pathlib.Path(_library_folder().name)
    return compile_shared(source, folder / (pathlib.Path(source).stem + ".so"))


@functools.cache
def copy_loop() -> ctypes.CDLL:
    """The library of native_loop.c."""
    library = ctypes.CDLL(str(shared_library("native_loop.c")))
    library.copy_each.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_void_p,
    ]
    return library
