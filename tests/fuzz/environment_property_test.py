"""Whatever the environment variables of kvswap hold, it is understood or refused.

They are read once a process: each case is a process that is forked before the first call.
"""

from __future__ import annotations

import array
import importlib
import json
import logging
import os
import pathlib
import re
import traceback
from typing import Any

import hypothesis
from hypothesis import strategies as st

import kvswap
from kvswap import log_records, tracing
from tests.properties.bounds import bounded, counted

_ENGINES = ("auto", "batch", "loop", "kernel", "bridge")
_LIMIT = 32768
_NONE = array.array("q")
_ELF = b"\x7fELF\2\1\1"

# What an environment can hold.
_TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=40
) | st.sampled_from([*_ENGINES, "", "Batch", "0", "00", "-1", "+1", " 1", "1 ", "0x10"])
_NUMBERS = st.integers(0, 1 << 70).map(str)
_LEVELS = {
    "": logging.NOTSET,
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}


def _in_process(variables: dict[str, str]) -> dict[str, Any]:
    """What a process with these variables answers."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(variables)
            answer: dict[str, Any] = {}
            # These are read where the modules are loaded.
            importlib.reload(log_records)
            importlib.reload(tracing)
            answer["level"] = logging.getLogger("kvswap").level
            answer["nvtx"] = tracing._nvtx is not None
            try:
                answer["max_batch"] = kvswap.plan(_NONE, _NONE, _NONE).max_batch
            except ValueError as error:
                answer["error"] = str(error)
            info = kvswap.driver_info()
            answer["usable"], answer["message"] = info.usable, info.message
            os.write(write_end, json.dumps(answer).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"{variables} ended a process with status {status}"
    found: dict[str, Any] = json.loads(text)
    return found


def test_random_values(tmp_path: pathlib.Path) -> None:
    # Whatever a file holds that is named as the driver's library.
    file = tmp_path / "library"
    with counted("environment", "processes with random variables") as count:

        @bounded(150)
        @hypothesis.given(
            engine=_TEXTS,
            max_batch=_TEXTS | _NUMBERS,
            library=_TEXTS.map("/{}".format) | st.just(str(file)),
            content=st.binary(max_size=80) | st.binary(max_size=80).map(_ELF.__add__),
            log=_TEXTS | st.sampled_from(sorted(_LEVELS)),
            nvtx=_TEXTS,
        )
        def each_is_understood_or_refused(
            engine: str,
            max_batch: str,
            library: str,
            content: bytes,
            log: str,
            nvtx: str,
        ) -> None:
            count.cases += 1
            file.write_bytes(content)
            answer = _in_process(
                {
                    "KVSWAP_ENGINE": engine,
                    "KVSWAP_MAX_BATCH": max_batch,
                    "KVSWAP_LIBCUDA": library,
                    "KVSWAP_LOG": log,
                    "KVSWAP_NVTX": nvtx,
                }
            )
            assert answer["level"] == _LEVELS.get(log, logging.WARNING)
            assert answer["nvtx"] <= (nvtx == "1")
            is_number = re.fullmatch("[0-9]+", max_batch) and int(max_batch) > 0
            if engine not in ("", *_ENGINES):
                assert "KVSWAP_ENGINE" in answer["error"]
            elif max_batch and not is_number:
                assert "KVSWAP_MAX_BATCH" in answer["error"]
            elif max_batch:
                assert answer["max_batch"] == min(int(max_batch), _LIMIT)
            else:
                assert answer["max_batch"] == 128
            assert not answer["usable"]
            assert answer["message"]

        each_is_understood_or_refused()
