"""Whatever files of results `kvswap bench` is given, it shows them or says what is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
from typing import Any

import hypothesis
from hypothesis import strategies as st

from kvswap import bench
from tests.properties.bounds import bounded, counted

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 1 << 70)
    | st.floats()
    | st.text(max_size=6),
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
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        status = bench.main(list(arguments))
    assert written.getvalue().strip()
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
