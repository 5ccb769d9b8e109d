"""The table of device images that a program is linked with."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Image:
    """An entry of kKernelImages, with its data."""

    name: str
    compute_capability: int
    is_ptx: bool
    parameter_bytes: int
    has_bulk: bool
    data: bytes


def read_table(program: str, folder: Path) -> list[Image]:
    """What `program`, of image_table.cc, has; `folder` is for its files."""
    run = subprocess.run(
        [program, str(folder)], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return [
        Image(**json.loads(line), data=(folder / str(number)).read_bytes())
        for number, line in enumerate(run.stdout.splitlines())
    ]
