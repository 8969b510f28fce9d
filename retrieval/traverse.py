"""Walk for a question, with one algorithm or several, and record the walks.

A walk only reads. What is recorded is written after it, in a transaction of its own
for each walk; where that fails, the walk is still returned, with a warning.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.blocking import Blocking, at_once, blocking
from knowtrail.graph.errors import DatabaseError, InputError, KnowtrailError
from knowtrail.retrieval.algorithms import ALGORITHMS, DETERMINISTIC
from knowtrail.retrieval.corpora import aground
from knowtrail.retrieval.driving import arun, walk_span
from knowtrail.retrieval.questions import Task, WalkSettings, check_question, refused
from knowtrail.retrieval.readers.opening import open_areader
from knowtrail.retrieval.recording import Recording, arecord
from knowtrail.retrieval.walk import RankedChunk, Trail, Walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import Ground
    from knowtrail.retrieval.protocols import Algorithm, Vector
    from knowtrail.retrieval.walk import StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class TraverseResult:
    """A walk and where it is recorded.

    Attributes:
        walk: The walk. Of an algorithm that failed in a comparison it has no steps
            and the stop reason `failed`.
        traversal_id: Id of the Traversal node; None where nothing was recorded.
        warning: Why nothing was recorded although that was asked; empty otherwise.
        error: Why the algorithm failed; empty where it did not.
        ranking: The chunks considered as anchors, best first.
        query: The question's vector; None where the algorithm failed.
    """

    walk: Walk
    traversal_id: str | None = None
    warning: str = ""
    error: str = ""
    ranking: tuple[RankedChunk, ...] = ()
    query: Vector | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How many sentences two algorithms both found, of those that either found."""

    left: str
    right: str
    shared: int
    either: int

    @property
    def share(self) -> float:
        """Return the shared part of all that was found, from 0 to 1."""
        return self.shared / self.either if self.either else 0.0


class TraverseSettings(WalkSettings, total=False):
    """What can be asked of a walk that is recorded.

    Attributes:
        record: Whether the walk is stored as Traversal and Steps, as by default.
        trace: Whether every chunk that was considered is stored too.
    """

    record: bool
    trace: bool


class CompareSettings(TraverseSettings, total=False):
    """What can be asked of a comparison; the rest holds for every algorithm.

    Attributes:
        algorithms: Names of the algorithms; None takes all that need no language
            model, and with `model` all.
        time_limit: Seconds after which no further algorithm is begun; `acompare` also
            ends the one that walks. Those that are left out say so in `error`, with
            the stop reason `time_limit`. None for no limit.
    """

    algorithms: Sequence[str | Algorithm] | None
    time_limit: float | None


def traverse(
    connection: Connection, question: str, **asked: Unpack[TraverseSettings]
) -> TraverseResult:
    """Walk for a question and record the walk.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        **asked: Corpus, algorithm, budgets and the rest, see `TraverseSettings`.

    Returns:
        The walk, with the id that it is recorded under.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        CorpusDriftError: If the corpus was embedded with another model.
        ModelError: If the language model does not answer.
        DatabaseError: If the database fails during the walk.
    """
    return at_once(atraverse(blocking(connection), question, **asked))


async def atraverse(
    connection: AsyncConnection, question: str, **asked: Unpack[TraverseSettings]
) -> TraverseResult:
    """Do as `traverse` does, without blocking; see there."""
    own, place, walk = _parted(asked)
    task = check_question(question, **walk)
    start = await aground(connection, question=question, **place)
    return await _awalk(connection, start, task, **own)


def compare(
    connection: Connection, question: str, **asked: Unpack[CompareSettings]
) -> tuple[TraverseResult, ...]:
    """Walk for one question with several algorithms, and record each walk.

    The question is embedded once. An algorithm that fails, such as one whose language
    model does not answer, leaves a result with `error` and does not end the others.

    Args:
        connection: The database; it is left open.
        question: What is asked.
        **asked: Algorithms, corpus, budgets and the rest, see `CompareSettings`.

    Returns:
        One result an algorithm, in their order.

    Raises:
        InputError: If question, a name, corpus, filter or a number is no good.
        DatabaseError: If the database fails.
    """
    return at_once(acompare(blocking(connection), question, **asked))


async def acompare(
    connection: AsyncConnection, question: str, **asked: Unpack[CompareSettings]
) -> tuple[TraverseResult, ...]:
    """Do as `compare` does, without blocking; see there."""
    return tuple([one async for one in acompared(connection, question, **asked)])


async def acompared(
    connection: AsyncConnection, question: str, **asked: Unpack[CompareSettings]
) -> AsyncIterator[TraverseResult]:
    """Yield each walk of `acompare` when it is done; who stops walks no further."""
    own, place, walk = _parted(asked)
    time_limit: float | None = walk.pop("time_limit", None)
    names = compared_algorithms(walk.pop("algorithms", None), own.get("model"), walk)
    tasks = [check_question(question, algorithm=name, **walk) for name in names]
    start = await aground(connection, question=question, **place)
    end = time.monotonic() + (math.inf if time_limit is None else time_limit)
    for task in tasks:
        left = None if time_limit is None else end - time.monotonic()
        late = left is not None and left <= 0
        limit = None if isinstance(connection, Blocking) else asyncio.timeout(left)
        try:
            if late:
                raise TimeoutError
            async with limit or nullcontext():
                result = await _awalk(connection, start, task, **own)
        except DatabaseError:
            raise
        except KnowtrailError as error:
            result = _without(task, start, "failed", error)
        except TimeoutError:
            if not late and not (limit and limit.expired()):
                raise
            left_out = (
                f"{task.algorithm.name} was left out after {time_limit:g} seconds."
            )
            result = _without(task, start, "time_limit", left_out)
        yield result


def compared_algorithms(
    names: Sequence[str | Algorithm] | None,
    model: object = None,
    asked: Mapping[str, Any] | None = None,
) -> tuple[str | Algorithm, ...]:
    """Return the algorithms that a comparison walks with, none of them twice.

    None takes all, without the one that needs a language model unless there is one, and
    without `auto` where it has no use for the settings.
    """
    if "algorithm" in (asked or {}):
        raise InputError(
            "A comparison has algorithms=[...], a list, and no algorithm: leave it out "
            "for all of them, or walk with one by traverse()."
        )
    if names is None:
        every = DETERMINISTIC if model is None else tuple(ALGORITHMS)
        return tuple(name for name in every if not refused(name, **(asked or {})))
    if not names or len(set(names)) < len(names):
        shown = ", ".join(map(str, names))[:200] or "none"
        raise InputError(f"The algorithms are {shown!r}: name each once.")
    return tuple(names)


def overlaps(results: Sequence[TraverseResult]) -> tuple[Overlap, ...]:
    """Return how far each two of the walks found the same sentences."""
    found = [
        (result.walk.algorithm, {s.id for s in result.walk.sentences})
        for result in results
        if not result.error
    ]
    return tuple(
        Overlap(left=a, right=b, shared=len(of_a & of_b), either=len(of_a | of_b))
        for (a, of_a), (b, of_b) in combinations(found, 2)
    )


def _without(
    task: Task, start: Ground, reason: StopReason, error: object
) -> TraverseResult:
    """Return the result of an algorithm that did not end, or did not begin."""
    trail = Trail(steps=(), stop_reason=reason)
    return TraverseResult(
        walk=task.walk(start.corpus.name, trail, 0.0), error=str(error)
    )


async def _awalk(
    connection: AsyncConnection,
    start: Ground,
    task: Task,
    *,
    record: bool = True,
    trace: bool = False,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
) -> TraverseResult:
    opened = await open_areader(connection, start.corpus, task, settings=settings)
    model = task.language_model(model, settings)
    begin = time.perf_counter()
    with walk_span(task, start, opened.name):
        trail = await arun(opened.reader, task.walking(start.query), model)
    seconds = time.perf_counter() - begin
    name = None if model is None else model.name
    walk = task.walk(start.corpus.name, trail, seconds, reader=opened.name, model=name)
    stored, warning = None, ""
    if record:
        recording = Recording(
            walk=walk,
            query=start.query,
            corpus_version=start.corpus.version,
            ranking=trail.ranking,
            trace=trace,
        )
        stored, warning = await arecord(connection, recording)
    return TraverseResult(
        walk=walk,
        traversal_id=stored,
        warning=warning,
        ranking=trail.ranking,
        query=start.query,
    )


def _parted(
    asked: TraverseSettings,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what `_awalk`, `ground` and `check_question` take, by name."""
    rest: dict[str, Any] = {"settings": None, **asked}
    own = {n: rest.pop(n) for n in ("record", "trace", "model") if n in rest}
    at = {"settings": rest.pop("settings")}
    place = {name: rest.pop(name, None) for name in ("embedder", "corpus")}
    return own | at, place | at, rest
