"""Storing institutions, without any database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from knowtrail.graph.cli.progress import silent
from knowtrail.ingest.custodians.intake import _Run


class Told:
    """A connection that stores nothing and keeps what it was told."""

    rows: list[dict[str, Any]]

    def read(self, _: str, **__: Any) -> list[dict[str, Any]]:
        """Return that nothing is stored."""
        return []

    def write(self, _: str, *, rows: list[dict[str, Any]], heritage: str) -> None:
        """Keep the rows."""
        assert heritage
        self.rows = rows


def test_rows_are_written_by_class() -> None:
    """Classes are taken in one order, so that two ingests do not block each other."""
    told: Any = Told()
    source: Any = SimpleNamespace(name="s")
    run = _Run(told, source, "c", silent)
    names = ["Museum", "Archive", "Museum", "Gallery"]
    batch = [
        {"id": str(place), "contentHash": "h", "className": name}
        for place, name in enumerate(names)
    ]

    run._write(batch, replace=False)

    found = [(row["className"], row["id"]) for row in told.rows]
    assert found == [
        ("Archive", "1"),
        ("Gallery", "3"),
        ("Museum", "0"),
        ("Museum", "2"),
    ]
    assert (run.report.added, run.report.skipped) == (4, 0)
