"""What the tests of field-level evaluation share."""

from __future__ import annotations

import pytest

from knowtrail.eval.fields import comparators, schema


@pytest.fixture(autouse=True)
def _clean_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test tables of its own."""
    monkeypatch.setattr(comparators, "_REGISTERED", {})
    monkeypatch.setattr(comparators, "_REGISTERED_TRANSFORMS", {})
    monkeypatch.setattr(schema, "_DEFAULTS", dict(schema._BUILT_IN))
