"""What the blocks hold, and whether they still do."""

from __future__ import annotations

import random
import zlib


class WrongBytesError(Exception):
    """A block does not hold what was written to it."""


def content_of(seed: int, request: int, index: int, block_bytes: int) -> bytes:
    """The bytes of one block of a request: random, and the same each time."""
    return random.Random(f"{seed} {request} {index}").randbytes(block_bytes)


def check_content(actual: bytes, expected: bytes, block: str) -> None:
    """Compares the bytes of a block with those that were written.

    Args:
        actual: what it holds.
        expected: what it should hold.
        block: which block that is, and where, for people.

    Raises:
        WrongBytesError: they differ.
    """
    if actual == expected:
        return
    pairs = zip(actual, expected, strict=True)
    position = next(i for i, (one, other) in enumerate(pairs) if one != other)
    raise WrongBytesError(
        f"{block}: byte {position} is {actual[position]} instead of "
        f"{expected[position]} (checksum {zlib.crc32(actual):08x} instead of "
        f"{zlib.crc32(expected):08x})"
    )
