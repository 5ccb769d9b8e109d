"""The tool that writes images into a C++ source. That it compiles shows in images_test."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from csrc.kernels import embed_kernel_images


def described(path: Path, content: bytes, *, is_ptx: bool = False) -> dict[str, Any]:
    path.write_bytes(content)
    return {
        "compute_capability": 90,
        "has_bulk": False,
        "is_ptx": is_ptx,
        "name": f"the image {path.name}",
        "parameter_bytes": 4096,
        "path": str(path),
    }


def bytes_of(source: str, array: str) -> bytes:
    """What stands in an array of the source."""
    (text,) = re.findall(rf" {array}\[\] = {{(.*?)}};", source, re.DOTALL)
    return b"".join(
        struct.pack("<Q", int(word, 16)) for word in re.findall(r"0x[0-9a-f]+", text)
    )


def test_bytes_and_sizes(tmp_path: Path) -> None:
    contents = [bytes(range(256)), b"\xff\x80" * 13, b"1"]
    images = [described(tmp_path / str(i), c) for i, c in enumerate(contents)]
    source = embed_kernel_images.source_of(images)
    for number, content in enumerate(contents):
        array = bytes_of(source, f"kImage{number}")
        assert array.startswith(content)
        assert array[len(content) :].strip(b"\0") == b""
        entry = (
            f'{{"the image {number}", 90, false, 4096, false, kImage{number}, '
            f"{len(content)}}}"
        )
        assert entry in source
    assert "kKernelImageCount = 3;" in source


def test_ptx_ends_with_one_null(tmp_path: Path) -> None:
    for content in (b"1234567", b"12345678", b"1234567\0"):
        image = described(tmp_path / "ptx", content, is_ptx=True)
        source = embed_kernel_images.source_of([image])
        size = len(content.rstrip(b"\0")) + 1
        assert f"kImage0, {size}}}" in source
        assert bytes_of(source, "kImage0")[:size] == content.rstrip(b"\0") + b"\0"
