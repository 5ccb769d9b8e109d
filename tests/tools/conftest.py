"""The programs in tools/ are imported by their plain names, by plain pytest too."""

from __future__ import annotations

import sys
from pathlib import Path

_TOOLS = str(Path(__file__).absolute().parents[2] / "tools")
if _TOOLS not in sys.path:
    sys.path.insert(0, _TOOLS)
