"""Judged queries looked at closely: who fought whom, and how consistent judges are.

A *triad* is three documents whose three pairs all have a winner. It is transitive
where one of them beats both others and one loses to both; a judge that answers by an
order of its own has only such ones, one that throws a coin three in four. For sparse
pairs there are few triads, and their number stands beside the share.

Kendall's W compares the rankings of the judges, each fitted to its own answers alone:
1 is one order, 0 none in common. Krippendorff's alpha compares their answers, battle by
battle. Both pass over what a judge did not answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.eval.fields.coefficients import krippendorff_alpha
from knowtrail.eval.zelo.fit import Battles, Fit, fit_battles, preferences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowtrail.eval.zelo.judgements import Judgement
    from knowtrail.eval.zelo.scored_pairs import JudgedQuery
    from knowtrail.retrieval.rerank.datasets import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Triads:
    """Triads of documents."""

    count: int
    transitive: int

    @property
    def share(self) -> float:
        """Return the share that is transitive; NaN without triads."""
        return self.transitive / self.count if self.count else nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How judges agree: by columns, battles both decided and share of the same side."""

    pairs: dict[tuple[int, int], tuple[int, float]]
    alpha: float | None
    unanimous: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """What one judge did; `left` is the share of decided answers for the left one."""

    name: str
    answered: int
    missing: int
    ties: int
    left: float
    triads: Triads


def triads(battles: Battles) -> Triads:
    """Count the triads of battles; a pair's winner has most of all its answers."""
    share = preferences(battles.score)
    judged = ~np.isnan(share)
    lead = np.zeros((battles.n, battles.n))
    np.add.at(lead, (battles.right[judged], battles.left[judged]), share[judged] - 0.5)
    lead -= lead.T.copy()
    beats = (lead > 1e-12).astype(np.float64)
    decided = beats + beats.T
    count = round(float(((decided @ decided) * decided).sum()) / 6)
    cyclic = round(float(((beats @ beats) * beats.T).sum()) / 3)
    return Triads(count=count, transitive=count - cyclic)


def kendall_w(battles: Battles) -> float:
    """Return the concordance of the rankings that each judge alone would give, 0 to 1.

    It is over the documents that every judge has judged, of the largest connected
    component where there are several; NaN where there is nothing to rank.
    """
    fits = [fit_battles(_only(battles, n)) for n in range(battles.score.shape[1])]
    if not fits:
        return nan
    groups = np.array([fit.component for fit in fits]).T
    together = groups[(groups >= 0).all(axis=1)]
    if not len(together):
        return nan
    kinds, sizes = np.unique(together, axis=0, return_counts=True)
    common = (groups == kinds[sizes.argmax()]).all(axis=1)
    return rankings_concordance(np.array([fit.scores[common] for fit in fits]))


def rankings_concordance(scores: NDArray[np.float64]) -> float:
    """Return Kendall's W of judges x items scores, with his correction for ties.

    Source: Kendall and Babington Smith, Annals of Mathematical Statistics 10 (1939).
    """
    from scipy.stats import rankdata

    judges, items = scores.shape
    if judges < 2 or items < 2:
        return nan
    # Scores come from an iteration: what differs by less than its last step is equal.
    ranks = rankdata(np.round(scores, 6), axis=1)
    squares = float(((ranks.sum(axis=0) - judges * (items + 1) / 2) ** 2).sum())
    counts = [np.unique(row, return_counts=True)[1] for row in ranks]
    tied = float(sum((count**3 - count).sum() for count in counts))
    most = judges**2 * (items**3 - items) - judges * tied
    return 12 * squares / most if most > 0 else nan


def agreement(battles: Battles) -> Agreement:
    """Return how the judges agree, battle by battle."""
    side = np.sign(battles.score)
    decided = ~np.isnan(side) & (side != 0)
    pairs = {}
    for one, two in combinations(range(side.shape[1]), 2):
        both = decided[:, one] & decided[:, two]
        same = side[both, one] == side[both, two]
        pairs[one, two] = len(same), float(same.mean()) if len(same) else nan
    several = decided.sum(axis=1) >= 2
    right = ((side == 1) & decided).sum(axis=1)[several]
    left = ((side == -1) & decided).sum(axis=1)[several]
    rows = [[None if np.isnan(v) else float(v) for v in row] for row in battles.score]
    alpha = krippendorff_alpha(rows, level="interval")
    unanimous = float(((right == 0) | (left == 0)).mean()) if len(right) else np.nan
    return Agreement(pairs=pairs, alpha=alpha, unanimous=float(unanimous))


def judge_figures(battles: Battles) -> list[JudgeFigures]:
    """Return the figures of each judge, in the order of the columns."""
    found = []
    for column in range(battles.score.shape[1]):
        score = battles.score[:, column]
        decided = score[~np.isnan(score) & (score != 0)]
        found.append(
            JudgeFigures(
                name=battles.judges[column] if battles.judges else str(column),
                answered=int((~np.isnan(score)).sum()),
                missing=int(np.isnan(score).sum()),
                ties=int((score == 0).sum()),
                left=float((decided < 0).mean()) if len(decided) else nan,
                triads=triads(_only(battles, column)),
            )
        )
    return found


def _only(battles: Battles, column: int) -> Battles:
    return replace(battles, score=battles.score[:, column : column + 1], judges=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fought:
    """The battle of two documents as one of them sees it; its share may be NaN."""

    other: int
    share: float
    said: tuple[Judgement, ...]

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
    """A judged query; `first` is the share of answers for what each judge saw first."""

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
        found: dict[str, list[Judgement]] = {}
        for one in self.judged.judgements:
            if own not in {one.left_id, one.right_id} or one.left_id == one.right_id:
                continue
            sign = 1 if own == one.right_id else -1
            other = one.left_id if own == one.right_id else one.right_id
            score = None if one.score is None else sign * one.score + 0.0
            reasoning = one.reasoning if one.error is None else one.error
            found.setdefault(other, []).append(
                replace(one, score=score, reasoning=reasoning)
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


def _share(said: list[Judgement]) -> float:
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
