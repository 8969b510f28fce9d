"""Files and judges that tests of annotations use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from knowtrail.eval.zelo.judgements import Answer, Journal, Price
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    write_queries,
)

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.zelo.judgements import Judgement, Matchup
    from knowtrail.eval.zelo.judges import Pace

FREE = Price()


def query(name: str = "q1", n: int = 5) -> QueryDocuments:
    """Return a query with n documents, whose contents are their values."""
    return QueryDocuments(
        query=Query(id=name, query="Which is the largest?"),
        documents=tuple(
            Document(id=f"d{number}", content=str((number * 7) % 11))
            for number in range(n)
        ),
    )


def source(folder: Path, *items: QueryDocuments) -> Path:
    """Write queries to a file."""
    path = folder / "queries.jsonl"
    write_queries(path, items or [query()])
    return path


class ValueJudge:
    """Prefers the greater value, at a price, and fails or breaks where it is told.

    Attributes:
        seen: The pairs that it was shown, by ids, in their order.
    """

    def __init__(
        self,
        name: str = "value",
        *,
        price: Price | None = FREE,
        fails: frozenset[str] = frozenset(),
        pause: float = 0.0,
    ) -> None:
        self.name = name
        self.fingerprint = f"{name}-1"
        self.concurrency = 4
        self.price = price
        self.seen: list[tuple[str, str]] = []
        self.error: Exception | None = None
        self.fails = fails
        self.came = True
        self.pace: Pace | None = None
        self._pause = pause

    async def judge(self, matchup: Matchup) -> Answer:
        """Compare the values."""
        left, right = matchup.left, matchup.right
        await asyncio.sleep(self._pause)
        if self.error is not None:
            raise self.error
        self.seen.append((left.id, right.id))
        if {left.id, right.id} & self.fails:
            return Answer(error="no idea", came=self.came, prompt_tokens=1000)
        difference = int(right.content) - int(left.content)
        return Answer(
            score=max(-1.0, min(1.0, difference / 10)),
            reasoning=f"A is {left.content}, B is {right.content}.",
            prompt_tokens=1000,
            completion_tokens=100,
        )

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return what it takes."""
        return 1000, 100


def kept_judgements(folder: Path) -> list[Judgement]:
    """Return the judgements of a working folder, in the order they were made."""
    with Journal(folder, to_read=True) as journal:
        places = journal._places
        kept = (journal.get(key) for key in sorted(places, key=places.__getitem__))
        return [one for one in kept if one is not None]
