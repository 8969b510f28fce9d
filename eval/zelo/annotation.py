"""Annotating a file of queries: pairs, judges, fit, and a score for each document.

    judges = load_judges(["bm25", "embedding"])
    done = annotate("queries.jsonl", "annotated.jsonl", judges=judges)

Everything that is asked is kept in a working folder beside the target, `NAME.zelo`:
`judgements.jsonl` as it comes, `pairs.json`, `ai_scores.json` and `fits.jsonl` at the
end. The same call continues an interrupted run; a finished one asks nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from knowtrail.eval.report import told
from knowtrail.eval.zelo.fit import REGULARISATION, fit_battles
from knowtrail.eval.zelo.judgements import (
    JOURNAL,
    Journal,
    Judge,
    Judgement,
    Matchup,
    Price,
    battles_of,
    judgement_key,
    judgement_of,
    known_judgements,
    matchups,
    plan_key,
    swaps,
)
from knowtrail.eval.zelo.pairs import Pair, PairSettings, most_informative
from knowtrail.eval.zelo.scored_pairs import (
    FitSettings,
    ScoredQuery,
    pairs_of,
    scored_queries,
    working_folder,
)
from knowtrail.graph.batches import batched
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError, StorageError
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    left,
    read_queries,
    write_annotated,
)
from knowtrail.retrieval.rerank.order import finished

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowtrail.eval.zelo.judges import Pace

Stop = Literal["budget", "interrupted", "error"]

STAGE = "Judging pairs"
QUERIES_AT_ONCE = 16
_PAIRS_AT_ONCE = 500


@dataclass(slots=True, kw_only=True)
class Counts:
    """What a run did; `reused` counts what an earlier run, or this one, had."""

    asked: int = 0
    reused: int = 0
    failed: int = 0


class Asking:
    """One run of questions to judges; `stopped` is why no more is asked."""

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

        Where this is cancelled, nothing more is asked, and what is under way is kept;
        cancelled again, or after `stop`, it ends at once.
        """
        running: set[asyncio.Task[None]] = set()
        try:
            for item in items:
                if self.stopped:
                    break
                running.add(asyncio.create_task(self._ask_query(item)))
                if len(running) >= QUERIES_AT_ONCE:
                    running = await left(running, asyncio.FIRST_COMPLETED)
            while running:
                running = await left(running, asyncio.FIRST_EXCEPTION)
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
            await self._ask_pairs(list(matchups(query, documents, pairs))[begun:])

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
        judges = len(self._of.judges)
        return most_informative(
            fit.scores, pairs, counts, count=count, judges=judges, ridge=REGULARISATION
        )

    async def _ask_pairs(self, pairs: Iterable[Matchup]) -> None:
        asked = ((matchup, judge) for matchup in pairs for judge in self._of.judges)
        for some in batched(asked, _PAIRS_AT_ONCE):
            await asyncio.gather(*(self._ask(*one) for one in some))

    async def _ask(self, matchup: Matchup, judge: Judge) -> None:
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
            # It must fit into the budget with those that are under way.
            spent, most = self._journal.spent + self._reserved, self._of.budget
            if expected and most is not None and not spent + expected <= most:
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

    def _tell(self) -> None:
        self._of.progress(STAGE, self.counts.asked + self.counts.reused, self._total)


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
        raise InputError(
            f"The price of judge {unknown[0]!r} is not known, so no budget can hold: "
            "add it to the judges' configuration (knowtrail eval zelo judges)."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """How a judge behaved: shares of ties and, of the rest, for what it saw first."""

    judge: str
    answered: int
    failed: int
    ties: float
    first: float
    shortened: int = 0
    error: str = ""

    @classmethod
    def of(cls, judge: str, count: Counter[str], errors: Counter[str]) -> JudgeReport:
        """Return the report of what `_counted` has counted."""
        answered, ties = count["answered"], count["ties"]
        chosen = answered - ties
        return cls(
            judge=judge,
            answered=answered,
            failed=count["failed"],
            ties=ties / max(1, answered),
            first=count["first"] / chosen if chosen else 0.5,
            shortened=count["shortened"],
            error=errors.most_common(1)[0][0] if errors else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEstimate:
    """What one judge would be asked: tokens on the safe side, USD, least seconds."""

    judge: str
    judgements: int
    known: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would ask, its USD if known and least seconds, and what was spent."""

    queries: int
    documents: int
    pairs: int
    judges: tuple[JudgeEstimate, ...]
    inferences: int
    cost: float | None
    seconds: float
    spent: float


def _estimate_of(judge: Judge, count: Counter[str]) -> JudgeEstimate:
    sent, received = (round(count[f"{of}_tokens"]) for of in ("prompt", "completion"))
    return JudgeEstimate(
        judge=judge.name,
        judgements=round(count["judgements"]),
        known=count["known"],
        prompt_tokens=sent,
        completion_tokens=received,
        cost=None if judge.price is None else judge.price.of(sent, received),
        seconds=float(count["seconds"]),
    )


class Options(TypedDict, total=False):
    """What can be said of an annotation besides its files and judges.

    `folder` is TARGET.zelo if None; `budget` is USD for all runs in the folder;
    `retry_failed` asks again for answers of no use; `partial` scores what is known.
    """

    pairs: PairSettings
    fit: FitSettings
    folder: Path | None
    budget: float | None
    retry_failed: bool
    partial: bool
    progress: Progress


@dataclass(slots=True, kw_only=True)
class Annotation:
    """What came of a run; costs in USD, fewest and most battles as `degrees`."""

    target: Path | None
    folder: Path
    stopped: Stop | None
    counts: Counts
    queries: int = 0
    pairs: int = 0
    scored: int = 0
    unjudged: tuple[tuple[str, tuple[str, ...]], ...] = ()
    disconnected: tuple[str, ...] = ()
    degrees: tuple[int, int] = (0, 0)
    judges: tuple[JudgeReport, ...] = ()
    cost: float
    spent: float

    def noting(
        self, items: Iterable[ScoredQuery], judges: Sequence[Judge]
    ) -> Iterator[ScoredQuery]:
        """Yield scored queries, and at their end know what they come to."""
        counts: dict[str, Counter[str]] = {judge.name: Counter() for judge in judges}
        errors: dict[str, Counter[str]] = {judge.name: Counter() for judge in judges}
        unjudged, disconnected = [], []
        degrees: list[int] = []
        for item in items:
            self.queries += 1
            self.pairs += len(item.pairs)
            self.scored += len(item.documents) - len(without := item.unjudged)
            unjudged += [(item.query.id, without)] if without else []
            disconnected += [] if item.fit.connected else [item.query.id]
            if item.judged > 1:
                found = [*degrees, *map(int, item.fit.degree)]
                degrees = [min(found), max(found)]
            for one in chain.from_iterable(item.judgements):
                counts[one.judge].update(_counted(one))
                if one.score is None:
                    errors[one.judge][one.error or ""] += 1
            yield item
        self.unjudged, self.disconnected = tuple(unjudged), tuple(disconnected)
        self.degrees = (degrees[0], degrees[1]) if degrees else (0, 0)
        self.judges = tuple(
            JudgeReport.of(name, count, errors[name]) for name, count in counts.items()
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what somebody should look at."""
        return tuple(told("zelo/warnings.txt", done=self, quoted=repr).splitlines())


class ZeloAnnotator:
    """Judges pairs of documents by an ensemble and fits zELO scores to them."""

    def __init__(
        self,
        source: str | Path,
        target: str | Path,
        *,
        judges: Sequence[Judge],
        **options: Unpack[Options],
    ) -> None:
        self.source, self.target = Path(source), Path(target)
        self.judges = tuple(judges)
        self.pairs = options.get("pairs") or PairSettings()
        self.fit = options.get("fit") or FitSettings()
        folder = options.get("folder")
        self.folder = folder or working_folder(self.target)
        self.budget = options.get("budget")
        self.retry_failed = options.get("retry_failed", False)
        self._partial = options.get("partial", False)
        self.progress = options.get("progress") or silent
        self._asking: Asking | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        check_judges(self.judges, self.budget)

    def estimate(self) -> Estimate:
        """Return what a run would ask and cost; nothing is asked or written.

        Pairs that adaptive rounds have not chosen yet count as the mean of those
        chosen.
        """
        there = (self.folder / JOURNAL).is_file()
        with Journal(self.folder, to_read=True) if there else nullcontext() as journal:
            return self._estimated(journal)

    def _estimated(self, journal: Journal | None) -> Estimate:
        counts: dict[str, Counter[str]] = {one.name: Counter() for one in self.judges}
        queries = documents = pairs = 0
        for item in read_queries(self.source):
            taken = self.pairs.considered(item.documents)
            planned = self.pairs.planned(len(taken))
            queries += 1
            documents += len(taken)
            pairs += planned
            matches = list(
                pairs_of(journal, self.pairs, self.judges, item.query, taken)
            )
            # Rounds that are still to be chosen, as often as those that are.
            further = max(0.0, planned / len(matches) - 1) if matches else 0.0
            for judge in self.judges:
                for match in matches:
                    self._expect(counts[judge.name], journal, judge, match, further)
        judges = tuple(_estimate_of(one, counts[one.name]) for one in self.judges)
        known = [one.cost for one in judges if one.cost is not None]
        return Estimate(
            queries=queries,
            documents=documents,
            pairs=pairs,
            inferences=sum(one.judgements for one in judges),
            cost=sum(known) if len(known) == len(judges) else None,
            seconds=max((one.seconds for one in judges), default=0.0),
            judges=judges,
            spent=journal.spent if journal else 0.0,
        )

    def _expect(
        self,
        count: Any,
        journal: Journal | None,
        judge: Judge,
        match: Matchup,
        further: float,
    ) -> None:
        """Count what a judgement is likely to take, and further ones like it."""
        known = journal is not None and journal.settled(
            judgement_key(match, judge), retry_failed=self.retry_failed
        )
        count["known"] += known
        if share := further + (not known):
            prompt, answer = judge.expected(match)
            pace: Pace | None = getattr(judge, "pace", None)
            count["judgements"] += share
            count["prompt_tokens"] += share * prompt
            count["completion_tokens"] += share * answer
            if pace is not None:
                count["seconds"] += share * pace.seconds(prompt + answer)

    def stop(self) -> bool:
        """Ask nothing more, from any thread; return whether judges are being asked."""
        asking, loop = self._asking, self._loop
        if asking is None or loop is None:
            return False
        loop.call_soon_threadsafe(asking.stop, "interrupted")
        return True

    async def aannotate(self) -> Annotation:
        """Judge what is not known, fit, and write the annotated file.

        Where it stops before its end, the target is left as it was, and the files of
        the folder hold what there is. Where it is cancelled, as by Ctrl-C, answers that
        are under way are waited for and kept; cancelled again, it ends at once.

        Raises:
            InputError: If the source is no good or another run works in the folder.
            KnowtrailError: If a judge cannot be asked at all; what there is is kept.
            StorageError: If a file cannot be written.
        """
        total = await asyncio.to_thread(self._check_source)
        # A place where nothing can be written is refused before anything is paid.
        if self.target.is_dir() or not self.target.absolute().parent.is_dir():
            raise StorageError(f"{self.target} is no place for a file: choose another.")
        if self.folder.exists() and not self.folder.is_dir():
            msg = f"{self.folder} is no folder: choose another working folder."
            raise InputError(msg)
        with Journal(self.folder) as journal:
            before = journal.spent
            self._loop = asyncio.get_running_loop()
            self._asking = asking = Asking(self, journal, total)
            try:
                if not self._partial:
                    await asking.ask_all(read_queries(self.source))
            finally:
                self._asking = None
            return await asyncio.to_thread(self._compose, journal, asking, before)

    def annotate(self) -> Annotation:
        """Do as `aannotate` does where nothing is awaited, also inside a loop."""
        return finished(self.aannotate())

    def _check_source(self) -> int:
        return len(self.judges) * sum(
            self.pairs.planned(len(self.pairs.considered(item.documents)))
            for item in read_queries(self.source)
        )

    def _compose(self, journal: Journal, asking: Asking, before: float) -> Annotation:
        finished = asking.stopped is None
        done = Annotation(
            target=self.target if finished else None,
            folder=self.folder,
            stopped=asking.stopped,
            counts=asking.counts,
            cost=journal.spent - before,
            spent=journal.spent,
        )
        items = done.noting(scored_queries(self, journal), self.judges)
        if finished:
            write_annotated(self.target, (item.annotated() for item in items))
        else:
            deque(items, maxlen=0)
        return done


def _counted(one: Judgement) -> dict[str, int]:
    """Return what one judgement counts in the report of its judge."""
    if one.score is None:
        return {"shortened": int(one.shortened), "failed": 1}
    first = one.score != 0 and (one.score < 0) != one.swapped
    return {
        "shortened": int(one.shortened),
        "answered": 1,
        "ties": int(one.score == 0),
        "first": int(first),
    }


async def aannotate(
    source: str | Path,
    target: str | Path,
    *,
    judges: Sequence[Judge],
    **options: Unpack[Options],
) -> Annotation:
    """Do as `annotate` does, without blocking; see there."""
    return await ZeloAnnotator(source, target, judges=judges, **options).aannotate()


def annotate(
    source: str | Path,
    target: str | Path,
    *,
    judges: Sequence[Judge],
    **options: Unpack[Options],
) -> Annotation:
    """Judge the documents of each query in pairs and write their zELO scores.

    Source and target are files as `knowtrail.retrieval.rerank.datasets` reads and
    writes them; they may be the same. Raises as `ZeloAnnotator.aannotate`.
    """
    return ZeloAnnotator(source, target, judges=judges, **options).annotate()
