"""A program: kvswap beside sub-interpreters, of every kind that the Python can make.

    python sub_interpreters.py

It needs kvswap, kvswap_sim and nothing else, so that it runs on any Python that a wheel is
for, and prints a line of JSON: for each kind of sub-interpreter what its imports of kvswap
came to, and whether the main interpreter's copies were right all the while.
"""

from __future__ import annotations

import array
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kvswap_sim

_COUNT, _BLOCK = 16, 64

# What a sub-interpreter runs: two imports, and what they came to as lines of a file.
_CODE = """
import sys
sys.path[:] = {path!r}
lines = []
for _ in range(2):
    try:
        import kvswap
        lines.append("imported, usable: " + str(kvswap.driver_info().usable))
    except ImportError as error:
        lines.append("ImportError: " + str(error).replace("\\n", " "))
with open({file!r}, "a") as file:
    file.write("".join(line + "\\n" for line in lines))
"""


def _module() -> Any:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    return importlib.import_module(name)


def _makers() -> dict[str, Callable[[], Any]]:
    """How each kind is made: with a GIL of its own, from Python 3.12 on, and with
    the main interpreter's."""
    interpreters = _module()
    if sys.version_info >= (3, 13):
        return {
            "own GIL": lambda: interpreters.create("isolated"),
            "shared GIL": lambda: interpreters.create("legacy"),
        }
    if sys.version_info >= (3, 12):
        return {
            "own GIL": lambda: interpreters.create(isolated=True),
            "shared GIL": lambda: interpreters.create(isolated=False),
        }
    return {"shared GIL": lambda: interpreters.create(isolated=False)}


def _imports_of(make: Callable[[], Any], *, keep: bool = False) -> list[str]:
    """What imports in a new sub-interpreter come to; it ends, unless it is kept."""
    interpreters = _module()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines"
        identifier = make()
        problem = interpreters.run_string(
            identifier, _CODE.format(path=sys.path, file=str(file))
        )
        if not keep:
            interpreters.destroy(identifier)
        if problem:
            return [f"ended with {problem!r}"]
        return file.read_text().splitlines()


class _Main:
    """Copies of the main interpreter: to the GPU and back, compared."""

    def __init__(self) -> None:
        from kvswap.testing.cuda_driver import CudaDriver

        self._driver = CudaDriver()
        with self._driver.primary_context() as context:
            self._context = self._driver.retain_primary()
            self._host = self._driver.pinned_memory(2 * _COUNT * _BLOCK)
            self._device = self._driver.device_memory(_COUNT * _BLOCK)
            assert context.handle == self._context.handle
        self.rounds = 0

    def swap(self) -> bool:
        """A round; whether every byte came back."""
        import kvswap

        self.rounds += 1
        size = _COUNT * _BLOCK
        content = bytes((self.rounds + n) % 251 for n in range(size))
        self._host.view[:] = content + bytes(size)
        steps = range(0, size, _BLOCK)
        sizes = array.array("q", [_BLOCK] * _COUNT)
        places = [
            array.array("q", [base + step for step in steps])
            for base in (
                self._host.address,
                self._device.address,
                self._host.address + size,
            )
        ]
        with self._context.current():
            for source, destination in zip(places, places[1:]):  # noqa: B905
                kvswap.swap_blocks_batch(source, destination, sizes, stream=0)
            self._driver.synchronize()
        return bytes(self._host.view[size:]) == content


def _beside(
    main: _Main, make: Callable[[], Any], threads: int
) -> tuple[list[str], bool]:
    """Sub-interpreters come and go on threads while the main interpreter copies."""
    lines: list[str] = []

    def work() -> None:
        for _ in range(3):
            lines.extend(_imports_of(make))

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    is_right = main.swap()
    while any(thread.is_alive() for thread in running):
        is_right = main.swap() and is_right
    for thread in running:
        thread.join()
    return lines, is_right


def main() -> int:
    """Prints what was seen."""
    os.environ.update(kvswap_sim.environment("13.0"))
    makers = _makers()
    seen: dict[str, Any] = {"python": sys.version.split()[0]}
    # Before the main interpreter has imported it.
    first = {kind: _imports_of(make) for kind, make in makers.items()}
    own = _Main()
    right = [own.swap()]
    for kind, make in makers.items():
        lines = first[kind] + _imports_of(make)
        right.append(own.swap())
        beside, is_right = _beside(own, make, 1)
        lines += beside
        right.append(is_right)
        beside, is_right = _beside(own, make, 4)
        lines += beside
        right += [is_right, own.swap()]
        # It is there still when the process ends.
        lines += _imports_of(make, keep=True)
        seen[kind] = sorted(set(lines))
        seen[f"{kind}, imports"] = len(lines)
    seen["right"] = all(right)
    print(json.dumps(seen), flush=True)
    return 0


def check_refused(program: subprocess.CompletedProcess[str]) -> list[str]:
    """Asserts that a run of this program saw nothing but refusals; the kinds it tried."""
    assert program.returncode == 0, program
    assert program.stderr == "", program
    seen = json.loads(program.stdout)
    assert seen.pop("right") is True
    assert seen.pop("python")
    assert "shared GIL" in seen
    counts = [seen.pop(name) for name in list(seen) if name.endswith(", imports")]
    # Two imports in each sub-interpreter.
    assert counts == [36] * len(seen)
    for kind, lines in seen.items():
        [line] = lines
        assert line.startswith("ImportError: kvswap's extension module does not"), kind
        assert line.endswith(
            "kvswap works in the main interpreter of a process alone, not in a "
            "sub-interpreter: use threads or processes"
        ), kind
    return list(seen)


if __name__ == "__main__":
    sys.exit(main())
