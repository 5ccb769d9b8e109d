"""Every test that docs/known_failures.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

# Of the source tree, whose links these files are.
_ROOT = Path(__file__).resolve().parents[2]
_NAMED = re.compile(r"`//([\w/]+):(\w+)` `(test_\w+)`")


def _file_of(package: str, target: str) -> Path:
    # Engines have a target each, of one file.
    name = re.sub(r"^fault_matrix_\w+_test$", "fault_matrix_test", target)
    return _ROOT / package / f"{name}.py"


def _mistakes(text: str) -> list[str]:
    mistakes = []
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for row in rows:
        cells = row.strip("|").split("|")
        if cells[0].strip() == "failure" or len(cells) != 3:
            continue
        found = _NAMED.search(cells[2])
        if found is None:
            mistakes.append(f"names no test: {row}")
            continue
        package, target, test = found.groups()
        file = _file_of(package, target)
        if not file.exists():
            mistakes.append(f"there is no {file.relative_to(_ROOT)}")
        elif not re.search(
            rf"^ *def {test}\(", file.read_text(encoding="utf-8"), re.MULTILINE
        ):
            mistakes.append(f"{file.relative_to(_ROOT)} has no {test}")
        elif target.rsplit("_", 1)[0] not in (file.parent / "BUILD").read_text(
            encoding="utf-8"
        ) and not target.startswith("fault_matrix_"):
            mistakes.append(f"//{package} has no target {target}")
    return mistakes


def test_every_test_that_is_named_exists() -> None:
    text = (_ROOT / "docs" / "known_failures.md").read_text(encoding="utf-8")
    assert len(_NAMED.findall(text)) > 40
    assert _mistakes(text) == []


def test_control_what_does_not_exist_is_found() -> None:
    rows = (
        "| a | b | `//tests/engine:bridge_test` `test_that_nobody_wrote` |",
        "| a | b | `//tests/engine:no_such_test` `test_chunks` |",
        "| a | b | nothing |",
    )
    for row in rows:
        assert len(_mistakes(row)) == 1, row
