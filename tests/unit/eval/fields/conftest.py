"""What the tests of field-level evaluation share."""

from __future__ import annotations

import pytest

from knowtrail.eval.fields import comparators, schema


@pytest.fixture(autouse=True)
def _clean_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test tables of its own."""
    monkeypatch.setattr(comparators.COMPARATORS, "own", {})
    monkeypatch.setattr(comparators.TRANSFORMS, "own", {})
    monkeypatch.setattr(schema, "_DEFAULTS", dict(schema._BUILT_IN))
