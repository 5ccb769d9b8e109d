"""Fixtures of the tests of consumers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.consumers.nested_bazel import NestedBazel, nested_bazel


@pytest.fixture(scope="module")
def bazel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NestedBazel]:
    """Bazel in a copy of the repository that the test file names: CONSUMER."""
    consumer: str = request.module.CONSUMER
    with nested_bazel(consumer, tmp_path_factory.mktemp(consumer)) as nested:
        yield nested
