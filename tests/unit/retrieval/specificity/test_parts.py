"""The small parts: cache, experiment, metrics, ranking, boosts, languages."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError, MissingExtraError
from knowtrail.retrieval.specificity.class_scores import (
    CachedScores,
    ClassFilter,
    RankedChunk,
    SpecificityRanker,
)
from knowtrail.retrieval.specificity.conversation import (
    Conversation,
    PastTurn,
    context_boosts,
)
from knowtrail.retrieval.specificity.monitoring import (
    SpecificityExperiment,
    SpecificityMetrics,
)
from knowtrail.retrieval.specificity.vocabulary import language_of


def test_dspy_is_needed_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module is imported without it; a client of it is not made."""
    name = "knowtrail.retrieval.specificity.dspy_classifier"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "dspy", None)

    module = import_module(name)

    with pytest.raises(MissingExtraError, match="`dspy`"):
        module.ollama_lm("some", url="http://127.0.0.1:1")


class Source:
    """Scores that count how often they are asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def get_all_scores(self, context_template: str = "general") -> dict[str, float]:
        """Return one class, whose score is how often was asked."""
        self.asked += 1
        return {"Archive": float(self.asked)}


class Clock:
    """A clock that stands still."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_scores_are_kept_until_they_are_old() -> None:
    """Just before the limit they are fresh, at the limit they are not."""
    source, clock = Source(), Clock()
    cached = CachedScores(source, seconds=300, clock=clock)

    cached.get_all_scores("a")
    clock.now = 299.9
    fresh = cached.get_all_scores("a")
    clock.now = 300.0
    new = cached.get_all_scores("a")

    assert (fresh, new, source.asked) == ({"Archive": 1.0}, {"Archive": 2.0}, 2)


def test_invalidate_forgets_one_or_all() -> None:
    """Value and age go together, others stay."""
    source = Source()
    cached = CachedScores(source, clock=Clock())
    cached.get_all_scores("a")
    cached.get_all_scores("b")

    cached.invalidate("a")
    after_one = cached.get_all_scores("a"), cached.get_all_scores("b")
    cached.invalidate()
    after_all = cached.get_all_scores("a"), cached.get_all_scores("b")

    assert after_one == ({"Archive": 3.0}, {"Archive": 2.0})
    assert after_all == ({"Archive": 4.0}, {"Archive": 5.0})


def test_who_changes_scores_changes_a_copy() -> None:
    """What is kept is nobody's to change."""
    cached = CachedScores(Source(), clock=Clock())
    cached.get_all_scores("a")["Archive"] = 9.0

    assert cached.get_all_scores("a") == {"Archive": 1.0}


def test_scores_from_before_an_invalidate_are_not_kept() -> None:
    """A slow answer does not come back after it was invalidated."""
    begun, go = threading.Event(), threading.Event()

    class Slow(Source):
        def get_all_scores(self, context_template: str = "general") -> dict[str, float]:
            found = super().get_all_scores(context_template)
            if self.asked == 1:
                begun.set()
                go.wait(10)
            return found

    cached = CachedScores(Slow())
    thread = threading.Thread(target=cached.get_all_scores, args=("a",))
    thread.start()
    begun.wait(10)
    cached.invalidate("a")
    go.set()
    thread.join(10)

    assert cached.get_all_scores("a") == {"Archive": 2.0}


def test_a_session_stays_in_its_group_in_another_process() -> None:
    """The group does not hang on the hash seed of the process."""
    code = (
        "from knowtrail.retrieval.specificity import SpecificityExperiment as E\n"
        "import sys\n"
        "sys.stdout.write(''.join(E().group(f's{n}')[0] for n in range(64)))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    own = "".join(SpecificityExperiment().group(f"s{n}")[0] for n in range(64))
    assert other == own
    assert set(own) == {"c", "t"}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_groups_have_their_shares(share: float) -> None:
    """Of 4,000 sessions about that many are treated, at the ends exactly."""
    experiment = SpecificityExperiment(traffic_split=share)

    treated = sum(experiment.is_treatment(f"session {n}") for n in range(4_000))

    assert abs(treated / 4_000 - share) < (0.03 if 0 < share < 1 else 1e-9)


@given(session=st.text())
def test_who_is_treated_stays_treated_at_a_larger_share(session: str) -> None:
    """Raising the share moves sessions one way only."""
    small = SpecificityExperiment(traffic_split=0.3).is_treatment(session)
    large = SpecificityExperiment(traffic_split=0.6).is_treatment(session)

    assert large or not small


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True])
def test_a_share_is_from_0_to_1(share: float) -> None:
    """Nothing else is a share."""
    with pytest.raises(InputError, match="traffic_split"):
        SpecificityExperiment(traffic_split=share)


def test_boosts_grow_smaller_with_age() -> None:
    """Five turns count, the last most, and a class once."""
    turns = [
        PastTurn(question="", resolved="", classes=(f"C{n}", "All")) for n in range(7)
    ]

    boosts = context_boosts(Conversation(turns=tuple(turns)))

    assert boosts == pytest.approx({
        "All": 0.1,
        "C6": 0.1,
        "C5": 0.085,
        "C4": 0.07,
        "C3": 0.055,
        "C2": 0.04,
    })


def test_boosts_come_before_the_filter_and_end_at_one() -> None:
    """A boosted class passes, and no score goes over 1."""
    scores = {"Archive": 0.95, "Library": 0.45, "Museum": 0.2}
    boosts = {"Archive": 0.1, "Library": 0.05, "Nobody": 0.1}

    found = ClassFilter(0.5).filter(scores, boosts)

    assert found.kept == {"Archive": 1.0, "Library": 0.5}
    assert found.dropped == {"Museum": 0.2}


def chunk(name: str, similarity: float, class_name: str = "Archive") -> RankedChunk:
    """Return a chunk that was found."""
    return RankedChunk(
        chunk_id=name,
        document_id="d",
        title="t",
        class_name=class_name,
        text="x",
        similarity=similarity,
    )


def test_chunks_are_ranked_by_likeness_and_class() -> None:
    """0.7 of one and 0.3 of the other; an unknown class has 0.5."""
    found = SpecificityRanker().rank(
        [chunk("a", 0.8, "Museum"), chunk("b", 0.7), chunk("c", 0.7, "")],
        {"Archive": 1.0, "Museum": 0.1},
    )

    assert [c.chunk_id for c in found] == ["b", "c", "a"]
    assert [round(c.score, 3) for c in found] == [0.79, 0.64, 0.59]


def test_ties_are_broken_by_id() -> None:
    """The order never hangs on the order of the search."""
    found = SpecificityRanker().rank([chunk("b", 0.5), chunk("a", 0.5)], {})

    assert [c.chunk_id for c in found] == ["a", "b"]


@pytest.mark.parametrize("weights", [(-1.0, 1.0), (0.0, 0.0), (float("nan"), 1.0)])
def test_weights_are_numbers_from_0(weights: tuple[float, float]) -> None:
    """Without a weight nothing could be ranked."""
    with pytest.raises(InputError, match="weights"):
        SpecificityRanker(similarity=weights[0], specificity=weights[1])


def test_metrics_count_what_they_are_named_for() -> None:
    """The four metrics have the names of the specification."""
    from prometheus_client import generate_latest

    metrics = SpecificityMetrics()
    metrics.classified("none")
    scores = {f"Class{n}": 0.9 if n < 10 else 0.1 for n in range(39)}
    metrics.filtered("archive_search", ClassFilter(0.5).filter(scores))

    text = generate_latest(metrics.registry).decode()
    assert 'specificity_template_classifications_total{template_id="none"} 1.0' in text
    assert "specificity_classes_before_filter_sum 39.0" in text
    assert "specificity_classes_after_filter_sum 10.0" in text
    assert 'specificity_threshold{template_id="archive_search"} 0.5' in text


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Which archives are in Amsterdam?", "en"),
        ("Welke archieven zijn er in Amsterdam?", "nl"),
        ("Which archieven are in Utrecht?", "en"),
        ("museum Utrecht", "nl"),
    ],
)
def test_language_is_told_by_small_words(question: str, language: str) -> None:
    """Where the words say nothing, the language is the one before."""
    assert language_of(question, "nl") == language
