"""Questions in two languages: what they name, what is doubtful, what is answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.specificity.conversation import Conversation
from knowtrail.retrieval.specificity.execution import Execution, first_of
from knowtrail.retrieval.specificity.quantities import amounts, identifiers, years
from knowtrail.retrieval.specificity.query_templates import load_templates
from knowtrail.retrieval.specificity.slots import SlotExtractor
from tests.cases import each

if TYPE_CHECKING:
    from knowtrail.retrieval.specificity.mention import MentionFinder
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Archives in Amsterdam", {"institution_type": "A", "city": "Amsterdam"}),
        ("welke musea in utrecht", {"institution_type": "M", "city": "Utrecht"}),
        ("musea in de provincie Utrecht", {"institution_type": "M", "region": "NL-UT"}),
        ("museums in North Holland", {"institution_type": "M", "region": "NL-NH"}),
        ("museums in NL-NH", {"institution_type": "M", "region": "NL-NH"}),
        ("musea in Gelderland", {"institution_type": "M", "region": "NL-GE"}),
        ("Dutch museums", {"institution_type": "M", "country": "NL"}),
        ("Libraries in Duitsland", {"institution_type": "L", "country": "DE"}),
        ("archives in The Hague", {"institution_type": "A", "city": "Den Haag"}),
        ("musea in 's-Gravenhage", {"institution_type": "M", "city": "Den Haag"}),
        ("Libraries in Munich", {"institution_type": "L", "city": "M\u00fcnchen"}),
        ("musuems in Amsterdm", {"institution_type": "M", "city": "Amsterdam"}),
        ("Where is het Scheldemuseum?", {"name": "Scheldemuseum"}),
        ("thames records office", {"name": "Thames Record Office"}),
        ("What is nl-asdwk?", {"identifier": "NL-AsdWK"}),
        ("founded before 1900", {"date": "1900"}),
        ("over \u20ac2,5 miljoen", {"budget": "2500000"}),
        (
            "botanische tuinen in Belgi\u00eb",
            {"institution_type": "B", "country": "BE"},
        ),
    ],
)
def test_questions_name_things(
    finder: MentionFinder, question: str, named: dict[str, str]
) -> None:
    """Names of the graph, of ISO 3166 and of types are found in both languages."""
    found = {m.kind: m.value for m in finder.find(question)}

    assert found == named


@pytest.mark.parametrize(
    "question",
    ["Is there a bath in it?", "What is the best deal?", "Read the rye story"],
)
def test_common_words_are_no_places(finder: MentionFinder, question: str) -> None:
    """Towns called as a word is are not found in every sentence."""
    assert not [m for m in finder.find(question) if m.kind in {"city", "region"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("more than 2 million euro", "2000000"),
        ("meer dan \u20ac2,5 miljoen", "2500000"),
        ("budget boven 500.000", "500000"),
        ("budget over 1,000,000 a year", "1000000"),
        ("begroting van 1.250.000,50 euro", "1250000.5"),
        ("anderhalf miljoen", "1500000"),
        ("EUR 100k", "100000"),
    ],
)
def test_amounts_are_read_in_both_ways_of_writing(text: str, value: str) -> None:
    """Points and commas mean what they mean in either language."""
    assert [found.value for found in amounts(text)] == [value]


@each(
    ("text", "value", "relation"),
    [
        ("founded before 1800", "1800", "before"),
        ("opgericht v\u00f3\u00f3r 1900", "1900", "before"),
        ("na 1950", "1950", "after"),
        ("sinds 1900", "1900", "since"),
        ("in the 19th century", "1801/1900", "in"),
        ("in de negentiende eeuw", "1801/1900", "in"),
        ("between 1800 and 1850", "1800/1850", "in"),
        ("in the 1950s", "1950/1959", "in"),
    ],
)
def test_years_are_read_with_their_relation(
    text: str, value: str, relation: str
) -> None:
    """Centuries, decades and ranges are first and last years."""
    assert [(f.value, f.relation) for f in years(text)] == [(value, relation)]


def test_words_with_hyphens_are_no_identifiers() -> None:
    """An ISIL begins with a country in capitals and is more than a word."""
    assert [f.value for f in identifiers("ISIL-code x-ray NL-AsdWK")] == ["NL-AsdWK"]


ANSWERS = [
    ("Which archives are in Amsterdam?", "1 archive in Amsterdam:\n- Stadsarchief"),
    ("Welke musea zijn er in Amsterdam?", "2 musea in Amsterdam:\n- Grachtenmuseum"),
    (
        "How many museums are in the Netherlands?",
        "There are 4 museums in the Netherlands.",
    ),
    ("Hoeveel archieven zijn er in Belgi\u00eb?", "Er is 1 archief in Belgi\u00eb."),
    (
        "Hoeveel instellingen zijn er van elk type?",
        "Instellingen per type, 13 in totaal:\n- musea: 6",
    ),
    ("Which institutions are in Utrecht?", "3 institutions in Utrecht:\n- Bibliotheek"),
    (
        "Waar ligt het Scheldemuseum?",
        "Scheldemuseum\n- Stad: Antwerpen\n- Type: museum",
    ),
    ("What is BE-AntAS?", "Archief Scheldemond\n- Type: archive"),
    ("What is NL-Xyz12?", "I know of no institution NL-Xyz12."),
    (
        "Wat is het oudste museum in Amsterdam?",
        "Oudste museum in Amsterdam:\n- Grachten",
    ),
    (
        "Which archives were founded before 1800?",
        "1 archive founded before 1800:\n- Domarchief Utrecht (1799)",
    ),
    ("Which archives in Amsterdam have more than 2 million euro?", "1 archive in Amst"),
    (
        "Compare museums in Amsterdam and Antwerp",
        "- Amsterdam: 2 museums\n- Antwerpen: 1",
    ),
    ("Which archives are in North Holland?", "1 archive in Noord-Holland:"),
    ("Which archieven are in Utrecht?", "1 archive in Utrecht:\n- Domarchief"),
    ("Which museums are in Narnia?", "I know of no museums in Narnia."),
]


@pytest.mark.parametrize(("question", "answer"), ANSWERS)
def test_questions_are_answered(
    pipeline: TemplatePipeline, question: str, answer: str
) -> None:
    """One question of each kind, in either language or both."""
    result = pipeline.forward(question)

    assert result.status == "answered"
    assert result.answer.startswith(answer)


@pytest.mark.parametrize(
    ("question", "status", "said"),
    [
        ("What is the weather in Amsterdam?", "irrelevant", "heritage institutions"),
        ("Hoe laat is het?", "irrelevant", "erfgoedinstellingen"),
        ("Tell me a joke", "irrelevant", "heritage institutions"),
        ("Who is the director of the Scheldemuseum?", "none", "no query"),
        ("Waarom zijn archieven belangrijk?", "none", "geen zoekopdracht"),
        ("Tell me about the Rijksmuseum of Nowhere", "none", "no query"),
        ("and in Utrecht?", "lost", "whole question"),
        ("en musea?", "lost", "hele vraag"),
        ("Wanneer is het opgericht?", "lost", "hele vraag"),
        ("Compare museums in Amsterdam", "missing", "two or more cities"),
        (
            "Which institutions have a budget over \u00a32 million?",
            "missing",
            "in euro",
        ),
    ],
)
def test_other_questions_are_asked_back_or_refused(
    pipeline: TemplatePipeline, question: str, status: str, said: str
) -> None:
    """Nothing is run, and the answer says why in the question's language."""
    result = pipeline.forward(question)

    assert (result.status, result.execution) == (status, None)
    assert said in result.answer


def test_ambiguous_names_are_told_with_candidates(finder: MentionFinder) -> None:
    """Where several institutions may be meant, none is taken."""
    template = load_templates()["find_institution_by_name"]

    found = SlotExtractor(finder).extract(
        "Tell me about Middelburg museum", template, ()
    )

    assert found.values == {}
    assert [d.kind for d in found.doubts] == ["ambiguous"]
    assert len(found.doubts[0].candidates) == 2


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Which archives are in Amsterdm?", "I read 'Amsterdm' as Amsterdam."),
        (
            "Welke musea zijn er in Middelburg?",
            "Er is meer dan \u00e9\u00e9n Middelburg",
        ),
        ("Which archives are in Utrecht?", "'Utrecht' is also a region Utrecht"),
        ("Which museums are in Narnia?", "I do not know 'Narnia'."),
    ],
)
def test_what_is_doubtful_is_told(
    pipeline: TemplatePipeline, question: str, note: str
) -> None:
    """A guess is never silent."""
    assert any(note in said for said in pipeline.forward(question).notes)


AMSTERDAM = "Which archives are in Amsterdam?"
OLDEST = "Wat is het oudste museum in Amsterdam?"
COMPARED = "Compare museums in Amsterdam and Utrecht"
FOLLOW_UPS = [
    (AMSTERDAM, "and in Utrecht?", "Which archives are in Utrecht?"),
    (AMSTERDAM, "en musea?", "Welke musea zijn er in Amsterdam?"),
    (AMSTERDAM, "how many of those?", "How many archives are in Amsterdam?"),
    (AMSTERDAM, "And in Belgium?", "Which archives are in Belgium?"),
    (AMSTERDAM, "which is the oldest?", "What is the oldest archive in Amsterdam?"),
    (OLDEST, "en in Utrecht?", "Wat is het oudste museum in Utrecht?"),
    (OLDEST, "is het opgericht?", "is Grachtenmuseum De Spiegel opgericht?"),
    (
        COMPARED,
        "and libraries?",
        COMPARED.replace("museums", "the number of libraries"),
    ),
    ("What is NL-AsdWK?", "en BE-AntAS?", "Welke instelling heeft de code BE-AntAS?"),
]


@pytest.mark.parametrize(("first", "second", "resolved"), FOLLOW_UPS)
def test_follow_ups_stand_alone(
    pipeline: TemplatePipeline, first: str, second: str, resolved: str
) -> None:
    """What is left out is taken from the question before."""
    before = pipeline.forward(first).conversation

    result = pipeline.forward(second, conversation=before)

    assert result.resolution.question == resolved
    assert result.status == "answered"


def test_a_whole_question_takes_nothing_from_before(pipeline: TemplatePipeline) -> None:
    """The conversation changes only questions that need it."""
    before = pipeline.forward("Which archives are in Amsterdam?").conversation

    result = pipeline.forward(
        "En welke musea zijn er in Antwerpen?", conversation=before
    )

    assert not result.resolution.follow_up


def test_classes_of_the_conversation_are_boosted(pipeline: TemplatePipeline) -> None:
    """The boost of a class of the turn before is in the scores that are filtered."""
    before = pipeline.forward("Which archives are in Amsterdam?").conversation

    result = pipeline.forward("Which museums are in Amsterdam?", conversation=before)

    assert result.boosts["Archive"] == 0.1
    assert result.classes is not None
    assert result.classes.dropped["Archive"] == 0.25


def test_every_step_is_returned(pipeline: TemplatePipeline) -> None:
    """Nothing of the way is hidden."""
    result = pipeline.forward("Which archives are in Amsterdam?", conversation=None)

    assert result.context_template == "archive_search"
    assert result.classification is not None
    assert 0.5 <= result.classification.confidence <= 1
    assert result.slots.values == {"institution_type": "A", "city": "Amsterdam"}
    assert result.instantiated is not None
    assert result.relevance is not None
    assert "Archive" in result.relevant_classes
    assert set(result.seconds) >= {"understand", "slots", "query"}
    assert len(result.conversation.turns) == 1


async def test_asynchronous_answers_are_the_same(pipeline: TemplatePipeline) -> None:
    """They take the same arguments, and several can be asked at once."""
    questions = ("Which archives are in Amsterdam?", "How many museums are in Utrecht?")

    found = await asyncio.gather(
        *(pipeline.aforward(each, language="en", k=3) for each in questions)
    )

    expected = [pipeline.forward(each, language="en", k=3) for each in questions]
    assert [each.as_dict() for each in found] == [e.as_dict() for e in expected]
    with pytest.raises(InputError, match="k is 0"):
        await pipeline.aforward(questions[0], k=0)


@pytest.mark.parametrize(
    ("question", "given", "said"),
    [
        ("", {}, "empty"),
        ("x" * 2_001, {}, "2001 characters"),
        ("Archives?", {"language": "fr"}, "'fr'"),
        ("Archives?", {"k": 0}, "k is 0"),
        ("Archives?", {"conversation": "c"}, "nothing is stored"),
    ],
)
def test_bad_arguments_are_refused(
    pipeline: TemplatePipeline, question: str, given: dict[str, str], said: str
) -> None:
    """The message says which argument."""
    with pytest.raises(InputError, match=said):
        pipeline.forward(question, **given)  # type: ignore[arg-type]


def test_a_conversation_without_a_name_is_kept_by_the_caller() -> None:
    """A conversation is a value: adding a turn leaves the old one as it was."""
    empty = Conversation()

    assert empty.turns == ()
    assert empty.last is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Which museums were founded between 1850 and 1900?", "and in Utrecht?"),
        ("Welke musea zijn opgericht tussen 1850 en 1900?", "en in Utrecht?"),
    ],
)
def test_follow_up_keeps_both_ends_of_a_range(
    pipeline: TemplatePipeline, first: str, second: str
) -> None:
    """Of years between two others the second is not lost."""
    before = pipeline.forward(first)

    found = pipeline.forward(second, conversation=before.conversation)

    assert found.slots.values["date"] == "1850/1900"
    assert found.slots.values["city"] == "Utrecht"


@pytest.mark.parametrize(
    "question",
    [
        "Which archives are in Amsterdam and Utrecht?",
        "Which archives are in Amsterdam or Utrecht?",
        "archieven in Amsterdam of Utrecht",
        "Are there archives in Amsterdam or in Utrecht?",
    ],
)
def test_two_places_are_both_listed(pipeline: TemplatePipeline, question: str) -> None:
    """One query a place, and the answer says of each institution where it is."""
    found = pipeline.forward(question)

    assert found.slots.values["city"] == ("Amsterdam", "Utrecht")
    assert "- Stadsarchief Waterkant (Amsterdam)" in found.answer
    assert "- Domarchief Utrecht (Utrecht)" in found.answer
    assert not any("left out" in note for note in found.notes)


def test_place_of_another_kind_is_never_left_out_silently(
    pipeline: TemplatePipeline,
) -> None:
    """A query for towns says which country it did not look at."""
    found = pipeline.forward("Which archives are in Amsterdam or Belgium?")

    assert found.slots.values["city"] == "Amsterdam"
    assert (
        "I left out 'Belgium' and answered for Amsterdam alone: please ask for each."
        in found.notes
    )


@pytest.mark.parametrize(
    "question",
    [
        "How many archives are in Amsterdam or Utrecht?",
        "Hoeveel archieven zijn er in Amsterdam en Utrecht?",
    ],
)
def test_two_places_are_both_counted(pipeline: TemplatePipeline, question: str) -> None:
    """Each has its own number."""
    found = pipeline.forward(question)

    assert found.execution is not None
    assert found.execution.rows == (("Amsterdam", 1), ("Utrecht", 1))
    assert "- Amsterdam: 1 " in found.answer


@pytest.mark.parametrize("joined", ["Amsterdam or Utrecht?", "Amsterdam, or Utrecht?"])
def test_places_beside_a_type_are_compared(
    pipeline: TemplatePipeline, joined: str
) -> None:
    """Without a word such as `in`, an `or` asks which has more."""
    found = pipeline.understand(f"Which has more archives, {joined}")

    assert found.template_id == "compare_locations"


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Which archives are in Utrecht, Netherlands?", ["city"]),
        ("Welke archieven zijn er in Utrecht (Nederland)?", ["city"]),
        ("Which archives are in Utrecht, Germany?", []),
        ("Archives in Utrecht, Germany and Belgium", ["city", "country", "country"]),
        ("Compare archives in Amsterdam and the Netherlands", ["city", "country"]),
    ],
)
def test_country_behind_its_city_is_no_second_place(
    finder: MentionFinder, question: str, kinds: list[str]
) -> None:
    """It says where the city is, or that another is meant; a list stays two places."""
    places = [m.kind for m in finder.find(question) if m.kind in {"city", "country"}]

    assert places == kinds


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        (
            "Which archives have a budget above 2 million euro?",
            "and 500,000?",
            "500000",
        ),
    ],
)
def test_a_bare_number_goes_on_about_budgets(
    pipeline: TemplatePipeline, first: str, then: str, value: str
) -> None:
    """After a question for budgets, a number is one."""
    said = pipeline.forward(first).conversation

    result = pipeline.forward(then, conversation=said)

    assert result.slots.values["budget"] == value


def test_nothing_is_counted_of_one_institution(pipeline: TemplatePipeline) -> None:
    """What it is said to have is asked for; how many of anything is not known."""
    counted = pipeline.understand("How many books does the Scheldemuseum have?")
    asked = pipeline.understand("Hoeveel budget heeft het Scheldemuseum?")

    assert counted.template_id == "none"
    assert asked.template_id == "find_institution_by_name"


def test_a_misread_type_is_told_in_words(pipeline: TemplatePipeline) -> None:
    """The letter of a type means nothing to people."""
    result = pipeline.forward("Which musems are in Amsterdam?")

    assert "I read 'musems' as museums." in result.notes


def test_a_far_fetched_place_is_not_asked_about(pipeline: TemplatePipeline) -> None:
    """Nothing that is stored is like Atlantis."""
    result = pipeline.forward("Which archives are in Atlantis?")

    assert result.notes == ("I do not know 'Atlantis'.",)


@each(
    ("text", "values"),
    [
        ("founded before 1900 and after 1850", {("1851/1899", "in")}),
        ("after 1850 in Amsterdam and before 1900", {("1851/1899", "in")}),
        ("sinds 1850 maar niet na 1900", {("1850/1900", "in")}),
        ("before 1850 or after 1900", {("1850", "before"), ("1900", "after")}),
        ("before 1850 and after 1900", {("1850", "before"), ("1900", "after")}),
        ("in 1950 and later", {("1950", "since")}),
        ("not founded before 1900", {("1900", "since")}),
        ("niet opgericht na 1900", {("1900", "until")}),
    ],
)
def test_two_years_are_one_range(text: str, values: set[tuple[str, str]]) -> None:
    """Where both are ends of it; `and after 1850` says nothing of the year before."""
    assert {(found.value, found.relation) for found in years(text)} == values


@pytest.mark.parametrize(
    "text", ["above 1e999 euro", "above 1e6 euro", "above 1e+99 euro", "1e-99 euro"]
)
def test_the_end_of_a_number_is_no_amount(text: str) -> None:
    """A number with an exponent is not understood, and not half of it either."""
    assert amounts(text) == []


@pytest.mark.parametrize(
    "question",
    [
        "Which archives are not in Amsterdam?",
        "Welke archieven zijn niet in Amsterdam?",
        "Which museums are there outside Utrecht?",
    ],
)
def test_all_but_one_place_is_not_answered_with_that_place(
    pipeline: TemplatePipeline, question: str
) -> None:
    """No query leaves something out."""
    result = pipeline.forward(question)

    assert (result.status, result.execution) == ("none", None)


def test_a_second_amount_is_told_and_not_mixed_with_the_first(
    pipeline: TemplatePipeline,
) -> None:
    """The comparison is that of the amount that is taken."""
    result = pipeline.forward(
        "Which museums have a budget above 2 million euro and below 5 million euro?"
    )

    assert result.slots.values["budget"] == "2000000"
    assert result.slots.values["comparison"] == "above"
    assert result.notes == (
        "I left out '5 million euro' and answered for 2 million euro alone: please "
        "ask for each.",
    )


def test_a_second_year_is_told(pipeline: TemplatePipeline) -> None:
    """Two years that are no range are asked for one by one."""
    result = pipeline.forward("Which museums were founded in 1921 or 1975?")

    assert result.notes == (
        "I left out '1975' and answered for 1921 alone: please ask for each.",
    )


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (
            "What are the 3 oldest libraries and archives?",
            ("Isarbibliothek", "Domarchief Utrecht", "Archief Scheldemond"),
        ),
        (
            "What are the 2 newest archives and museums?",
            ("Museum Fort Blauwkapel", "Museum Het Zilveren Anker"),
        ),
    ],
)
def test_the_oldest_of_several_types_are_so_among_all(
    pipeline: TemplatePipeline, question: str, names: tuple[str, ...]
) -> None:
    """Not those of the first type alone."""
    result = pipeline.forward(question)

    assert result.execution is not None
    assert result.execution.column("name") == names


def test_budgets_of_several_types_are_in_one_order(pipeline: TemplatePipeline) -> None:
    """The largest comes first, whatever its type."""
    result = pipeline.forward(
        "Which archives and museums have a budget above 3 million euro?"
    )

    assert result.execution is not None
    assert result.execution.column("amount") == (12_000_000, 4_000_000, 3_200_000)


def test_places_are_compared_by_one_type(pipeline: TemplatePipeline) -> None:
    """A second one is left out, and that is told."""
    result = pipeline.forward("Compare museums and archives in Amsterdam and Utrecht")

    assert result.status == "answered"
    assert "- Amsterdam: 2 museums" in result.answer
    assert any("I left out 'archives'" in note for note in result.notes)


def test_two_of_three_places_have_the_most(pipeline: TemplatePipeline) -> None:
    """They do not all have as many."""
    result = pipeline.forward(
        "Which has more archives, Amsterdam, Utrecht or M\u00fcnchen?"
    )

    assert "Amsterdam and Utrecht have the most." in result.answer


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("een begroting tussen de 1 en 2 miljoen euro", ["1000000", "2000000"]),
        ("a budget of 2-3 million", ["2000000", "3000000"]),
        ("between 100,000 and 200,000 euro", ["100000", "200000"]),
        ("founded in 1900 with a budget of 2 million euro", ["2000000"]),
    ],
)
def test_two_numbers_share_a_scale(text: str, values: list[str]) -> None:
    """`1 and 2 million` does not begin at one euro."""
    assert [found.value for found in amounts(text)] == values


def test_a_country_that_is_left_out_has_its_name(pipeline: TemplatePipeline) -> None:
    """Nobody need know its code."""
    result = pipeline.forward(
        "Which museums in Antwerp or Germany have a budget above 1 million euro?"
    )

    assert result.notes[-1] == (
        "I left out 'Germany' and answered for Antwerpen alone: please ask for each."
    )


def test_budgets_of_two_countries_are_in_one_order(pipeline: TemplatePipeline) -> None:
    """The largest comes first, wherever it is."""
    result = pipeline.forward(
        "Which institutions in Germany or Belgium have a budget above 1 million euro?"
    )

    assert result.answer == (
        "2 institutions in Germany or Belgium with a budget above 1,000,000 euro:\n"
        "- Isarbibliothek (Germany, 5,400,000 euro)\n"
        "- Scheldemuseum (Belgium, 3,200,000 euro)"
    )


@pytest.mark.parametrize(
    ("question", "budget", "names"),
    [
        (
            "Which archives have a budget between 2 and 3 million euro?",
            "2000000/3000000",
            ("Stadsarchief Waterkant",),
        ),
        (
            "Welke musea hebben een budget van 300.000 tot 800.000 euro?",
            "300000/800000",
            ("Grachtenmuseum De Spiegel", "Museum Fort Blauwkapel"),
        ),
        (
            "Which museums have a budget of exactly 750,000 euro?",
            "750000",
            ("Grachtenmuseum De Spiegel",),
        ),
    ],
)
def test_a_range_of_budgets_has_two_ends(
    pipeline: TemplatePipeline, question: str, budget: str, names: tuple[str, ...]
) -> None:
    """And `exactly` is not `above`."""
    result = pipeline.forward(question)

    assert result.slots.values["budget"] == budget
    assert result.execution is not None
    assert result.execution.column("name") == names


def test_a_range_of_budgets_is_kept_by_a_follow_up(pipeline: TemplatePipeline) -> None:
    """With both of its ends."""
    first = "Which museums have a budget between 500,000 and 4 million euro?"
    said = pipeline.forward(first).conversation

    result = pipeline.forward("en in Belgi\u00eb?", conversation=said)

    assert result.slots.values["budget"] == "500000/4000000"
    assert result.answer.splitlines()[1:] == ["- Scheldemuseum (3.200.000 euro)"]


@pytest.mark.parametrize(
    "question",
    [
        "Which museums are within 10 km of Amsterdam?",
        "How many institutions are there per country?",
        "Which city has the most museums?",
        "What is the median budget of museums?",
    ],
)
def test_what_no_query_gives_is_not_answered_with_another(
    pipeline: TemplatePipeline, question: str
) -> None:
    """A word that changes the question is not dropped."""
    result = pipeline.forward(question)

    assert (result.status, result.execution) == ("none", None)


def test_the_oldest_are_all_that_share_their_date() -> None:
    """One of several is not the oldest."""
    rows = (("x", "1700"), ("y", "1700"), ("z", "1800"))
    found = Execution(columns=("name", "founded"), rows=rows, seconds=0.0)

    assert first_of(found, 1).rows == rows[:2]
    assert first_of(found, 2).rows == rows[:2]


@pytest.mark.parametrize(
    ("then", "status", "said"),
    [
        ("What about Rotterdam?", "answered", "There are 0 museums in Rotterdam."),
        ("en 1.5e3?", "lost", "Ik begrijp '5e3' hier niet"),
        ("en Rotterdam?", "answered", "Er zijn 0 musea in Rotterdam."),
        ("and the ones with a shop?", "lost", "I do not understand 'shop' here"),
        ("alleen die met een winkel", "lost", "Ik begrijp 'winkel' hier"),
    ],
)
def test_a_follow_up_that_is_not_understood_repeats_no_answer(
    pipeline: TemplatePipeline, then: str, status: str, said: str
) -> None:
    """A name that nobody knows is a place; other words are told."""
    before = pipeline.forward("How many museums are in Amsterdam?").conversation

    result = pipeline.forward(then, conversation=before)

    assert result.status == status
    assert result.answer.startswith(said)
    assert status == "lost" or any("Rotterdam" in note for note in result.notes)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("All institutions in Utrecht but the museums", "Leeszolder, Domarchief"),
        ("All museums in the Netherlands but those in Utrecht", "Spiegel, Zee, Anker"),
        ("All museums in the Netherlands but those founded after 1970", "Spiegel, Zee"),
        ("Everything but museums in Utrecht", "Leeszolder, Domarchief"),
        ("All archives but also museums in Utrecht", "Domarchief, Blauwkapel"),
        ("Not the archives but the museums in Utrecht", "Blauwkapel"),
        ("Museums founded at the earliest in 1950", "Anker, Blauwkapel"),
        ("Museums founded in 1950 at the earliest", "Anker, Blauwkapel"),
        ("Musea op zijn vroegst in 1950 opgericht", "Anker, Blauwkapel"),
        ("Museums founded in 1900 at the latest", "Zee"),
        ("Which museums have above average budgets?", ""),
        ("Which museums have a higher than average budget?", ""),
        ("Welke musea hebben een budget boven het gemiddelde?", ""),
    ],
)
def test_what_is_left_out_and_from_when(
    pipeline: TemplatePipeline, question: str, names: str
) -> None:
    """`All but`, a bound behind its year, and a comparison that no query makes."""
    result = pipeline.forward(question)

    wanted = names.split(", ") if names else []
    assert result.answer.count("\n- ") == len(wanted)
    assert [name for name in wanted if name not in result.answer] == []
