"""Which engine runs, and the reasons that are given: a table, the first row decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from tests.abi import drivers

_LEGACY = frozenset({"null", "legacy"})
_CAPTURING = frozenset({"capturing"})


@dataclasses.dataclass(frozen=True)
class Row:
    """Conditions, of which an empty one holds always, and what follows from them.

    Attributes:
        asked: the engines that are asked for.
        before: for drivers before this version.
        streams: the kinds of stream.
        memory: the kinds of memory.
        ran: the engine that makes all copies.
        unavailable: engines that were asked for or preferred, and why not.
    """

    asked: Collection[str]
    ran: str
    unavailable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    _: dataclasses.KW_ONLY
    before: str = ""
    streams: Collection[str] = ()
    memory: Collection[str] = ()

    def is_for(self, asked: str, version: str, stream: str, memory: str) -> bool:
        """Whether all conditions hold."""
        return (
            asked in self.asked
            and (
                not self.before or drivers.number(version) < drivers.number(self.before)
            )
            and (not self.streams or stream in self.streams)
            and (not self.memory or memory in self.memory)
        )


def _copy_engine_rows(
    asked: Collection[str],
    memory: Collection[str],
    why: Mapping[str, str],
    before: str = "",
) -> list[Row]:
    """Rows for copies that the copy engines make since a kernel does not, and `why`."""
    return [
        Row(
            asked,
            "loop",
            {**why, "batch": "no_batch_symbol"},
            before="12.8",
            memory=memory,
        ),
        Row(
            asked,
            "bridge",
            {**why, "batch": "legacy_stream"},
            streams=_LEGACY,
            memory=memory,
            before=before,
        ),
        Row(
            asked,
            "loop",
            {**why, "batch": "capturing"},
            streams=_CAPTURING,
            memory=memory,
            before=before,
        ),
        Row(asked, "batch", why, memory=memory, before=before),
    ]


# Of many small copies between the GPU and another memory.
ROWS = [
    Row({"loop"}, "loop"),
    # The batch engine, else the loop.
    Row({"batch"}, "loop", {"batch": "no_batch_symbol"}, before="12.8"),
    Row({"batch"}, "loop", {"batch": "legacy_stream"}, streams=_LEGACY),
    Row({"batch"}, "loop", {"batch": "capturing"}, streams=_CAPTURING),
    Row({"batch"}, "batch"),
    # The bridge, else the batch engine, else the loop.
    Row(
        {"bridge"},
        "loop",
        {"bridge": "no_batch_symbol", "batch": "no_batch_symbol"},
        before="12.8",
    ),
    Row({"bridge"}, "bridge", streams=_LEGACY),
    Row(
        {"bridge"},
        "loop",
        {"bridge": "not_legacy_stream", "batch": "capturing"},
        streams=_CAPTURING,
    ),
    Row({"bridge"}, "batch", {"bridge": "not_legacy_stream"}),
    # A kernel would move managed memory: it has to be asked for by name.
    *_copy_engine_rows({"auto"}, {"managed"}, {}),
    # A kernel, else the copy engines.
    Row(
        {"kernel", "auto"},
        "loop",
        {"kernel": "no_kernel_entry", "batch": "no_batch_symbol"},
        before="12.0",
    ),
    *(
        _copy_engine_rows(
            {"kernel", "auto"},
            (),
            {"kernel": "no_kernel_image"},
            before=drivers.IMAGES_SINCE,
        )
        if drivers.IMAGES_SINCE != "12.0"
        else []
    ),
    *_copy_engine_rows({"kernel", "auto"}, {"pageable"}, {"kernel": "not_reachable"}),
    Row({"kernel", "auto"}, "kernel"),
]

# Of copies of a few megabytes that are many: what the copy engines are for.
LARGE_ROWS = _copy_engine_rows({"auto"}, (), {})


def expect(
    rows: Collection[Row], asked: str, version: str, stream: str, memory: str = ""
) -> tuple[str, dict[str, str]]:
    """The engine that runs, and the reasons that are given."""
    for row in rows:
        if row.is_for(asked, version, stream, memory):
            return row.ran, dict(row.unavailable)
    raise AssertionError(f"no row is for {asked}, {version}, {stream}, {memory}")
