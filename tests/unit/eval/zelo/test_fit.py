"""Scores fitted to battles."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import choix
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulated_judges import simulate
from knowtrail.eval.zelo.fit import (
    Battles,
    _fit,
    _Given,
    fit_battles,
    preferences,
)
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from knowtrail.eval.zelo.fit import Fit

ORDER = [3, 0, 5, 1, 4, 2]
"""Documents as a judge without doubts ranks them, the best first."""


def fit_scores(
    n: int,
    left: ArrayLike,
    right: ArrayLike,
    share: ArrayLike,
    *,
    method: str = "maximum_likelihood",
    regularisation: float = 0.1,
) -> Fit:
    """Return the scores of documents from what the right one gets of each battle."""
    ends = [np.asarray(side, dtype=np.intp) for side in (left, right)]
    gets = np.asarray(share, dtype=np.float64)
    given = _Given(n, *ends, gets, np.ones(len(gets)))
    return _fit(given, method, regularisation)


def _dense(order: list[int]) -> Battles:
    """Return every pair, judged by where its documents stand in an order."""
    pairs = list(combinations(range(len(order)), 2))
    score = [1.0 if order.index(b) < order.index(a) else -1.0 for a, b in pairs]
    left, right = zip(*pairs, strict=True)
    return Battles.of(len(order), left, right, score)


@pytest.mark.parametrize("method", ["maximum_likelihood", "published"])
def test_a_judge_without_doubts_is_followed(method: str) -> None:
    """The scores of all pairs give exactly the order of the one judge."""
    fit = fit_battles(_dense(ORDER), method=method)  # type: ignore[arg-type]

    assert np.argsort(-fit.scores).tolist() == ORDER


@given(st.permutations(range(9)))
def test_any_order_of_one_judge_is_followed(order: list[int]) -> None:
    """It holds whatever the order is."""
    fit = fit_battles(_dense(order))

    assert np.argsort(-fit.scores).tolist() == order


def test_exact_shares_give_back_the_scores() -> None:
    """Shares that follow the model are explained without a rest."""
    truth = np.array([1.5, -0.5, 0.25, -1.25])
    left, right = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    share = 1 / (1 + np.exp(truth[left] - truth[right]))

    fit = fit_scores(4, left, right, share, regularisation=0)

    assert fit.scores == pytest.approx(truth, abs=1e-8)


def test_the_fit_is_that_of_another_library() -> None:
    """Choix minimises the same with a penalty of half the weight."""
    generator = np.random.default_rng(2)
    left, right = generator.permutation(30), generator.permutation(30)
    score = np.where(generator.random((30, 3)) < 0.5, -1.0, 1.0)
    wins = [
        (b, a) if s > 0 else (a, b)
        for a, b, row in zip(left, right, score, strict=True)
        for s in row
        if a != b
    ]

    fit = fit_battles(Battles.of(30, left, right, score), regularisation=0.2)

    other = choix.opt_pairwise(30, wins, alpha=0.1)
    judged = fit.component >= 0
    assert fit.scores[judged] == pytest.approx(other[judged], abs=1e-4)


def test_standard_errors_are_those_of_the_inverse_information() -> None:
    """Two documents, k even battles: the half difference has variance 1 / k."""
    left, right = np.zeros(8, int), np.ones(8, int)

    fit = fit_scores(2, left, right, np.full(8, 0.5), regularisation=0)

    assert fit.standard_errors == pytest.approx([8**-0.5, 8**-0.5])


def test_standard_errors_cover_the_truth() -> None:
    """Of true scores about 95 % lie within 1.96 standard errors."""
    generator = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        truth = generator.normal(size=12)
        truth -= truth.mean()
        left, right = np.triu_indices(12, 1)
        left, right = np.tile(left, 4), np.tile(right, 4)
        chance = 1 / (1 + np.exp(truth[left] - truth[right]))
        share = (generator.random(len(left)) < chance).astype(float)
        fit = fit_scores(12, left, right, share, regularisation=1e-6)
        inside.append(np.abs(fit.scores - truth) < 1.96 * fit.standard_errors)

    assert 0.92 < np.mean(inside) < 0.98


def test_more_judges_make_surer() -> None:
    """Three judges that agree count three times."""
    one = fit_battles(Battles.of(3, [0, 1, 2], [1, 2, 0], [[1.0], [-1.0], [1.0]]))
    three = fit_battles(
        Battles.of(3, [0, 1, 2], [1, 2, 0], [[1.0] * 3, [-1.0] * 3, [1.0] * 3])
    )

    assert (three.standard_errors < one.standard_errors).all()


def test_a_document_that_never_lost_stays_finite() -> None:
    """The regulariser holds what wins only, and more of it holds it shorter."""
    loose = fit_scores(2, [0], [1], [1.0], regularisation=0.01)
    tight = fit_scores(2, [0], [1], [1.0], regularisation=1.0)

    assert 0 < tight.scores[1] < loose.scores[1] < 10


def test_without_regularisation_an_unbeaten_document_is_refused() -> None:
    """There is no finite answer, and the message says what to give."""
    with pytest.raises(InputError, match="regularisation"):
        fit_scores(3, [0, 1], [1, 2], [1.0, 0.5], regularisation=0)


def test_a_judge_that_always_ties_makes_all_equal() -> None:
    """Half a vote for each side moves nothing."""
    fit = fit_battles(Battles.of(4, [0, 1, 2, 3], [1, 2, 3, 0], [0.0] * 4))

    assert fit.scores.tolist() == [0.0] * 4
    assert np.isfinite(fit.standard_errors).all()
    assert fit.converged


def test_a_judge_that_always_says_left_makes_all_equal_in_a_cycle() -> None:
    """Each document wins once and loses once."""
    fit = fit_battles(Battles.of(4, [0, 1, 2, 3], [1, 2, 3, 0], [-1.0] * 4))

    assert fit.scores == pytest.approx([0.0] * 4, abs=1e-12)


def test_published_ties_are_votes_for_the_left() -> None:
    """So it was published; the default splits them."""
    score = np.array([[0.0, 1.0, -1.0]])

    assert preferences(score, reading="published") == pytest.approx([1 / 3])
    assert preferences(score, reading="votes") == pytest.approx([1 / 2])
    assert preferences(score, reading="magnitude") == pytest.approx([1 / 2])


def test_magnitudes_count_when_asked() -> None:
    """A slight preference moves scores less than a clear one."""
    slight = Battles.of(2, [0], [1], [0.1])

    plain = fit_battles(slight)
    aware = fit_battles(slight, magnitude=True)

    assert plain.scores[1] > aware.scores[1] > 0


def test_parts_without_battles_between_them_have_scores_of_their_own() -> None:
    """Each has mean 0, and it is told which document is in which."""
    fit = fit_scores(5, [0, 3], [2, 1], [1.0, 1.0])

    assert fit.component.tolist() == [0, 1, 0, 1, -1]
    assert (fit.components, fit.connected) == (2, False)
    assert fit.scores[[0, 2]].sum() == pytest.approx(0, abs=1e-12)
    assert fit.scores[[1, 3]].sum() == pytest.approx(0, abs=1e-12)


def test_an_unjudged_document_has_no_score() -> None:
    """It is not put into the middle, which the published method does."""
    given = 3, [0, 0], [1, 2], [1.0, np.nan]

    fit, published = fit_scores(*given), fit_scores(*given, method="published")

    assert np.isnan(fit.scores[2])
    assert np.isnan(fit.standard_errors[2])
    assert published.scores[2] == pytest.approx(0, abs=1e-6)


def test_missing_answers_count_nowhere() -> None:
    """A judge that failed changes nothing."""
    whole = Battles.of(3, [0, 1, 2], [1, 2, 0], [[1.0], [0.5], [-1.0]])
    holed = Battles.of(
        3, [0, 1, 2, 0], [1, 2, 0, 2],
        [[1.0, np.nan], [np.nan, 0.5], [-1.0, np.nan], [np.nan, np.nan]],
    )  # fmt: skip

    assert fit_battles(holed).scores == pytest.approx(fit_battles(whole).scores)


@pytest.mark.parametrize("method", ["maximum_likelihood", "published"])
def test_no_documents_have_no_scores(method: str) -> None:
    """An empty query is nothing to stumble over."""
    fit = fit_scores(0, [], [], [], method=method)  # type: ignore[arg-type]

    assert fit.scores.tolist() == []
    assert fit.connected


@pytest.mark.parametrize("magnitude", [False, True])
def test_a_judge_that_repeats_itself_tells_nothing_new(magnitude: bool) -> None:
    """Scores and standard errors stay, in whichever order a pair comes again."""
    left, right = [0, 1, 2, 3], [1, 2, 3, 0]
    score = [[0.5, -1.0], [0.8, np.nan], [-0.3, 0.0], [1.0, 1.0]]
    turned = [[-said for said in row] for row in score]

    once = fit_battles(Battles.of(4, left, right, score), magnitude=magnitude)
    often = fit_battles(
        Battles.of(4, left * 2 + right, right * 2 + left, score * 2 + turned),
        magnitude=magnitude,
    )

    assert often.scores == pytest.approx(once.scores)
    assert often.standard_errors == pytest.approx(once.standard_errors)
    assert often.degree.tolist() == [6, 6, 6, 6]


def test_one_document_against_itself_is_not_judged() -> None:
    """It is compared with nothing; the published score is 0."""
    battles = Battles.of(1, [0, 0], [0, 0], [1.0, -1.0])

    assert np.isnan(fit_battles(battles).scores[0])
    assert fit_battles(battles, method="published").scores.tolist() == [0.0]


def test_documents_without_any_battle_are_all_unjudged() -> None:
    """Nothing was answered, so nothing is scored."""
    fit = fit_battles(Battles.of(3, [0, 1], [1, 2], [[np.nan], [np.nan]]))

    assert np.isnan(fit.scores).all()
    assert fit.degree.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("left", "options", "said"),
    [
        ([5], {}, "no document 5"),
        ([0.5], {}, "float64"),
        ([0], {"method": "guess"}, "guess"),
        ([0], {"regularisation": float("nan")}, "nan"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    left: list[int], options: dict[str, Any], said: str
) -> None:
    """The message has the value that is wrong."""
    with pytest.raises(InputError, match=said):
        fit_battles(Battles.of(2, left, [1], [0.5]), **options)


@pytest.mark.parametrize(
    ("score", "said"),
    [([[2.0]], "lie in"), ([[0.5], [0.5]], "one row of scores")],
)
def test_scores_of_judges_are_checked(score: list[list[float]], said: str) -> None:
    """They lie in [-1, 1], and there is a row for each pair."""
    with pytest.raises(InputError, match=said):
        Battles.of(2, [0], [1], score)


def test_judges_have_a_column_each() -> None:
    """Names without scores are a mistake."""
    with pytest.raises(InputError, match="2 judges and 1 columns"):
        Battles.of(2, [0], [1], [0.5], judges=("a", "b"))


@pytest.mark.parametrize("regularisation", [1e-8, 1e-3, 10.0])
def test_any_regularisation_is_followed(regularisation: float) -> None:
    """Of many parts, each ends where the slope of what is minimised is 0."""
    generator = np.random.default_rng(4)
    left = generator.integers(0, 40, 30)
    right = (left + generator.integers(1, 40, 30)) % 40
    share = generator.integers(0, 2, 30).astype(float)

    fit = fit_scores(40, left, right, share, regularisation=regularisation)

    scores = np.nan_to_num(fit.scores)
    chance = 1 / (1 + np.exp(scores[left] - scores[right]))
    slope = np.bincount(right, share - chance, 40) - np.bincount(
        left, share - chance, 40
    )
    assert fit.converged
    assert fit.components > 1
    assert slope == pytest.approx(regularisation * scores, abs=1e-6)


def test_the_published_iteration_may_not_settle() -> None:
    """A document that never lost goes up for ever, and the loss with it."""
    battles = simulate(100, cycles=3, seed=4).sparse(3)

    published, fit = fit_battles(battles, method="published"), fit_battles(battles)

    assert (published.iterations, published.converged) == (1000, False)
    assert fit.converged
