"""Writes the C++ source that holds the device images: kernel_images.h.

The images stand there as arrays of words, which compilers read quickly and every one of
them understands.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

_BEGINNING = """\
// The device images; written by embed_kernel_images.py.

#include "csrc/kernels/kernel_images.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The words of the images are those of a little-endian machine."
#endif

namespace kvswap::kernels {
namespace {
"""

_WORD = struct.Struct("<Q")
_WORDS_IN_LINE = 4


def _array(name: str, data: bytes) -> str:
    padded = data + bytes(-len(data) % _WORD.size)
    words = [f"{word:#x}" for (word,) in _WORD.iter_unpack(padded)]
    lines = [
        ", ".join(words[i : i + _WORDS_IN_LINE])
        for i in range(0, len(words), _WORDS_IN_LINE)
    ]
    return f"const unsigned long long {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def _entry(array: str, image: dict[str, Any], size: int) -> str:
    return (
        f"    {{{json.dumps(image['name'])}, {image['compute_capability']}, "
        f"{json.dumps(image['is_ptx'])}, {image['parameter_bytes']}, "
        f"{json.dumps(image['has_bulk'])}, {array}, {size}}},\n"
    )


def source_of(images: list[dict[str, Any]]) -> str:
    """The C++ source for images that are described as kernel_images.bzl does."""
    arrays, entries = [], []
    for number, image in enumerate(images):
        data = Path(image["path"]).read_bytes()
        if image["is_ptx"] and not data.endswith(b"\0"):
            data += b"\0"
        array = f"kImage{number}"
        arrays.append(_array(array, data))
        entries.append(_entry(array, image, len(data)))
    return (
        f"{_BEGINNING}\n"
        + "\n".join(arrays)
        + "\n}  // namespace\n\nconst KernelImage kKernelImages[] = {\n"
        + "".join(entries)
        + f"}};\nconst std::size_t kKernelImageCount = {len(images)};\n\n"
        + "}  // namespace kvswap::kernels\n"
    )


def main(arguments: list[str]) -> None:
    output, *images = arguments
    text = source_of([json.loads(image) for image in images])
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
