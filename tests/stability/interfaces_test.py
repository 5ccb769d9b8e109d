"""What users rely on is as the committed lists say."""

from __future__ import annotations

import pytest

from tests.stability.all_lists import LISTS
from tests.stability.committed_list import CommittedList, check


@pytest.mark.parametrize("committed", LISTS, ids=lambda committed: committed.name)
def test_list(committed: CommittedList) -> None:
    text = committed.path.read_text(encoding="utf-8")
    assert len(text.splitlines()) > 3
    check(committed, text)
    assert text == committed.text(), (
        f"{committed.path} is not as its program writes it, though it lists the same"
    )
