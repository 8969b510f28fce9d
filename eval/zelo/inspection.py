"""One judged query looked at closely: who fought whom, and how sure it all is."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.eval.zelo.consistency import agreement, judge_figures, kendall_w, triads
from knowtrail.eval.zelo.fit import fit_battles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowtrail.eval.zelo.battles import Battles
    from knowtrail.eval.zelo.consistency import (
        Agreement,
        JudgeFigures,
        Triads,
    )
    from knowtrail.eval.zelo.fit import Fit
    from knowtrail.eval.zelo.scored_pairs import JudgedQuery
    from knowtrail.retrieval.rerank.datasets import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one judge said of a battle.

    Attributes:
        score: From -1, for the other document, to 1, for this one; None if it failed.
        reasoning: Why, or why it failed.
    """

    judge: str
    score: float | None
    reasoning: str
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fought:
    """The battle of two documents as one of them sees it.

    Attributes:
        share: What this document got of the votes, from 0 to 1; NaN without answers.
        said: What each judge said; each time, where the pair came again.
    """

    other: int
    share: float
    said: tuple[Said, ...]

    @property
    def verdict(self) -> str:
        """Return how it ended, in words."""
        if isnan(self.share):
            return "not judged against"
        if self.share == 0.5:
            return "even with"
        return "won over" if self.share > 0.5 else "lost to"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inspection:
    """A judged query with its figures.

    Attributes:
        scores: Score of each document, NaN for one without.
        triads: Triads by the majority of the judges.
        first: For each judge the share of its decided answers that prefer the document
            it was shown first; NaN if there is none.
    """

    judged: JudgedQuery
    battles: Battles
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    fit: Fit
    triads: Triads
    kendall_w: float
    agreement: Agreement
    judges: tuple[JudgeFigures, ...]
    first: tuple[float, ...]

    def order(self) -> list[int]:
        """Return the documents by falling score, those without one last."""
        rank = np.where(np.isnan(self.scores), -np.inf, self.scores)
        return [int(place) for place in np.argsort(-rank, kind="stable")]

    def document(self, number: int) -> Document:
        """Return a document by its number."""
        return self.judged.documents[number]

    def fought(self, number: int) -> list[Fought]:
        """Return the battles of a document, the best opponents first."""
        own = self.judged.documents[number].id
        place = {one.id: at for at, one in enumerate(self.judged.documents)}
        found: dict[str, list[Said]] = {}
        for one in self.judged.judgements:
            if own not in {one.left_id, one.right_id} or one.left_id == one.right_id:
                continue
            sign = 1 if own == one.right_id else -1
            other = one.left_id if own == one.right_id else one.right_id
            found.setdefault(other, []).append(
                Said(
                    judge=one.judge,
                    score=None if one.score is None else sign * one.score + 0.0,
                    reasoning=one.reasoning if one.error is None else one.error,
                    first=(own == one.left_id) != one.swapped,
                )
            )
        rank = {at: n for n, at in enumerate(self.order())}
        battles = [
            Fought(other=place[other], share=_share(said), said=tuple(said))
            for other, said in found.items()
        ]
        return sorted(battles, key=lambda battle: rank[battle.other])

    def shares(self) -> NDArray[np.float64]:
        """Return what each document got of the votes against each other, 0 to 1."""
        n = self.battles.n
        total, count = np.zeros((n, n)), np.zeros((n, n))
        left, right = self.battles.left, self.battles.right
        given = ~np.isnan(self.battles.score)
        votes = np.sign(np.where(given, self.battles.score, 0)).sum(axis=1)
        for row, column, sign in ((right, left, 1), (left, right, -1)):
            np.add.at(total, (row, column), (given.sum(axis=1) + sign * votes) / 2)
            np.add.at(count, (row, column), given.sum(axis=1))
        mean = np.full((n, n), np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        np.fill_diagonal(mean, np.nan)
        return mean


def _share(said: list[Said]) -> float:
    """Return what a document got of the votes."""
    votes = [(np.sign(one.score) + 1) / 2 for one in said if one.score is not None]
    return float(np.mean(votes)) if votes else nan


def inspected(judged: JudgedQuery) -> Inspection:
    """Return the figures of a judged query."""
    battles = judged.battles()
    fit = fit_battles(battles)
    scores, errors = fit.scores, fit.standard_errors
    if judged.fitted is not None:
        pairs = [judged.fitted.get(one.id, (nan, nan)) for one in judged.documents]
        scores, errors = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return Inspection(
        judged=judged,
        battles=battles,
        scores=scores,
        errors=errors,
        fit=fit,
        triads=triads(battles),
        kendall_w=kendall_w(battles),
        agreement=agreement(battles),
        judges=tuple(judge_figures(battles)),
        first=tuple(_first(judged, judge) for judge in judged.judges),
    )


def _first(judged: JudgedQuery, judge: str) -> float:
    """Return how often a judge prefers what it was shown first."""
    votes = [
        (one.score < 0) != one.swapped
        for one in judged.judgements
        if one.judge == judge and one.score
    ]
    return sum(votes) / len(votes) if votes else nan
