"""What KVSWAP_NVTX does to the import of kvswap, looked at in a process of its own."""

from __future__ import annotations

import logging
import sys
from typing import Any

from tests.observability.scenarios import Keep


def imported_and_logged(hidden: bool) -> list[Any]:
    """Whether kvswap has imported nvtx, and what it logged. In a child."""
    keep = Keep()
    logging.getLogger("kvswap").addHandler(keep)
    if hidden:
        sys.modules["nvtx"] = None  # type: ignore[assignment]
    import kvswap

    return [kvswap.tracing._nvtx is not None, [text for _, text in keep.records]]
