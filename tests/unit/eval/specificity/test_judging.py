"""Judging what a pipeline made of a question, and the numbers of many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.specificity.judging import (
    Answer,
    Key,
    Outcome,
    Question,
    ask_questions,
    custodians_of,
    judge,
    key_of,
    memory_pipeline,
    reciprocal_ranks,
)
from knowtrail.eval.specificity.measures import class_scores, labels_key, measure
from knowtrail.ingest.custodians import Custodian, bundled_custodians
from knowtrail.retrieval.specificity.class_scores import FilteredClasses, RankedChunk
from knowtrail.retrieval.specificity.classifier import Classification
from knowtrail.retrieval.specificity.conversation import Conversation
from knowtrail.retrieval.specificity.execution import Execution
from knowtrail.retrieval.specificity.resolver import Resolution
from knowtrail.retrieval.specificity.slots import Doubt, Slots
from knowtrail.retrieval.specificity.template_pipeline import PipelineResult
from tests.cases import each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

KEY = Key(
    ghcids={"urn:1": "G1", "urn:2": "G2", "urn:3": "G3"},
    institutions={
        code: Custodian(key=code, name=name, source="test", class_name=class_name)
        for code, name, class_name in (
            ("G1", "Rope Archive", "Archive"),
            ("G2", "Sail Museum", "Museum"),
            ("G3", "Tar Archive", "Archive"),
        )
    },
    regions={"NL-NH": "Noord-Holland"},
)
NAMES = {iri: KEY.institutions[code].name for iri, code in KEY.ghcids.items()}


def _question(kind: str = "list", **given: Any) -> Question:
    answer = {k: given.pop(k) for k in ("ids", "value", "values") if k in given}
    plain: dict[str, Any] = {
        "id": "1",
        "language": "en",
        "question": "Which?",
        "template": "list_institutions_by_type_city",
        "slots": {},
        "relation": None,
        "answer": Answer(kind=kind, **answer),  # type: ignore[arg-type]
    }
    return Question(**{**plain, **given})


def _result(
    *rows: tuple[Any, ...],
    columns: tuple[str, ...] = ("custodian",),
    **given: Any,
) -> PipelineResult:
    plain: dict[str, Any] = {
        "question": "Which?",
        "language": "en",
        "status": "answered",
        "answer": "\n".join(NAMES.get(str(row[0]), "") for row in rows),
        "resolution": Resolution(question="Which?"),
        "slots": Slots(),
        "conversation": Conversation(),
        "execution": Execution(columns=columns, rows=rows, seconds=0.0),
        "classification": Classification(
            template_id="list_institutions_by_type_city",
            confidence=0.9,
            scores=(),
            by="test",
        ),
    }
    return PipelineResult(**{**plain, **given})


def _right(question: Question, result: PipelineResult) -> bool:
    return judge(question, result, KEY, seconds=0.1).answer_right


def test_list_is_compared_as_a_set() -> None:
    """Order and repetition do not matter; one too many or too few does."""
    question = _question(ids=frozenset({"G1", "G2"}))

    assert _right(question, _result(("urn:2",), ("urn:1",), ("urn:2",)))
    assert not _right(question, _result(("urn:1",)))
    assert not _right(question, _result(("urn:1",), ("urn:2",), ("urn:3",)))


def test_a_control_session_says_nothing_about_the_filter() -> None:
    """Its classes were not filtered, so that no number of the filter counts it."""
    classes = FilteredClasses(
        kept={"Archive": 0.9}, dropped={"Museum": 0.1}, threshold=0.5
    )
    question = _question(slots={"institution_type": "A"}, ids=frozenset({"G1"}))

    treated = judge(question, _result(classes=classes), KEY, seconds=0.1)
    control = judge(
        question, _result(classes=classes, group="control"), KEY, seconds=0.1
    )

    assert class_scores(treated)
    assert class_scores(control) == {}


def test_a_superlative_is_no_list_in_its_order() -> None:
    """Who asks for the oldest is not answered by all of them, the oldest first."""
    question = _question(ids=frozenset({"G2"}), relation="oldest")

    assert _right(question, _result(("urn:2",)))
    assert not _right(question, _result(("urn:2",), ("urn:1",)))
    assert not _right(question, _result(("urn:1",)))


def test_right_rows_with_wrong_words_are_no_right_answer() -> None:
    """What a model makes of the rows is judged by what it says."""
    question = _question(ids=frozenset({"G1"}))
    rows = _result(("urn:1",))

    assert _right(question, replace(rows, answer="It is the Rope Archive.", model="m"))
    assert not _right(question, replace(rows, answer="I do not know.", model="m"))
    assert not _right(
        question, replace(rows, answer="Rope Archive and Sail Museum.", model="m")
    )


def test_cut_rows_are_no_answer() -> None:
    """A list that was cut off is not the list."""
    result = _result(("urn:1",))
    cut = replace(result, execution=replace(result.execution, cut=True))  # type: ignore[type-var]

    assert not _right(_question(ids=frozenset({"G1"})), cut)


def test_count_is_compared_as_a_number() -> None:
    """Exactly one row with the number, which the answer says."""
    question, columns = _question("count", value=3), ("count",)

    assert _right(question, _result((3,), columns=columns, answer="There are 3."))
    assert not _right(question, _result((3,), columns=columns, answer="There are 4."))
    assert not _right(question, _result((2,), columns=columns, answer="There are 3."))
    assert not _right(question, _result(columns=columns, answer="There are 3."))


def test_a_number_of_what_is_listed_is_a_count() -> None:
    """Where rows list what is counted, the total is the number."""
    question = _question("count", value=2)
    result = _result(("urn:1",), answer="There are 2:", counted=True, total=2)

    assert _right(question, result)
    assert not _right(question, replace(result, counted=False))


def test_comparison_needs_every_place() -> None:
    """Places and numbers have to be the same, in rows and words."""
    question = _question("comparison", values={"Gent": 2, "Brussel": 0})
    columns, both = ("city", "count"), "- Gent: 2\n- Brussel: 0"
    rows = (("Gent", 2), ("Brussel", 0))

    assert _right(question, _result(*rows, columns=columns, answer=both))
    assert not _right(question, _result(*rows[:1], columns=columns, answer=both))
    assert not _right(question, _result(*rows, columns=columns, answer="- Gent: 2"))


@each(
    ("kind", "status", "right"),
    [
        ("refusal", "irrelevant", True),
        ("refusal", "none", False),
        ("none", "irrelevant", False),
        ("none", "lost", False),
        ("none", "none", True),
        ("ask", "lost", True),
        ("ask", "irrelevant", False),
        ("list", "irrelevant", False),
    ],
)
def test_a_refusal_is_an_ending_only_where_the_label_says_so(
    kind: str, status: str, right: bool
) -> None:
    """What is refused and should not be ended wrongly, and had no template."""
    question = _question(kind, template="none")
    result = _result(execution=None, status=status, classification=None)

    outcome = judge(question, result, KEY, seconds=0.1)

    assert outcome.template_right
    assert outcome.ended_right is right
    assert outcome.answer_right is right


def test_no_template_found_for_what_is_to_be_refused_is_right() -> None:
    """What came to `none` by classification has the template of its label."""
    none = Classification(template_id="none", confidence=0.9, scores=(), by="test")
    result = _result(execution=None, status="none", classification=none)

    outcome = judge(_question("refusal", template="none"), result, KEY, seconds=0.1)

    assert (outcome.template_right, outcome.answer_right) == (True, False)


@pytest.mark.parametrize(
    ("kind", "status", "right"),
    [
        ("refusal", "irrelevant", True),
        ("refusal", "none", False),
        ("ask", "missing", True),
        ("ask", "lost", True),
        ("ask", "answered", False),
        ("none", "none", True),
        ("none", "irrelevant", False),
    ],
)
def test_refusals_are_judged_by_how_it_ended(
    kind: str, status: str, right: bool
) -> None:
    """Nothing is run for these, and each ends in its own way."""
    found = _right(_question(kind), _result(execution=None, status=status))

    assert found is right


def test_running_a_query_is_wrong_where_none_fits() -> None:
    """A question without a template must not be answered by one."""
    assert not _right(_question("none"), _result(("urn:1",)))


def test_unknown_place_may_be_named_as_such() -> None:
    """Where nothing exists, saying that the place is unknown is right."""
    doubt = Doubt(kind="unknown", slot="city", text="Atlantis")
    result = _result(execution=None, status="missing", slots=Slots(doubts=(doubt,)))

    assert _right(_question(ids=frozenset()), result)
    assert _right(_question("count", value=0), result)
    assert not _right(_question(ids=frozenset({"G1"})), result)


def test_slots_are_compared_by_value() -> None:
    """Regions by name or code, amounts as numbers, names without regard to case."""
    question = _question(
        slots={
            "region": "NL-NH",
            "budget": 5,
            "name": "The  House",
            "city": ("A", "B"),
            "date": ("1950", "1960"),
        }
    )
    values = {
        "region": "Noord-Holland",
        "budget": "5.00",
        "name": "the house",
        "city": ("A", "C"),
        "date": "1950/1960",
        "order": "oldest",
    }

    found = judge(question, _result(slots=Slots(values=values)), KEY, seconds=0.1)

    assert (found.slots_right, found.slots_found, found.slots_wanted) == (5, 6, 6)


def test_expected_classes_are_of_type_or_institutions() -> None:
    """The type asked for tells the class, else those of the answer do."""
    typed = _question(slots={"institution_type": "L"}, ids=frozenset({"G1"}))
    listed = _question(ids=frozenset({"G1", "G2", "G3"}))

    assert judge(typed, _result(), KEY, seconds=0).expected_classes == {"Library"}
    assert judge(listed, _result(), KEY, seconds=0).expected_classes == {
        "Archive",
        "Museum",
    }


def _outcome(**given: Any) -> Outcome:
    plain: dict[str, Any] = {
        "question": _question(),
        "template": "none",
        "template_right": True,
        "ended_right": True,
        "slots_right": 1,
        "slots_found": 1,
        "slots_wanted": 1,
        "answer_right": True,
        "status": "answered",
        "answer": "",
        "expected_classes": frozenset({"Archive"}),
        "kept_classes": ("Archive", "Museum"),
        "all_classes": 10,
        "seconds": 0.5,
    }
    return Outcome(**{**plain, **given})


def test_class_scores_are_those_of_the_definition() -> None:
    """Precision, recall, reduction and time of one question."""
    assert class_scores(_outcome()) == {
        "precision": 0.5,
        "recall": 1.0,
        "class_reduction": 0.8,
        "response_time": 0.5,
    }


def test_class_scores_of_nothing_kept_are_zero() -> None:
    """A filter that keeps nothing is neither precise nor complete."""
    found = class_scores(_outcome(kept_classes=()))

    assert (found["precision"], found["recall"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    "given", [{"expected_classes": frozenset()}, {"all_classes": 0}]
)
def test_class_scores_need_classes(given: dict[str, Any]) -> None:
    """Without a relevant class, or a filter, there is nothing to measure."""
    assert class_scores(_outcome(**given)) == {}


def test_measures_are_means_with_intervals() -> None:
    """Accuracy is a mean, slot F1 a ratio of sums, the filter a mean where it ran."""
    outcomes = [
        _outcome(),
        _outcome(template_right=False, answer_right=False, slots_right=0),
        _outcome(expected_classes=frozenset(), slots_found=0, slots_right=0),
        _outcome(),
    ]

    found = measure(outcomes, resamples=200)

    assert found["template_accuracy"].value == 0.75
    assert found["answer_accuracy"].value == 0.75
    assert found["slot_f1"].value == pytest.approx(2 * 2 / (3 + 4))
    assert (found["precision"].value, found["precision"].n) == (0.5, 3)
    assert found["template_accuracy"].low <= 0.75 <= found["template_accuracy"].high


def test_measures_leave_out_a_filter_that_never_ran() -> None:
    """Without classes only the answers are measured."""
    found = measure([_outcome(all_classes=0)], resamples=10)

    assert list(found) == [
        "template_accuracy",
        "slot_f1",
        "ending_accuracy",
        "answer_accuracy",
        "right_ending",
        "wrong_without_notice",
    ]


@pytest.fixture(scope="module")
def pipeline() -> TemplatePipeline:
    """Return a pipeline over the bundled institutions, without an embedder."""
    return memory_pipeline(custodians_of(bundled_custodians()))


def test_conversation_goes_on_with_what_was_made(pipeline: TemplatePipeline) -> None:
    """A follow-up is asked after the turns before it, and not after others."""
    key = key_of(custodians_of(bundled_custodians()))
    slots = {"institution_type": "M"}
    asked = [
        _question(
            question="Which museums are in Berlin?",
            slots={**slots, "city": "Berlin"},
            ids=frozenset({"DE-BE-BER-M-MVZ", "DE-BE-BER-M-MVR"}),
            conversation="c",
        ),
        _question(
            question="And in London?",
            slots={**slots, "city": "London"},
            ids=frozenset({"GB-LND-LON-M-MMU"}),
            conversation="c",
            turn=2,
        ),
        _question("ask", question="And in Utrecht?", template="none"),
    ]
    ticks = iter(range(100))

    outcomes = ask_questions(pipeline, asked, key, clock=lambda: float(next(ticks)))

    assert [outcome.answer_right for outcome in outcomes] == [True, True, True]
    assert [outcome.seconds for outcome in outcomes] == [1.0, 1.0, 1.0]


class _Chunks:
    """Finds the same chunks for every question, those of classes alone."""

    found = (
        ("urn:2", "Museum", 0.99),
        ("urn:3", "Archive", 0.85),
        ("urn:2", "Museum", 0.62),
        ("urn:1", "Archive", 0.6),
    )

    def search(
        self, question: str, classes: Sequence[str] | None, *, k: int = 10
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks."""
        return tuple(
            RankedChunk(
                chunk_id=f"{question} {n}",
                document_id=document,
                title="",
                class_name=name,
                text="",
                similarity=similarity,
            )
            for n, (document, name, similarity) in enumerate(self.found)
            if classes is None or name in classes
        )[:k]


CLASSES = FilteredClasses(kept={"Archive": 0.9}, dropped={"Museum": 0.1}, threshold=0.5)


def test_first_right_chunk_is_ranked_three_ways(pipeline: TemplatePipeline) -> None:
    """Without museums it is second; at 0.69, one is before it, at 0.723; else two."""
    searching = replace(pipeline, search=_Chunks())
    asked = _question(ids=frozenset({"G1"}))
    result = _result(classes=CLASSES, context_template="archive_search")

    found = reciprocal_ranks(searching, asked, result, KEY)
    lost = _question(ids=frozenset({"G9"}))

    assert found == {"filtered": 1 / 2, "ranked": 1 / 3, "nearest": 1 / 4}
    assert judge(asked, result, KEY, seconds=0.1).filtered
    assert set(reciprocal_ranks(searching, lost, result, KEY).values()) == {0.0}
    assert reciprocal_ranks(pipeline, asked, result, KEY) == {}
    assert reciprocal_ranks(searching, _question(), result, KEY) == {}


def test_what_a_filter_gains_is_told_where_it_is_used_and_elsewhere() -> None:
    """Gains are means of differences; the mean rank is that of what is done."""
    first = {"filtered": 1.0, "ranked": 0.5, "nearest": 0.25}
    second = {"filtered": 0.25, "ranked": 0.5, "nearest": 0.5}
    outcomes = [
        *[_outcome(ranks=first, filtered=True)] * 3,
        _outcome(ranks=second),
        _outcome(),
    ]

    found = measure(outcomes, resamples=200)

    assert {name: (one.value, one.n) for name, one in found.items()}.items() >= {
        "mrr": (0.875, 4),
        "mrr_filtered": (0.8125, 4),
        "mrr_ranked": (0.5, 4),
        "mrr_nearest": (0.3125, 4),
        "filter_gain": (0.3125, 4),
        "filter_gain_used": (0.5, 3),
        "filter_gain_unused": (-0.25, 1),
        "rank_gain": (0.1875, 4),
    }.items()
    assert found["filter_gain_used"].low < 0 < found["filter_gain_used"].high


def test_filter_of_a_result_is_counted() -> None:
    """All classes are those kept and those dropped."""
    classes = FilteredClasses(
        kept={"Archive": 0.9}, dropped={"Museum": 0.1, "Library": 0.2}, threshold=0.5
    )

    found = judge(_question(), _result(classes=classes), KEY, seconds=0.1)

    assert (found.kept_classes, found.all_classes) == (("Archive",), 3)


def test_metrics_of_questions_that_are_all_right_are_not_certain() -> None:
    """Ten of ten are compatible with 69 %; the time is no share and has no such end."""
    found = measure([_outcome()] * 10, resamples=20)

    lowest = 0.025 ** (1 / 10)
    assert found["answer_accuracy"].low == pytest.approx(lowest)
    assert found["template_accuracy"].low == pytest.approx(lowest)
    assert found["answer_accuracy"].high == 1
    assert found["response_time"].low == found["response_time"].high == 0.5


def test_turns_of_a_conversation_are_drawn_together() -> None:
    """Four conversations of ten turns say less than forty questions."""
    turns = [
        _outcome(
            question=replace(_question(), id=f"{talk}-{turn}", conversation=str(talk)),
            answer_right=talk % 2 == 0,
        )
        for talk in range(4)
        for turn in range(10)
    ]
    alone = [
        replace(one, question=replace(one.question, conversation=None)) for one in turns
    ]

    together, apart = (measure(o)["answer_accuracy"] for o in (turns, alone))

    assert together.value == apart.value == 0.5
    assert together.high - together.low > 2 * (apart.high - apart.low)


@each(
    "change",
    [
        {"ids": frozenset({"G1"})},
        {"template": "none"},
        {"slots": {"city": "Gent"}},
        {"relation": "oldest"},
    ],
)
def test_other_labels_have_another_key(change: dict[str, Any]) -> None:
    """Labels make a run another one; what came out, and how fast, does not."""
    key = labels_key([_outcome()])

    assert labels_key([_outcome(question=_question(**change))]) != key
    assert labels_key([_outcome(seconds=9.0, answer_right=False)]) == key
