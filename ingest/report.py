"""What an ingest did, in the words of LangChain's indexing API and more."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from knowtrail.graph.db.connection import Counters
from knowtrail.graph.telemetry import span

_KEPT = 50


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """Counts of one run; documents unless said otherwise.

    Attributes:
        updated: Documents whose content had changed.
        skipped: Documents that were stored as they are.
        deleted: Documents gone from the source (`--cleanup full`).
        left_out: Pages left out on purpose, by reason.
        redirects_resolved: Redirects whose target is in the corpus.
        redirects_waiting: Redirects whose target is not.
        unclear: Links left out, their titles being those of several documents. They are
            counted whenever the corpus is linked anew.
        unclear_links: The first of them, and where they stand.
        damage: Where a source broke off.
        failures: The first failures, as "title: reason".
        seconds: Time by stage.
        written: What the database says has changed.
    """

    corpus: str
    added: int = 0
    updated: int = 0
    skipped: int = 0
    deleted: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    redirects: int = 0
    redirects_resolved: int = 0
    redirects_waiting: int = 0
    unclear: int = 0
    unclear_links: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    written: Counters = field(default_factory=Counters)

    @property
    def complete(self) -> bool:
        """Return whether everything in the source could be used."""
        return not self.failed and not self.damage

    def fail(self, title: str, message: str) -> None:
        """Count a failure and keep the first ones' reasons."""
        self.failed += 1
        if len(self.failures) < _KEPT:
            self.failures.append(f"{title}: {message}")

    def leave_link(self, told: str) -> None:
        """Count a link that leads to several documents, and keep the first ones."""
        self.unclear += 1
        if len(self.unclear_links) < _KEPT:
            self.unclear_links.append(told)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Take the time of a stage."""
        start = time.perf_counter()
        with span(f"ingest.{stage}", corpus=self.corpus):
            yield
        self.seconds[stage] = round(time.perf_counter() - start, 3)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for `--json`."""
        return asdict(self) | {"left_out": dict(self.left_out)}
