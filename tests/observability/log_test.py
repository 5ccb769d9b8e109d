"""The library's log: its lines, how often and at which level, in logging and on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import kvswap_sim
from tests.observability.scenarios import COUNT, SCENARIOS, observe

_DRIVER = "the CUDA driver is {driver}, for CUDA 13.0; it has every function that kvswap calls"

# The lines of each scenario beside that on the driver, in logging.
_LINES: dict[str, list[tuple[str, str]]] = {
    "batch": [],
    "loop": [],
    "kernel": [],
    "bridge": [],
    "legacy_stream": [
        (
            "WARNING",
            "swap_blocks_batch: 6 of 6 copies on the legacy default stream of GPU 0 did not "
            "go by the engine batch (legacy_stream): the driver's batch call refuses the "
            "legacy default stream (handles 0 and 1). They went by: loop 6. Pass a created "
            "stream (in torch: torch.cuda.Stream()), or leave the engine to auto. Said once",
        )
    ],
    # The bridge is as fast.
    "auto_legacy": [
        (
            "INFO",
            "swap_blocks_batch: 6 of 6 copies on the legacy default stream of GPU 0 did not "
            "go by the engine batch (legacy_stream): the driver's batch call refuses the "
            "legacy default stream (handles 0 and 1). They went by: bridge 6. The bridge is "
            "as fast: nothing needs to be done. Said once",
        )
    ],
    "capturing": [
        (
            "INFO",
            "swap_blocks_batch: 6 of 6 copies on stream {stream} of GPU 0 did not go by the "
            "engine batch (capturing): the stream captures a graph, and the driver's batch "
            "call would be missing from it. They went by: loop 6. Leave the engine to auto, "
            "or ask for kernel: copy kernels can be captured. Said once",
        )
    ],
    "not_reachable": [
        (
            "WARNING",
            "swap_blocks_batch: 6 of 6 copies on stream {stream} of GPU 0 did not go by the "
            "engine kernel (not_reachable): the driver does not say that a kernel on the "
            "stream's GPU may touch some of the memory. They went by: batch 6. Pin or "
            "register host memory; enable peer access between GPUs. Said once",
        )
    ],
    "launch_failed": [
        (
            "WARNING",
            "swap_blocks_batch: 6 of 6 copies on stream {stream} of GPU 0 did not go by the "
            "engine kernel (launch_failed): the driver refused to launch a copy kernel. They "
            "went by: batch 6. If calls go on like this, ask for the engine batch. Said once",
        )
    ],
    "not_legacy_stream": [
        (
            "INFO",
            "swap_blocks_batch: 6 of 6 copies on stream {stream} of GPU 0 did not go by the "
            "engine bridge (not_legacy_stream): the stream is not the legacy default stream: "
            "there is nothing to bridge. They went by: batch 6. Leave the engine to auto, or "
            "ask for batch. Said once",
        )
    ],
}


@pytest.mark.parametrize(
    ("scenario", "repeat"),
    [
        (scenario, repeat)
        for scenario in _LINES
        for repeat in ("three times", "in 64 threads")
        # One thread captures.
        if repeat == "three times" or SCENARIOS[scenario].stream != "capturing"
    ],
)
def test_lines(scenario: str, repeat: str) -> None:
    """Each once, however many calls and threads there are."""
    outcome = observe(scenario, repeat)
    expected = [("INFO", _DRIVER), *_LINES[scenario]]
    assert sorted(map(tuple, outcome["records"])) == sorted(
        (level, line.format(driver=outcome["driver"], stream=outcome["stream"]))
        for level, line in expected
    )
    # The application says what is printed.
    assert outcome["stderr"] == []


def _levels(outcome: dict[str, Any], part: str) -> list[str]:
    return [level for level, message in outcome["records"] if part in message]


def _advice(scenario: str, reason: str) -> list[tuple[str, str]]:
    """Of the lines on a reason: level, and what follows the copies."""
    return [
        (level, line.partition("They went by: ")[2].partition(". ")[2])
        for level, line in observe(scenario)["records"]
        if f"({reason})" in line
    ]


class TestAdvice:
    """It is for the call as it was made."""

    def test_auto_is_not_told_to_take_auto(self) -> None:
        (line,) = _advice("auto_no_bridge", "legacy_stream")
        assert line == (
            "WARNING",
            "Pass a created stream (in torch: torch.cuda.Stream()). Said once",
        )

    def test_capture_by_auto(self) -> None:
        (line,) = _advice("auto_capturing", "capturing")
        assert line == (
            "INFO",
            "Nothing needs to be done: these copies are nodes of the graph. Said once",
        )

    def test_an_engine_that_gave_way_in_place_of_another(self) -> None:
        """The one that was asked for has the line with the advice."""
        (line,) = _advice("kernel_and_capturing", "capturing")
        assert line[1].endswith(
            "what stood against the engine that was asked for. Said once"
        )
        assert _advice("kernel_and_capturing", "not_reachable")[0][0] == "WARNING"

    def test_an_engine_by_the_environment_is_asked_for(self) -> None:
        (line,) = _advice("auto_by_environment", "legacy_stream")
        assert line[1].endswith("or leave the engine to auto. Said once")

    def test_a_call_that_lost_nothing_does_not_silence_one_that_did(self) -> None:
        lines = _advice("legacy_stream_after_auto", "legacy_stream")
        assert [level for level, _ in lines] == ["INFO", "WARNING"]


def test_operations_have_one_name_in_every_language() -> None:
    (line,) = [
        text
        for _, text in observe("pools", "three times")["records"]
        if "legacy_stream" in text
    ]
    assert line.startswith("copies between pools: 6 of 6 copies on the legacy default")
    (line,) = [
        line
        for line in observe("pools", environment={"KVSWAP_LOG": "debug"})["stderr"]
        if ": debug: " in line
    ]
    assert line.startswith("kvswap: debug: copies between pools: ok: 6 copies")


def test_an_old_driver() -> None:
    outcome = observe("no_kernel_entry", "three times")
    assert _levels(outcome, "(no_kernel_entry)") == ["WARNING"]
    assert _levels(outcome, "(no_batch_symbol)") == ["WARNING"]
    (line,) = [text for _, text in outcome["records"] if "for CUDA 11.8" in text]
    assert "it lacks the optional functions " in line
    assert "cuMemcpyBatchAsync" in line
    assert len(outcome["records"]) == 3


@pytest.mark.parametrize("repeat", ["three times", "in 64 threads"])
def test_refused_images(repeat: str) -> None:
    outcome = observe("no_kernel_image", repeat)
    assert _levels(
        outcome, "GPU 0, of compute capability 9.0, gets no copy kernels"
    ) == ["WARNING"]
    (line,) = [text for _, text in outcome["records"] if "gets no copy kernels" in text]
    assert "the driver refused the image" in line or "without copy kernels" in line
    assert line.endswith(". Said once")
    assert _levels(outcome, "(no_kernel_image)") == ["INFO"]


def test_a_bridge_that_is_refused() -> None:
    outcome = observe("no_bridge", "three times")
    assert _levels(outcome, "(no_bridge)") == ["WARNING"]
    assert _levels(outcome, "(legacy_stream)") == ["WARNING"]


def test_errors_of_calls_are_no_lines() -> None:
    outcome = observe("source_access", "three times")
    assert outcome["errors"] == ["unsupported"] * 3
    assert [level for level, _ in outcome["records"]] == ["INFO"]


class TestVariable:
    """KVSWAP_LOG"""

    @pytest.mark.parametrize(
        ("level", "levels"),
        [
            ("off", []),
            ("error", []),
            ("warning", ["warning"]),
            ("info", ["info", "warning"]),
        ],
    )
    def test_levels(self, level: str, levels: list[str]) -> None:
        outcome = observe("legacy_stream", "three times", {"KVSWAP_LOG": level})
        assert [line.split(": ")[:2] for line in outcome["stderr"]] == [
            ["kvswap", name] for name in levels
        ]
        assert [name.lower() for name, _ in outcome["records"]] == levels

    def test_debug_is_a_line_a_call(self) -> None:
        outcome = observe("legacy_stream", "three times", {"KVSWAP_LOG": "debug"})
        lines = [line for line in outcome["stderr"] if ": debug: " in line]
        assert (
            lines
            == [
                f"kvswap: debug: swap_blocks_batch: ok: {COUNT} copies, {COUNT * 4096} bytes, "
                f"{COUNT} driver calls on the legacy default stream of GPU 0; loop {COUNT}"
            ]
            * 3
        )

    def test_debug_tells_why_a_call_failed(self) -> None:
        outcome = observe("source_access", "once", {"KVSWAP_LOG": "debug"})
        (line,) = [line for line in outcome["stderr"] if ": debug: " in line]
        assert line.startswith(
            "kvswap: debug: swap_blocks_batch: unsupported: 0 copies, 0 bytes, 0 driver "
            f"calls on stream {outcome['stream']} of GPU 0: source access during_api_call "
        )

    def test_an_unknown_level_is_said_once(self) -> None:
        outcome = observe("legacy_stream", "three times", {"KVSWAP_LOG": "loud"})
        assert len(outcome["stderr"]) == 2
        assert outcome["stderr"][0] == (
            'kvswap: warning: the environment variable KVSWAP_LOG is "loud", which is no '
            "level; it counts as warning. Set it to off, error, warning, info or debug, or "
            "unset it"
        )
        assert "(legacy_stream)" in outcome["stderr"][1]


def _python(
    body: str, log: str = "", timeout: int = 60
) -> subprocess.CompletedProcess[str]:
    prelude = (
        "import logging, os, sys, threading, ctypes\n"
        "import kvswap\n"
        "empty = (ctypes.c_int64 * 0)()\n"
        "def swap(): return kvswap.swap_blocks_batch(empty, empty, empty, stream=0)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + body],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **kvswap_sim.environment("13.0"),
            "KVSWAP_LOG": log,
        },
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


class TestHandingOver:
    """From the library's threads to Python's logging."""

    def test_a_handler_that_swaps(self) -> None:
        done = _python(
            "class Handler(logging.Handler):\n"
            "    count = 0\n"
            "    def emit(self, record):\n"
            "        Handler.count += 1\n"
            "        swap()\n"
            "logging.getLogger('kvswap').addHandler(Handler())\n"
            "for _ in range(10): swap()\n"
            "print(Handler.count)\n",
            log="debug",
        )
        # Ten calls and the driver.
        assert done.stdout == "11\n", done.stderr[:1000]

    def test_a_handler_that_raises_fails_no_call(self) -> None:
        done = _python(
            "class Broken(logging.Filter):\n"
            "    def filter(self, record): raise ValueError('of the filter')\n"
            "logging.getLogger('kvswap').addFilter(Broken())\n"
            "print(swap().submitted)\n",
            log="debug",
        )
        assert (done.returncode, done.stdout) == (0, "0\n")
        assert "of the filter" in done.stderr

    def test_what_waits_at_the_exit_is_handed_over(self) -> None:
        """Lines of calls that no Python made, as those of torch's operators."""
        done = _python(
            "library = ctypes.CDLL(os.path.join(kvswap.get_library_dir(), 'libkvswap.so'))\n"
            "library.kvswap_swap_blocks_batch(None, None, None, ctypes.c_size_t(0), None, "
            "None, None)\n"
            "print(len(sys.argv), flush=True)\n",
            log="debug",
        )
        assert done.stdout == "1\n"
        assert "kvswap: debug: swap_blocks_batch: ok: 0 copies" in done.stderr

    def test_foreign_threads(self) -> None:
        """Calls of threads that Python does not know, without the GIL, many at once."""
        done = _python(
            "path = os.path.join(kvswap.get_library_dir(), 'libkvswap.so')\n"
            "function = ctypes.CDLL(path).kvswap_swap_blocks_batch\n"
            "zero = ctypes.c_size_t(0)\n"
            "def work():\n"
            "    for _ in range(20): function(None, None, None, zero, None, None, None)\n"
            "threads = [threading.Thread(target=work) for _ in range(16)]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
            "swap()\n"
            "for _ in range(1300): function(None, None, None, zero, None, None, None)\n"
            "swap()\n",
            log="debug",
        )
        lines = done.stderr.splitlines()
        # The last call's own line was lost too.
        assert (
            lines.count(
                "kvswap: warning: 301 lines were lost: too many waited for a call from Python"
            )
            == 1
        ), lines[-3:]
        debug = [line for line in lines if line.startswith("kvswap: debug: ")]
        assert len(debug) == 16 * 20 + 1 + 1000

    def test_fork_with_lines_that_wait(self) -> None:
        """The child neither repeats the parent's lines nor hangs."""
        done = _python(
            "path = os.path.join(kvswap.get_library_dir(), 'libkvswap.so')\n"
            "function = ctypes.CDLL(path).kvswap_swap_blocks_batch\n"
            "zero = ctypes.c_size_t(0)\n"
            # The driver is found before the first fork: no child has that to say.
            "function(None, None, None, zero, None, None, None)\n"
            "def work():\n"
            "    while True: function(None, None, None, zero, None, None, None)\n"
            "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
            "for _ in range(20):\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        swap()\n"
            "        os._exit(0)\n"
            "    assert os.waitpid(child, 0)[1] == 0\n"
            "print('done', flush=True)\n"
            "os._exit(0)\n",
            log="debug",
        )
        assert done.stdout == "done\n", done.stderr[:1000]
        # The parent hands nothing over here, and each child its own call.
        lines = done.stderr.splitlines()
        assert len(lines) == 20 and all("swap_blocks_batch: ok" in x for x in lines)

    def test_a_child_drops_its_parents_lines(self) -> None:
        done = _python(
            "path = os.path.join(kvswap.get_library_dir(), 'libkvswap.so')\n"
            "function = ctypes.CDLL(path).kvswap_swap_blocks_batch\n"
            "function(None, None, None, ctypes.c_size_t(0), None, None, None)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    kvswap.stats()\n"
            "    os._exit(0)\n"
            "os.waitpid(child, 0)\n"
            "kvswap.stats()\n",
            log="debug",
        )
        lines = [
            line for line in done.stderr.splitlines() if "swap_blocks_batch" in line
        ]
        assert len(lines) == 1, done.stderr

    def test_is_silent_without_a_wish(self) -> None:
        done = _python("print(swap().submitted)\n")
        assert (done.stdout, done.stderr) == ("0\n", "")
