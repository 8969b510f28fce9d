"""Asking judges about pairs: side by side, within a budget, each answer kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from knowtrail.eval.zelo.fit import REGULARISATION, fit_battles
from knowtrail.eval.zelo.journal import judgement_key
from knowtrail.eval.zelo.judgements import (
    Matchup,
    Price,
    battles_of,
    judgement_of,
    swaps,
)
from knowtrail.eval.zelo.pairs import most_informative
from knowtrail.graph.errors import InputError
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.journal import Journal
    from knowtrail.eval.zelo.judgements import Judge, Judgement
    from knowtrail.eval.zelo.pairs import Pair, PairSettings
    from knowtrail.retrieval.rerank.datasets import Document, Query, QueryDocuments

Stop = Literal["budget", "interrupted", "error"]

STAGE = "Judging pairs"
QUERIES_AT_ONCE = 16
_PAIRS_AT_ONCE = 500


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a run did.

    Attributes:
        reused: Judgements that an earlier run, or this one, had.
    """

    asked: int = 0
    reused: int = 0
    failed: int = 0


def matchups(
    query: Query, documents: Sequence[Document], pairs: Iterable[Pair]
) -> Iterator[Matchup]:
    """Yield the pairs of a query with their texts, counting those that come again."""
    seen: dict[Pair, int] = {}
    candidates = tuple(documents)
    for pair in pairs:
        seen[pair] = seen.get(pair, -1) + 1
        yield Matchup(
            query=query,
            left=documents[pair[0]],
            right=documents[pair[1]],
            repetition=seen[pair],
            candidates=candidates,
        )


def plan_key(
    settings: PairSettings,
    query: Query,
    documents: Sequence[Document],
    judges: Sequence[Judge],
) -> str:
    """Return what the pairs of adaptive rounds depend on, answers apart."""
    return content_key(
        "zelo-plan",
        settings.seed,
        query.id,
        query.query,
        *(text for d in documents for text in (d.id, d.content)),
        *(text for judge in judges for text in (judge.name, judge.fingerprint)),
    )


def known_judgements(
    journal: Journal, matchup: Matchup, judges: Sequence[Judge]
) -> list[Judgement]:
    """Return what is known about a pair, in the order of the judges."""
    found = (journal.get(judgement_key(matchup, judge)) for judge in judges)
    return [one for one in found if one is not None]


class Asking:
    """One run of questions to judges.

    Attributes:
        stopped: Why no more is asked; None while it goes on.
    """

    def __init__(self, of: ZeloAnnotator, journal: Journal, total: int) -> None:
        """Prepare a run in the running loop, of so many judgements."""
        self.stopped: Stop | None = None
        self._of = of
        self._journal = journal
        self._total = total
        self._desks = {j.name: asyncio.Semaphore(j.concurrency) for j in of.judges}
        self._reserved = 0.0
        self._error: Exception | None = None
        self.counts = Counts()

    def stop(self, reason: Stop) -> None:
        """Ask nothing more; what is under way is waited for and kept."""
        self.stopped = self.stopped or reason

    async def ask_all(self, items: Iterable[QueryDocuments]) -> None:
        """Ask about all queries, several side by side.

        Where this is cancelled, nothing more is asked, and what is under way is waited
        for and kept; cancelled again, or after `stop`, it ends at once.
        """
        running: set[asyncio.Task[None]] = set()
        try:
            for item in items:
                if self.stopped:
                    break
                running.add(asyncio.create_task(self._ask_query(item)))
                if len(running) >= QUERIES_AT_ONCE:
                    running = await _left(running, asyncio.FIRST_COMPLETED)
            while running:
                running = await _left(running, asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            if self.stopped is None and running:
                self.stop("interrupted")
                await asyncio.wait(running)
            raise
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if self._error is not None:
            raise self._error

    async def _ask_query(self, item: QueryDocuments) -> None:
        """Ask about one query."""
        documents = self._of.pairs.considered(item.documents)
        pairs = self._of.pairs.begin(item.query.id, [d.id for d in documents])
        await self._ask_pairs(matchups(item.query, documents, pairs))
        if self._of.pairs.mode == "adaptive" and len(documents) > 1:
            await self._ask_rounds(item.query, documents, pairs)

    async def _ask_rounds(
        self, query: Query, documents: Sequence[Document], pairs: list[Pair]
    ) -> None:
        """Choose further pairs by what was answered, round by round."""
        plan = plan_key(self._of.pairs, query, documents, self._of.judges)
        for number in range(self._of.pairs.cycle_num - 1):
            if self.stopped:
                return
            known = self._journal.rounds(plan)
            if number >= len(known):
                chosen = self._next_round(query, documents, pairs)
                if not chosen:
                    return
                self._journal.add_round(plan, chosen)
                known = self._journal.rounds(plan)
            begun = len(pairs)
            pairs += known[number]
            both = list(matchups(query, documents, pairs))
            await self._ask_pairs(both[begun:])

    def _next_round(
        self, query: Query, documents: Sequence[Document], pairs: Sequence[Pair]
    ) -> list[Pair]:
        """Return as many new pairs as there are documents, or what is left of them."""
        ids = [document.id for document in documents]
        met = {frozenset(pair) for pair in pairs}
        count = min(len(ids), len(ids) * (len(ids) - 1) // 2 - len(met))
        if not count:
            return []
        answers: list[Judgement] = []
        counts = []
        for matchup in matchups(query, documents, pairs):
            said = known_judgements(self._journal, matchup, self._of.judges)
            answers += said
            counts.append(float(sum(one.score is not None for one in said)))
        battles = battles_of(ids, answers, [judge.name for judge in self._of.judges])
        fit = fit_battles(battles, magnitude=self._of.fit.magnitude)
        return most_informative(
            fit.scores,
            pairs,
            counts,
            count=count,
            judges=len(self._of.judges),
            ridge=REGULARISATION,
        )

    async def _ask_pairs(self, pairs: Iterable[Matchup]) -> None:
        """Ask every judge about pairs."""
        waiting: list[tuple[Matchup, Judge]] = []
        for matchup in pairs:
            waiting += [(matchup, judge) for judge in self._of.judges]
            if len(waiting) >= _PAIRS_AT_ONCE:
                await asyncio.gather(*(self._ask(m, j) for m, j in waiting))
                waiting.clear()
        await asyncio.gather(*(self._ask(m, j) for m, j in waiting))

    async def _ask(self, matchup: Matchup, judge: Judge) -> None:
        """Ask one judge about one pair, unless that is known."""
        key = judgement_key(matchup, judge)
        if self._journal.settled(key, retry_failed=self._of.retry_failed):
            self.counts.reused += 1
            self._tell()
            return
        async with self._desks[judge.name]:
            if self.stopped:
                return
            swapped = swaps(matchup, judge.name, seed=self._of.pairs.seed)
            shown = matchup.turned() if swapped else matchup
            expected = (judge.price or Price()).of(*judge.expected(shown))
            if not self._affords(expected):
                self.stop("budget")
                return
            self._reserved += expected
            try:
                answer = await judge.judge(shown)
                judgement = judgement_of(matchup, judge, answer, swapped=swapped)
                self._journal.add(key, judgement)
            except Exception as error:  # judges are anybody's: others' answers count
                self._error = self._error or error
                self.stop("error")
                return
            finally:
                self._reserved -= expected
        self.counts.asked += 1
        self.counts.failed += judgement.score is None
        self._tell()

    def _affords(self, expected: float) -> bool:
        """Return whether a judgement fits into the budget with those under way."""
        if self._of.budget is None or expected == 0:
            return True
        return self._journal.spent + self._reserved + expected <= self._of.budget

    def _tell(self) -> None:
        self._of.progress(STAGE, self.counts.asked + self.counts.reused, self._total)


async def _left(running: set[asyncio.Task[None]], when: str) -> set[asyncio.Task[None]]:
    """Wait for tasks; return those that are not done, or raise what one has raised.

    Unlike gather, wait leaves the tasks alone where this one is cancelled.
    """
    done, left = await asyncio.wait(running, return_when=when)
    for task in done:
        task.result()
    return left


def check_judges(judges: Sequence[Judge], budget: float | None) -> None:
    """Refuse judges that cannot work together."""
    if not judges:
        raise InputError("There is no judge: name at least one.")
    names = [judge.name for judge in judges]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"Two judges are called {twice[0]!r}: give them different names."
        raise InputError(msg)
    if budget is None:
        return
    if not budget >= 0:
        raise InputError(f"The budget is {budget}: give USD, at least 0.")
    if unknown := [judge.name for judge in judges if judge.price is None]:
        msg = (
            f"The price of judge {unknown[0]!r} is not known, so no budget can hold: "
            "add it to the judges' configuration (knowtrail eval zelo judges)."
        )
        raise InputError(msg)
