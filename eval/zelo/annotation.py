"""Annotating a file of queries: pairs, judges, fit, and a score for each document.

    judges = load_judges(["bm25", "embedding"])
    done = annotate("queries.jsonl", "annotated.jsonl", judges=judges)

Everything that is asked is kept in a working folder beside the target, `NAME.zelo`:
`judgements.jsonl` as it comes, `pairs.json`, `ai_scores.json` and `fits.jsonl` at the
end. The same call continues an interrupted run; a finished one asks nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from knowtrail.eval.zelo.asking import Asking, check_judges
from knowtrail.eval.zelo.composing import FitSettings, pairs_of, scored_queries
from knowtrail.eval.zelo.journal import JOURNAL, Journal, judgement_key
from knowtrail.eval.zelo.pairs import PairSettings
from knowtrail.eval.zelo.scored_pairs import working_folder
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError, StorageError
from knowtrail.retrieval.rerank.datasets import read_queries, write_annotated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.eval.zelo.asking import Counts, Stop
    from knowtrail.eval.zelo.chat_judges import Pace
    from knowtrail.eval.zelo.composing import ScoredQuery
    from knowtrail.eval.zelo.judgements import Judge, Judgement
    from knowtrail.graph.cli.progress import Progress
    from knowtrail.retrieval.rerank.datasets import Document, Query

ENOUGH = 10
"""Answers below which nothing is said of a habit."""
_HABIT = 0.95
_FAILING = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """How one judge behaved.

    Attributes:
        ties: Share of scores that are 0.
        first: Share, among the others, that went to the document shown first; about
            one half for a judge that the order does not sway.
        shortened: Judgements for which a document was shortened to fit.
        error: The reason that was given most often for a failure.
    """

    judge: str
    answered: int
    failed: int
    ties: float
    first: float
    shortened: int = 0
    error: str = ""

    @classmethod
    def of(cls, judge: str, count: Counter[str], errors: Counter[str]) -> JudgeReport:
        """Return the report of what `_Tally` has counted."""
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what makes its judgements doubtful."""
        found = []
        if self.answered >= ENOUGH and self.ties >= _HABIT:
            found.append(
                f"Judge {self.judge!r} nearly always ties ({self.ties:.0%} of "
                f"{self.answered} answers): it tells nothing."
            )
        elif self.answered * (1 - self.ties) >= ENOUGH:
            for share, place in ((self.first, "first"), (1 - self.first, "second")):
                if share >= _HABIT:
                    found.append(
                        f"Judge {self.judge!r} nearly always prefers the document "
                        f"shown {place} ({share:.0%}): its answers are noise."
                    )
        if self.failed and self.failed >= _FAILING * (self.failed + self.answered):
            found.append(
                f"Judge {self.judge!r} failed {self.failed} of "
                f"{self.failed + self.answered} times, mostly: {self.error}"
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEstimate:
    """What one judge would be asked.

    Attributes:
        prompt_tokens: Tokens to be sent, by an estimate on the safe side.
        completion_tokens: Tokens of answers, as the configuration expects them.
        cost: Their price in USD; None where it is not known.
        seconds: What they take at the least at the judge's limits of speed; 0 without.
    """

    judge: str
    judgements: int
    known: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would ask, and what the working folder's judgements cost already."""

    queries: int
    documents: int
    pairs: int
    judges: tuple[JudgeEstimate, ...]
    spent: float

    @property
    def inferences(self) -> int:
        """Return how many judgements would be made."""
        return sum(judge.judgements for judge in self.judges)

    @property
    def cost(self) -> float | None:
        """Return the price in USD; None where that of a judge is not known."""
        costs = [judge.cost for judge in self.judges]
        return None if None in costs else sum(c for c in costs if c is not None)

    @property
    def seconds(self) -> float:
        """Return what a run takes at the least: judges are asked side by side."""
        return max((judge.seconds for judge in self.judges), default=0.0)


class _Estimating:
    """Counts what a run would ask; see `ZeloAnnotator.estimate`."""

    def __init__(self, annotator: ZeloAnnotator, journal: Journal | None) -> None:
        self._of = annotator
        self._journal = journal
        self._counts: dict[str, Counter[str]] = {
            judge.name: Counter() for judge in annotator.judges
        }

    def estimate(self) -> Estimate:
        """Return what the queries of the source come to."""
        queries = documents = planned = 0
        for item in read_queries(self._of.source):
            taken = self._of.pairs.considered(item.documents)
            queries += 1
            documents += len(taken)
            planned += self._of.pairs.planned(len(taken))
            self._query(item.query, taken)
        return Estimate(
            queries=queries,
            documents=documents,
            pairs=planned,
            judges=tuple(self._judge(judge) for judge in self._of.judges),
            spent=self._journal.spent if self._journal else 0.0,
        )

    def _query(self, query: Query, documents: Sequence[Document]) -> None:
        """Count the judgements on one query."""
        of, journal = self._of, self._journal
        matches = list(pairs_of(journal, of.pairs, of.judges, query, documents))
        # Rounds that are still to be chosen, as often as those that are.
        planned = of.pairs.planned(len(documents))
        further = max(0.0, planned / len(matches) - 1) if matches else 0.0
        for match in matches:
            for judge in of.judges:
                count: Any = self._counts[judge.name]
                known = journal is not None and journal.settled(
                    judgement_key(match, judge), retry_failed=of.retry_failed
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

    def _judge(self, judge: Judge) -> JudgeEstimate:
        """Return what one judge would be asked."""
        count = self._counts[judge.name]
        sent, received = (
            round(count["prompt_tokens"]),
            round(count["completion_tokens"]),
        )
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

    Attributes:
        pairs: Which documents are judged against each other.
        folder: The working folder; None is `TARGET.zelo`, beside the target.
        budget: USD that the folder's judgements may cost in all runs together.
        retry_failed: Ask again where an answer came and was of no use; where none
            came it is asked for again anyway.
        partial: Ask nothing, and score what is known.
    """

    pairs: PairSettings
    fit: FitSettings
    folder: Path | None
    budget: float | None
    retry_failed: bool
    partial: bool
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What came of a run.

    Attributes:
        target: The annotated file; None where the run stopped before its end.
        stopped: Why it stopped: the budget, or Ctrl-C; None at the end.
        counts: What was asked, reused, and failed.
        unjudged: Query id and ids of documents without one.
        disconnected: Ids of queries with documents that no chain of battles compares.
        degrees: The fewest and the most battles of a document that was to be judged.
        cost: USD of this run.
        spent: USD of all runs in the folder.
    """

    target: Path | None
    folder: Path
    stopped: Stop | None
    counts: Counts
    queries: int
    pairs: int
    scored: int
    unjudged: tuple[tuple[str, tuple[str, ...]], ...]
    disconnected: tuple[str, ...]
    degrees: tuple[int, int]
    judges: tuple[JudgeReport, ...]
    cost: float
    spent: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what somebody should look at."""
        found = [w for report in self.judges for w in report.warnings]
        if self.disconnected:
            found.append(
                f"{len(self.disconnected)} queries have documents that no chain of "
                f"battles compares, such as {self.disconnected[0]!r}: their scores "
                "hold within each part only."
            )
        return tuple(found)


class ZeloAnnotator:
    """Judges pairs of documents by an ensemble and fits zELO scores to them.

    Attributes:
        pairs: Which documents are judged against each other.
        budget: USD that the folder's judgements may cost.
    """

    def __init__(
        self,
        source: str | Path,
        target: str | Path,
        *,
        judges: Sequence[Judge],
        **options: Unpack[Options],
    ) -> None:
        """Check what is asked for; no judge is asked yet.

        Args:
            source: Queries with documents, see `knowtrail.retrieval.rerank.datasets`.
            target: Where the annotated file goes; it may be the source.
            judges: The ensemble.
            **options: See `Options`.

        Raises:
            InputError: If judges, budget or options are no good.
        """
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

        Raises:
            InputError: If the source is no good.
        """
        if not (self.folder / JOURNAL).is_file():
            return _Estimating(self, None).estimate()
        with Journal(self.folder, to_read=True) as journal:
            return _Estimating(self, journal).estimate()

    def stop(self) -> bool:
        """Ask nothing more; what is under way is waited for. From any thread.

        Returns:
            Whether judges are being asked at all.
        """
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
            KnowtrailError: If a judge cannot be asked at all; what others answered is
                kept.
            StorageError: If a file cannot be written.
        """
        total = await asyncio.to_thread(self._check_source)
        self._check_target()
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
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.aannotate())
        with ThreadPoolExecutor(1, thread_name_prefix="knowtrail-zelo") as pool:
            return pool.submit(asyncio.run, self.aannotate()).result()

    def _check_source(self) -> int:
        """Read the source through before anything is paid; return what to expect."""
        return len(self.judges) * sum(
            self.pairs.planned(len(self.pairs.considered(item.documents)))
            for item in read_queries(self.source)
        )

    def _check_target(self) -> None:
        """Refuse a place where nothing can be written, before anything is paid."""
        if self.target.is_dir() or not self.target.absolute().parent.is_dir():
            msg = f"{self.target} is no place for a file: choose another."
            raise StorageError(msg)
        if self.folder.exists() and not self.folder.is_dir():
            msg = f"{self.folder} is no folder: choose another working folder."
            raise InputError(msg)

    def _compose(self, journal: Journal, asking: Asking, before: float) -> Annotation:
        """Fit, write and report."""
        tally = _Tally(self.judges)
        finished = asking.stopped is None
        scored = scored_queries(self, journal)
        items = tally.noting(scored)
        if finished:
            write_annotated(self.target, (item.annotated() for item in items))
        else:
            for _ in items:
                pass
        return Annotation(
            target=self.target if finished else None,
            folder=self.folder,
            stopped=asking.stopped,
            counts=asking.counts,
            cost=journal.spent - before,
            spent=journal.spent,
            **tally.figures(),
        )


class _Tally:
    """Counts what passes through it."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._counts: dict[str, Counter[str]] = {one.name: Counter() for one in judges}
        self._errors: dict[str, Counter[str]] = {one.name: Counter() for one in judges}
        self._queries = self._pairs = self._scored = 0
        self._unjudged: list[tuple[str, tuple[str, ...]]] = []
        self._disconnected: list[str] = []
        self._degrees: list[int] = []

    def noting(self, items: Iterator[ScoredQuery]) -> Iterator[ScoredQuery]:
        """Yield items and count them."""
        for item in items:
            self._queries += 1
            self._pairs += len(item.pairs)
            without = item.unjudged
            self._scored += len(item.documents) - len(without)
            if without:
                self._unjudged.append((item.query.id, without))
            if not item.fit.connected:
                self._disconnected.append(item.query.id)
            if item.judged > 1:
                found = [*self._degrees, *(int(d) for d in item.fit.degree)]
                self._degrees = [min(found), max(found)]
            for said in item.judgements:
                for one in said:
                    self._judgement(one)
            yield item

    def _judgement(self, one: Judgement) -> None:
        """Count a judgement."""
        count = self._counts[one.judge]
        count["shortened"] += one.shortened
        if one.score is None:
            count["failed"] += 1
            self._errors[one.judge][one.error or ""] += 1
        else:
            count["answered"] += 1
            count["ties"] += one.score == 0
            count["first"] += one.score != 0 and (one.score < 0) != one.swapped

    def figures(self) -> dict[str, Any]:
        """Return the counts as `Annotation` names them."""
        low, high = self._degrees or [0, 0]
        return {
            "queries": self._queries,
            "pairs": self._pairs,
            "scored": self._scored,
            "unjudged": tuple(self._unjudged),
            "disconnected": tuple(self._disconnected),
            "degrees": (low, high),
            "judges": tuple(
                JudgeReport.of(name, count, self._errors[name])
                for name, count in self._counts.items()
            ),
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

    Args:
        source: Queries with documents, see `knowtrail.retrieval.rerank.datasets`.
        target: Where the annotated file goes; it may be the source.
        judges: The ensemble.
        **options: See `Options`.

    Returns:
        What came of it.

    Raises:
        KnowtrailError: As `ZeloAnnotator.aannotate`.
    """
    return ZeloAnnotator(source, target, judges=judges, **options).annotate()
