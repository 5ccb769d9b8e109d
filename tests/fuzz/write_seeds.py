"""Writes the inputs that fuzzing of images begins with: python -m tests.fuzz.write_seeds.

Small valid images of both kinds. What fuzzing found is kept beside them, by name.
"""

from __future__ import annotations

from pathlib import Path

from tests.sim.kernel_images import Kernel, cubin, ptx

_KERNELS = [Kernel("a", 64, 32, 16), Kernel("bc", 4104)]


def main() -> None:
    """Writes them to the corpus beside this file."""
    folder = Path(__file__).parent / "corpus" / "image"
    folder.mkdir(parents=True, exist_ok=True)
    for toolkit in ("12.4", "13.0"):
        for capability in (90, 100) if toolkit == "13.0" else (90,):
            name = f"valid_cubin_{toolkit}_{capability}"
            image = cubin(_KERNELS, capability, toolkit=toolkit)
            (folder / name).write_bytes(image)
    for target in ("sm_80", "sm_90a", "sm_100f"):
        # The target puts the null character itself.
        image = ptx(_KERNELS, target, version="8.8")[:-1]
        (folder / f"valid_ptx_{target}").write_bytes(image)


if __name__ == "__main__":
    main()
