"""Compiles device code by NVRTC, for actions: one source to one cubin or PTX.

Needs neither a GPU nor a driver. Source and headers are given to NVRTC by name, so that
the output depends on nothing but them and the options.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from pathlib import Path

_SUCCESS = 0


class CompileError(Exception):
    """The message says what went wrong and what to do."""


class Nvrtc:
    """The functions of NVRTC's C API that are needed here."""

    def __init__(self, library: str, builtins: str) -> None:
        try:
            # NVRTC loads it by its name, and finds the one that is loaded already.
            ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise CompileError(
                f"NVRTC does not load here: {error}. It has to be built for the "
                "machine that Bazel's actions run on."
            ) from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _call(self, function: str, *arguments: object) -> None:
        result = getattr(self._library, function)(*arguments)
        if result != _SUCCESS:
            text = self._library.nvrtcGetErrorString(result).decode()
            raise CompileError(f"{function}: {text}.")

    def version(self) -> str:
        """As ``12.8``."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def _bytes(self, kind: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{kind}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{kind}", program, buffer)
        return buffer.raw

    def compile(
        self,
        name: str,
        source: bytes,
        headers: dict[str, bytes],
        architecture: str,
        options: list[str],
    ) -> tuple[bytes, str]:
        """The cubin (of ``sm_90``) or PTX (of ``compute_90``), and the compiler's log."""
        program = ctypes.c_void_p()
        strings = ctypes.c_char_p * len(headers)
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source,
            name.encode(),
            len(headers),
            strings(*headers.values()),
            strings(*(header.encode() for header in headers)),
        )
        options = [f"--gpu-architecture={architecture}", *options]
        try:
            self._call(
                "nvrtcCompileProgram",
                program,
                len(options),
                (ctypes.c_char_p * len(options))(*(o.encode() for o in options)),
            )
        except CompileError as error:
            log = self._log(program)
            raise CompileError(f"{error} The compiler says:\n{log}") from error
        kind = "CUBIN" if architecture.startswith("sm_") else "PTX"
        return self._bytes(kind, program), self._log(program)

    def _log(self, program: ctypes.c_void_p) -> str:
        log = self._bytes("ProgramLog", program)
        return log.rstrip(b"\0").decode(errors="replace").strip()


def _compile(options: argparse.Namespace) -> None:
    nvrtc = Nvrtc(options.library, options.builtins)
    if nvrtc.version() != options.version:
        raise CompileError(
            f"{options.library} is NVRTC {nvrtc.version()}, not {options.version}: "
            "correct `version` of its cuda_nvrtc."
        )
    headers = dict(header.split("=", 1) for header in options.header)
    image, log = nvrtc.compile(
        options.source_name,
        Path(options.source).read_bytes(),
        {name: Path(path).read_bytes() for name, path in headers.items()},
        options.architecture,
        options.option,
    )
    if log:
        print(f"{options.image}: {log}", file=sys.stderr)
    Path(options.output).write_bytes(image)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--image", required=True, help="what is compiled, for messages")
    add("--library", required=True, help="path of libnvrtc.so")
    add("--builtins", required=True, help="path of libnvrtc-builtins.so")
    add("--version", required=True, help="what NVRTC is to be, as 12.8")
    add("--architecture", required=True, help="sm_90: a cubin; compute_90: PTX")
    add("--option", action="append", default=[], help="for the compiler")
    add("--source", required=True, help="path of the source")
    add("--source_name", required=True, help="its name in messages")
    add("--header", action="append", default=[], help="NAME=PATH, as it is included")
    add("--output", required=True, help="path of the image")
    options = parser.parse_args(arguments)
    try:
        _compile(options)
    except CompileError as error:
        print(f"kvswap: {options.image}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
