"""Whether judges agree with themselves and with each other.

A *triad* is three documents whose three pairs all have a winner. It is transitive
where one of them beats both others and one loses to both; a judge that answers by an
order of its own has only such ones, one that throws a coin three in four. For sparse
pairs there are few triads, and their number stands beside the share.

Kendall's W compares the rankings of the judges, each fitted to its own answers alone:
1 is one order, 0 none in common. Krippendorff's alpha compares their answers, battle by
battle. Both pass over what a judge did not answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.eval.fields.coefficients import krippendorff_alpha
from knowtrail.eval.zelo.battles import Battles, preferences
from knowtrail.eval.zelo.fit import fit_battles

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    """How two or more judges agree on battles.

    Attributes:
        pairs: For each pair of judges, by their columns: how many battles both decided
            for a side, and in what share of them it was the same.
        alpha: Krippendorff's alpha of all scores as numbers; None if undefined.
        unanimous: Share of the battles decided by two judges or more in which all
            those name the same side; NaN if there is none.
    """

    pairs: dict[tuple[int, int], tuple[int, float]]
    alpha: float | None
    unanimous: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """What one judge did.

    Attributes:
        ties: Answers that were 0.
        left: Share of its decided answers that prefer the left document; NaN if none.
    """

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
    """Return the concordance of the rankings that each judge alone would give.

    It is over the documents that every judge has judged, of the largest connected
    component where there are several; from 0 to 1, NaN where there is nothing to rank.
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
    """Return Kendall's W of judges x items scores, corrected for ties.

    Source: Kendall and Babington Smith, Annals of Mathematical Statistics 10 (1939);
    the correction is that of Kendall, Rank Correlation Methods.
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
    alpha = krippendorff_alpha(
        [
            [None if np.isnan(value) else float(value) for value in row]
            for row in battles.score
        ],
        level="interval",
    )
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
    """Return the battles as one judge answered them."""
    return Battles(
        n=battles.n,
        left=battles.left,
        right=battles.right,
        score=battles.score[:, column : column + 1],
    )
