"""What is judged, what a judge says of it, and the file in which that is kept.

A score lies in [-1, 1]: below 0 the left document (A) answers the query better, above
0 the right one (B). A judge is shown left and right in a random order, drawn for each
judgement and judge from its content; what it says is turned back at once, and its
reasoning, which speaks of the order it saw, then begins with `(SWAPPED)`.

A working folder has one append-only file with one judgement a line: what it holds is
not asked for again. Judgements are known by what was judged, by whom and from which
texts, so a file may hold those of several runs, and changed texts are judged anew.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from knowtrail.eval.zelo.fit import Battles
from knowtrail.graph.files.journal import LineJournal
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.eval.zelo.pairs import Pair, PairSettings
    from knowtrail.retrieval.rerank.datasets import Document, Query

SWAPPED = "(SWAPPED)\n"
"""What the reasoning begins with where the judge saw the documents the other way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matchup:
    """Two documents of a query in the order in which they are shown.

    `repetition` is how often the query had the pair before, in this order; `candidates`
    are all its documents that are judged.
    """

    query: Query
    left: Document
    right: Document
    repetition: int = 0
    candidates: tuple[Document, ...] = ()

    def turned(self) -> Matchup:
        """Return the same with left and right changed."""
        return replace(self, left=self.right, right=self.left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a judge said: -1, the first is better, to 1; None is a failure."""

    score: float | None = None
    reasoning: str = ""
    error: str | None = None
    came: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What tokens cost, in USD a million."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of tokens in USD."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


class Judge(Protocol):
    """Says which of two documents answers a query better.

    One that may only be asked so fast has its limits as `pace`, a
    `knowtrail.eval.zelo.judges.Pace`; an estimate looks at them.

    Attributes:
        name: What results call it; different in an ensemble.
        fingerprint: What its answers depend on, such as model and prompt: a judgement
            of a judge with the same fingerprint is not asked for again.
        concurrency: How many judgements may be under way.
        price: What its tokens cost; None where nobody knows.
    """

    name: str
    fingerprint: str
    concurrency: int
    price: Price | None

    async def judge(self, matchup: Matchup) -> Answer:
        """Judge documents in the order in which they are given.

        Failures of one judgement are told in the answer.

        Raises:
            KnowtrailError: If no judgement can be had, such as without a valid key.
        """
        ...

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return the tokens of prompt and answer that a judgement is likely to take."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Answer):
    """One judge on one pair, turned back to the order of the pair; costs are in USD."""

    query_id: str
    left_id: str
    right_id: str
    judge: str
    repetition: int = 0
    swapped: bool = False
    cost: float = 0.0


def swaps(matchup: Matchup, judge: str, *, seed: int = 0) -> bool:
    """Return whether a judge is shown the pair the other way round: one time in two."""
    pair = (matchup.query.id, matchup.left.id, matchup.right.id, matchup.repetition)
    key = content_key("zelo-swap", seed, *pair, judge)
    return bool(int(key, 16) % 2)


def usable_score(score: object) -> tuple[float | None, str | None]:
    """Return a score, or why it is none: one is a number in [-1, 1]."""
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if is_number and -1 <= score <= 1:  # type: ignore[operator]
        return float(score), None  # type: ignore[arg-type]
    return None, f"The score {score!r:.40} is no number in [-1, 1]."


def judgement_of(
    matchup: Matchup, judge: Judge, answer: Answer, *, swapped: bool
) -> Judgement:
    """Return an answer as a judgement on the pair; one out of range is a failure."""
    score, error = answer.score, answer.error
    if score is not None:
        score, error = usable_score(score)
    elif error is None:
        error = "The judge gave no score."
    if swapped and score is not None:
        score = 0.0 - score
    price = judge.price or Price()
    said = {
        **asdict(answer),
        "score": score,
        "error": error,
        "reasoning": SWAPPED + answer.reasoning if swapped else answer.reasoning,
    }
    return Judgement(
        **said,
        query_id=matchup.query.id,
        left_id=matchup.left.id,
        right_id=matchup.right.id,
        repetition=matchup.repetition,
        judge=judge.name,
        swapped=swapped,
        cost=price.of(answer.prompt_tokens, answer.completion_tokens),
    )


def battles_of(
    ids: Sequence[str],
    judgements: Iterable[Judgement],
    judges: Sequence[str],
    *,
    failed: float = math.nan,
) -> Battles:
    """Return the judgements of one query as battles to be fitted."""
    number = {name: i for i, name in enumerate(ids)}
    column = {name: i for i, name in enumerate(judges)}
    rows: dict[tuple[int, int, int], list[float]] = {}
    for one in judgements:
        place = (number[one.left_id], number[one.right_id], one.repetition)
        row = rows.setdefault(place, [math.nan] * len(judges))
        row[column[one.judge]] = failed if one.score is None else one.score
    pairs = sorted(rows)
    return Battles.of(
        len(ids),
        np.array([left for left, _, _ in pairs], dtype=np.intp),
        np.array([right for _, right, _ in pairs], dtype=np.intp),
        np.array([rows[p] for p in pairs], dtype=np.float64).reshape(-1, len(judges)),
        judges=tuple(judges),
    )


JOURNAL = "judgements.jsonl"
SYNC_SECONDS = 1.0

_FIELDS = tuple(field.name for field in fields(Judgement))


def judgement_key(matchup: Matchup, judge: Judge) -> str:
    """Return what a judgement is known by."""
    left, right = matchup.left, matchup.right
    return content_key(
        "zelo-judgement",
        judge.name,
        judge.fingerprint,
        matchup.query.id,
        matchup.query.query,
        *(left.id, left.content, _canonical(left.metadata)),
        *(right.id, right.content, _canonical(right.metadata)),
        matchup.repetition,
    )


def _canonical(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, default=str)


class Journal(LineJournal):
    """The judgements of a working folder; 200 bytes each are in memory."""

    def __init__(self, folder: Path, *, to_read: bool = False) -> None:
        super().__init__(folder / JOURNAL, to_read=to_read, sync_seconds=SYNC_SECONDS)
        self.folder = folder
        self.spent = 0.0
        self._places: dict[str, int] = {}
        self._failed: dict[str, bool] = {}
        self._rounds: dict[str, list[list[tuple[int, int]]]] = {}
        self.read(self._take)

    def get(self, key: str) -> Judgement | None:
        """Return a judgement, None where there is none."""
        place = self._places.get(key)
        return None if place is None else _judgement(self.row_at(place))

    def settled(self, key: str, *, retry_failed: bool = False) -> bool:
        """Return whether a judgement need not be asked for: it came, and was of use."""
        if key not in self._places:
            return False
        came = self._failed.get(key)
        return came is None or (came and not retry_failed)

    def add(self, key: str, judgement: Judgement) -> None:
        """Append a judgement."""
        self._note(key, self.append({"key": key, **asdict(judgement)}), judgement)

    def _note(self, key: str, place: int, judgement: Judgement) -> None:
        self._places[key] = place
        self.spent += judgement.cost
        self._failed.pop(key, None)
        if judgement.score is None:
            self._failed[key] = judgement.came

    def rounds(self, plan: str) -> list[list[tuple[int, int]]]:
        """Return the rounds of pairs that were chosen for a query before."""
        return self._rounds.get(plan, [])

    def add_round(self, plan: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Append a round of pairs, as later answers would choose another."""
        chosen = list(pairs)
        self.append({"plan": plan, "pairs": chosen})
        self._rounds.setdefault(plan, []).append(chosen)

    def _take(self, place: int, row: Any) -> None:
        if "plan" in row:
            pairs = [(int(i), int(j)) for i, j in row["pairs"]]
            self._rounds.setdefault(row["plan"], []).append(pairs)
        else:
            self._note(row["key"], place, _judgement(row))


def _judgement(row: dict[str, Any]) -> Judgement:
    return Judgement(**{name: row[name] for name in row if name in _FIELDS})


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
