"""A host in C that loads libkvswap.so, uses it and unloads it, again and again."""

from __future__ import annotations

import json
import os
import subprocess

import kvswap_sim

_ROUNDS = 60
_SECONDS = 60


def test_load_use_and_unload_again_and_again() -> None:
    """Nothing crashes, and what a round leaves is there for the next one."""
    environment = kvswap_sim.environment("13.0")
    host = subprocess.run(
        [
            os.path.abspath(os.environ["UNLOAD_HOST"]),
            os.path.abspath(os.environ["LIBKVSWAP"]),
            environment["KVSWAP_LIBCUDA"],
            str(_ROUNDS),
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert host.returncode == 0, host.stderr
    seen = json.loads(host.stdout)
    # A page or two of the allocator's; 7 KiB a round where something is lost.
    assert seen.pop("grown_pages") <= 8, host.stdout
    for kind, (after_the_first, after_the_last) in seen.items():
        assert after_the_first == after_the_last, kind
    assert seen["streams"] == [1, 1]
    assert seen["events"] == [2, 2]
