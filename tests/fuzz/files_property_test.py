"""Whatever files `kvswap bench --compare` and `kvswap_sim.read_trace` are given, they show
what is in them or say what is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

import kvswap_sim
from kvswap import bench
from tests.properties.bounds import bounded, counted

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 1 << 70)
    | st.floats()
    | st.text(max_size=6)
    # Half of a character, which JSON can hold and no terminal can show.
    | st.just("\ud83d"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
    ),
    max_leaves=6,
)
_NUMBERS = st.sampled_from([0, 1, 64, 4096, 0.5, 12.25])
# Columns as a run writes them, each now and then something else.
_ROW = {
    "method": st.sampled_from(["auto", "batch", "loop", "limit", "index_select"]),
    "direction": st.sampled_from(["h2d", "d2h", "d2d"]),
    "size": st.sampled_from([64, 4096]),
    "count": st.sampled_from([1, 512]),
    "stream": st.sampled_from(["created", "legacy"]),
    "priority": st.sampled_from(["throughput", "compute"]),
    "median_us": _NUMBERS,
    "p10_us": _NUMBERS,
    "p90_us": _NUMBERS,
    "bytes": _NUMBERS,
    "gbps": _NUMBERS,
    "model": st.sampled_from(["a", "b"]),
    "submit_median_us": _NUMBERS,
    "host_us": _NUMBERS,
    "gemm_ratio": _NUMBERS,
}
_PRESETS = ("table", "grid", "streams", "submission", "compute", "host", "model")


@st.composite
def _results(draw: st.DrawFn) -> Any:
    """Results, nearly as they are written."""
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        row = {name: draw(value) for name, value in _ROW.items()}
        if draw(st.booleans()):
            row[draw(st.sampled_from(sorted(row)))] = draw(_VALUES)
        if draw(st.integers(0, 3)) == 0:
            del row[draw(st.sampled_from(sorted(row)))]
        rows.append(row)
    found: dict[str, Any] = {
        "schema": draw(st.sampled_from([1, 1, 1, 99])),
        "preset": draw(st.sampled_from(_PRESETS)),
        "environment": draw(
            st.dictionaries(
                st.sampled_from(["device", "kvswap", "torch", "date"]), _VALUES
            )
        ),
        "rows": rows,
    }
    if draw(st.integers(0, 5)) == 0:
        found[draw(st.sampled_from([*sorted(found), "problems"]))] = draw(_VALUES)
    return found


_FILES = (
    _results().map(lambda found: json.dumps(found).encode())
    | _VALUES.map(lambda found: json.dumps(found).encode())
    | st.binary(max_size=60)
)


def _main(*arguments: str) -> int:
    """The exit status of `kvswap bench`; what it writes goes nowhere."""
    written = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        status = bench.main(list(arguments))
    written.seek(0)
    assert written.read().strip()
    return status


def test_random_files(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / name for name in ("a.json", "b.json")]
    with counted("files of results", "pairs of files shown and compared") as count:

        @bounded(300)
        @hypothesis.given(_FILES, _FILES)
        def every_file_is_shown_or_refused(first: bytes, second: bytes) -> None:
            count.cases += 1
            for path, content in zip(paths, (first, second), strict=True):
                path.write_bytes(content)
            names = [str(path) for path in paths]
            assert _main("--from", names[0]) in (0, 1, 2)
            assert _main("--compare", *names) in (0, 1, 2)
            assert _main("--compare", names[0], names[0]) in (0, 1, 2)

        every_file_is_shown_or_refused()


@pytest.mark.parametrize(
    "text", ["[" * 100000, '{"a":' * 100000], ids=["lists", "objects"]
)
def test_nested_without_end(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert _main("--from", str(path)) == 1
    with pytest.raises(ValueError, match="line 1 is no record"):
        kvswap_sim.read_trace(path)


_RECORD = {
    "sequence": 1,
    "thread": 2,
    "name": "cuInit",
    "version": 2000,
    "symbol": "cuInit",
    "arguments": {"flags": 0},
    "outputs": {},
    "result": 0,
    "note": "",
}


@st.composite
def _records(draw: st.DrawFn) -> bytes:
    """A record of driver calls, nearly as the simulated driver writes it."""
    lines = []
    for _ in range(draw(st.integers(0, 3))):
        record: Any = dict(_RECORD)
        if draw(st.booleans()):
            del record[draw(st.sampled_from(sorted(record)))]
        if draw(st.integers(0, 3)) == 0:
            record = draw(_VALUES)
        lines.append(json.dumps(record))
    text = "\n".join(lines).encode()
    # The process may have died while it wrote.
    return text[: draw(st.integers(0, len(text)) | st.just(len(text)))]


def test_half_of_a_character(tmp_path: pathlib.Path) -> None:
    found = {"preset": "grid", "environment": {"device": "\ud83d"}, "rows": []}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert _main("--compare", str(path), str(path)) == 1


def test_random_records(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "record"
    with counted("records of driver calls", "files") as count:

        @bounded(300)
        @hypothesis.given(_records() | st.binary(max_size=60))
        def every_record_is_read_or_refused(content: bytes) -> None:
            count.cases += 1
            path.write_bytes(content)
            try:
                calls = kvswap_sim.read_trace(path)
            except ValueError:
                return
            assert len(calls) == len(content.splitlines())

        every_record_is_read_or_refused()


def test_results_are_shown(tmp_path: pathlib.Path) -> None:
    """A control: what is right is shown, and compared."""
    row = dict.fromkeys(_ROW, 1.0) | {
        "method": "auto",
        "direction": "h2d",
        "size": 64,
        "count": 1,
        "stream": "created",
        "priority": "throughput",
    }
    found = {"schema": 1, "preset": "grid", "environment": {}, "rows": [row]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert _main("--compare", str(path), str(path)) == 0
