"""Annotating a file of queries: pairs, judges, fit, and a score for each document.

    judges = load_judges(["bm25", "embedding"])
    done = annotate("queries.jsonl", "annotated.jsonl", judges=judges)

Everything that is asked is kept in a working folder beside the target, `NAME.zelo`:
`judgements.jsonl` as it comes, `pairs.json`, `ai_scores.json` and `fits.jsonl` at the
end. The same call continues an interrupted run; a finished one asks nothing.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from eval.zelo.asking import Asking, check_judges
from eval.zelo.composing import Composer, FitSettings
from eval.zelo.conduct import Conduct, JudgeReport
from eval.zelo.costs import Estimate, estimate
from eval.zelo.journal import open_journal
from eval.zelo.pairs import PairSettings
from graph.errors import InputError, StorageError
from graph.progress import silent
from retrieval.rerank.datasets import read_queries, write_annotated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.zelo.asking import Counts, Stop
    from eval.zelo.composing import ScoredQuery
    from eval.zelo.journal import Journal
    from eval.zelo.judgements import Judge
    from graph.progress import Progress

__all__ = ["Annotation", "Options", "ZeloAnnotator", "aannotate", "annotate"]


class Options(TypedDict, total=False):
    """What can be said of an annotation besides its files and judges.

    Attributes:
        pairs: Which documents are judged against each other.
        fit: How scores are found.
        folder: The working folder; None is `TARGET.zelo`, beside the target.
        budget: USD that the folder's judgements may cost in all runs together.
        retry_failed: Ask again where an answer came and was of no use; where none
            came it is asked for again anyway.
        partial: Ask nothing, and score what is known.
        progress: Told of each judgement.
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
        folder: The working folder.
        stopped: Why it stopped: the budget, or Ctrl-C; None at the end.
        counts: What was asked, reused, and failed.
        queries: Queries of the source.
        pairs: Pairs of them.
        scored: Documents with a score.
        unjudged: Query id and ids of documents without one.
        disconnected: Ids of queries with documents that no chain of battles compares.
        degrees: The fewest and the most battles of a document that was to be judged.
        judges: How each judge behaved.
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
        source: Queries with documents.
        target: Where the annotated file goes.
        judges: The ensemble.
        pairs: Which documents are judged against each other.
        fit: How scores are found.
        folder: The working folder.
        budget: USD that the folder's judgements may cost.
        progress: Told of each judgement.
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
            source: Queries with documents, see `retrieval.rerank.datasets`.
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
        self.folder = folder or self.target.with_name(f"{self.target.name}.zelo")
        self.budget = options.get("budget")
        self._retry_failed = options.get("retry_failed", False)
        self._partial = options.get("partial", False)
        self.progress = options.get("progress") or silent
        self._asking: Asking | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        check_judges(self.judges, self.budget)

    def estimate(self) -> Estimate:
        """Return what a run would ask and cost; nothing is asked or written.

        Raises:
            InputError: If the source is no good.
        """
        return estimate(
            self.source,
            self.judges,
            self.pairs,
            folder=self.folder,
            retry_failed=self._retry_failed,
        )

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
        with open_journal(self.folder) as journal:
            before = journal.spent
            self._loop = asyncio.get_running_loop()
            self._asking = asking = Asking(
                journal,
                self.judges,
                self.pairs,
                budget=self.budget,
                retry_failed=self._retry_failed,
                magnitude=self.fit.magnitude,
                progress=self.progress,
                total=total,
            )
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
        composer = Composer(journal, self.judges, self.pairs, self.fit)
        tally = _Tally(self.judges)
        finished = asking.stopped is None
        items = tally.noting(composer.written(self.source))
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
            judges=tally.conduct.reports(),
            cost=journal.spent - before,
            spent=journal.spent,
            **tally.figures(),
        )


class _Tally:
    """Counts what passes through it."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.conduct = Conduct([judge.name for judge in judges])
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
                degrees = [int(d) for d in item.fit.degree]
                found = [*self._degrees, *degrees]
                self._degrees = [min(found), max(found)]
            for said in item.judgements:
                for one in said:
                    self.conduct.add(one)
            yield item

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
        source: Queries with documents, see `retrieval.rerank.datasets`.
        target: Where the annotated file goes; it may be the source.
        judges: The ensemble.
        **options: See `Options`.

    Returns:
        What came of it.

    Raises:
        KnowtrailError: As `ZeloAnnotator.aannotate`.
    """
    return ZeloAnnotator(source, target, judges=judges, **options).annotate()
