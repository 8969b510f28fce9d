"""Every word of a question is heeded by its query, or told as left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.quantities import order_spans
from knowtrail.retrieval.specificity.routes import choose_route
from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline
from knowtrail.retrieval.specificity.vocabulary import data_file
from tests.heritage import gazetteer_rows, rdf_custodians

PIPELINE = TemplatePipeline(rdf_custodians(), build_gazetteer(gazetteer_rows()))
LEFT_OUT = [
    ("Which purple museums are in Amsterdam?", ("purple",)),
    ("Which museums near Amsterdam are there?", ("near",)),
    ("Which large museums are in Utrecht?", ("large",)),
    ("Does Amsterdam have more large museums than Utrecht?", ("large",)),
    ("Zijn er meer grote musea in Amsterdam dan in Utrecht?", ("grote",)),
    ("Welke gratis musea zijn er in Amsterdam?", ("gratis",)),
    ("Are there no archives in Amsterdam?", ("no",)),
    ("Which archives were founded in May 1955?", ("May",)),
    ("Which archives were founded on 1955-05-12?", ("05", "12")),
    ("Welke musea zijn er voor 12 mei 1955 opgericht?", ("12", "mei")),
    ("Which archives were founded in the early 1900s?", ("early",)),
    ("Museums founded before about 1950", ("about",)),
    ("Museums in Amsterdam with names that start with G", ("start", "G")),
    ("The oldest and the newest museum in Amsterdam", ("newest",)),
    ("The 2 oldest and the 2 newest museums in Amsterdam", ("2", "newest")),
    ("Which museum in Amsterdam has the longest name?", ("longest",)),
    ("Average budget of museums in Amsterdam compared to Utrecht", ("compared",)),
    ("Which museums in Amsterdam can I visit on Sundays?", ("Sundays",)),
    ("Welke musea in Amsterdam kan ik bezoeken in mei?", ("mei",)),
    ("How many museums opened each year in Amsterdam?", ("each year",)),
    ("Museums in Amsterdam sorted by distance", ("sorted by distance",)),
    ("Which other museums are in Amsterdam?", ("other",)),
    ("Which institutions are both museum and archive in Utrecht?", ("both",)),
    ("When were the museums in Amsterdam founded?", ("When", "founded")),
    ("Who founded the oldest museum in Amsterdam?", ("Who",)),
    ("The oldest museum per city in the Netherlands", ("per city",)),
    ("Which is bigger, Scheldemuseum or Isarbibliothek?", ("bigger",)),
    ("I have a dog. Which museums are in Utrecht?", ("dog",)),
    ("Archives founded in the first half of the 19th century", ("first half",)),
    ("Archieven uit de eerste helft van de 19e eeuw", ("eerste helft",)),
    (
        "Small museums in Amsterdam other than Grachtenmuseum De Spiegel",
        ("Small",),
    ),
    ("The richest museum in each of Amsterdam and Utrecht", ("in each",)),
    ("The oldest and second oldest museum in the Netherlands", ("oldest",)),
    ("Geef me twee musea in Nederland", ("twee",)),
    ("Museums and archives, in Amsterdam and Utrecht respectively", ("respectively",)),
]
HEEDED = [
    "Which museums are in Amsterdam?",
    "Welk museum in Utrecht is het oudste?",
    "Which museums were founded before 1950?",
    "Does Amsterdam have more museums than Utrecht?",
    "Welke musea hebben een budget van meer dan 500.000 euro?",
    "Could you please tell me which archives there are in Utrecht",
    "Zijn er in 't algemeen musea in Amsterdam?",
    "Museums in Amsterdam sorted by founding date",
    "Musea in Amsterdam gesorteerd op begroting",
    "Which museums have a budget of more than 1 million euro a year?",
    "Museums founded around 1900",
    "I am in Utrecht. Which archives are there?",
]


@pytest.mark.parametrize(("question", "words"), LEFT_OUT)
def test_an_answer_begins_with_what_it_leaves_out(
    question: str, words: tuple[str, ...]
) -> None:
    """The words are told before the rows, and such a question is not routed here."""
    result = PIPELINE.forward(question)
    told = "', '".join(words)
    begin = "I did not take" if result.language == "en" else "Met"

    assert (result.status, result.left_out) == ("answered", words)
    assert result.answer.startswith(f"{begin} '{told}'")
    assert result.as_dict()["leftOut"] == list(words)
    assert choose_route(PIPELINE, question).name == "graph"


@pytest.mark.parametrize(("question", "words"), LEFT_OUT)
def test_strict_refuses_instead(question: str, words: tuple[str, ...]) -> None:
    """No query is run."""
    result = PIPELINE.forward(question, strict=True)

    assert (result.status, result.execution) == ("none", None)
    assert "', '".join(words) in result.answer


def test_what_is_left_out_is_told_where_it_asks_back() -> None:
    """The condition is not lost with the answer to that; strictly it is refused."""
    question = "Which museums have free entry?"
    asking = PIPELINE.forward(question)
    strict = PIPELINE.forward(question, strict=True)

    assert asking.status == "missing"
    assert asking.answer.startswith("I did not take 'free', 'entry' into account.")
    assert "Please say which" in asking.answer
    assert strict.status == "none"
    assert "'free', 'entry'" in strict.answer


def test_one_of_two_years_is_strictly_refused() -> None:
    """A count for the first alone would be wrong, whatever a note says."""
    question = "How many archives were founded in 1955 or 1956?"
    first = PIPELINE.forward(question)
    strict = PIPELINE.forward(question, strict=True)

    assert "1956" in first.notes[0]
    assert strict.status == "none"
    assert "'1956'" in strict.answer


def test_each_type_is_asked_for_in_its_own_place() -> None:
    """Two types with a place each are two queries, and no product."""
    result = PIPELINE.forward("Archives from Utrecht and museums from Amsterdam")
    turned = PIPELINE.forward("Museums from Utrecht and archives from Amsterdam")

    assert set(result.names) == {
        "Domarchief Utrecht",
        "Grachtenmuseum De Spiegel",
        "Museum Het Zilveren Anker",
    }
    assert set(turned.names) == {"Museum Fort Blauwkapel", "Stadsarchief Waterkant"}
    assert result.left_out == turned.left_out == ()


EXCLUDED = [
    ("Which archives in the Netherlands are not in Amsterdam?", {"Domarchief Utrecht"}),
    (
        "Welke musea in Nederland, behalve in Amsterdam en Utrecht?",
        {"Middelburg Zeemuseum"},
    ),
    (
        "Welke musea in Nederland zonder Amsterdam?",
        {"Middelburg Zeemuseum", "Museum Fort Blauwkapel"},
    ),
    (
        "Which institutions in Utrecht are not museums?",
        {"Bibliotheek De Leeszolder", "Domarchief Utrecht"},
    ),
    (
        "Welke musea in Nederland zijn niet in de twintigste eeuw opgericht?",
        {"Middelburg Zeemuseum"},
    ),
    ("All but museums in Amsterdam", {"Stadsarchief Waterkant"}),
    (
        "Museums in the Netherlands except the Middelburg Zeemuseum and Amsterdam",
        {"Museum Fort Blauwkapel"},
    ),
]


@pytest.mark.parametrize(("question", "names"), EXCLUDED)
def test_what_is_excluded_is_not_found(question: str, names: set[str]) -> None:
    """An exclusion is part of the query, and the answer says so."""
    result = PIPELINE.forward(question)

    assert set(result.names) == names
    assert result.answer.startswith(("Without", "Zonder"))
    assert "FILTER" in result.instantiated.runs[0].sparql


def test_what_is_excluded_is_not_counted() -> None:
    """Of four archives one is in Amsterdam."""
    result = PIPELINE.forward("How many archives are not in Amsterdam?")

    assert "3 archives" in result.answer


@pytest.mark.parametrize("question", HEEDED)
def test_nothing_is_left_out_of_what_a_query_heeds(question: str) -> None:
    """Orders, bounds, comparisons and small words need no notice."""
    result = PIPELINE.forward(question, strict=True)

    assert (result.status, result.left_out) == ("answered", ())


GROUPS = data_file("words.yaml")["meaning"]
SUMS = {w for group in GROUPS if "count" in group["used_by"] for w in group["words"]}
MEANING = sorted({w for group in GROUPS for w in group["words"]} - SUMS)
DATED = {w for group in GROUPS if "date" in group["used_by"] for w in group["words"]}
FOLLOW_UPS = [
    "and {} ones in Utrecht?",
    "with a {} budget",
    "only the {} ones",
    "and {} archives?",
    "how many of them are {}?",
    "sort them by {}",
    "en {} archieven?",
    "alleen die met {}",
    "what about {} museums in Utrecht?",
]
BEGINNINGS = [
    "Which museums are in Amsterdam?",
    "How many archives are there in the Netherlands?",
    "Which museums were founded after 1800?",
    "What are the oldest museums in Amsterdam?",
]


@given(
    begin=st.sampled_from(BEGINNINGS),
    follow_up=st.sampled_from(FOLLOW_UPS),
    word=st.sampled_from([*MEANING, *data_file("words.yaml")["beyond"], "purple"])
    | st.text("bcdfgklmnprstvz", min_size=4, max_size=9),
)
def test_no_word_of_a_follow_up_vanishes(begin: str, follow_up: str, word: str) -> None:
    """It changes the query, is told, or there is no answer; strictly never one."""
    first = PIPELINE.forward(begin)
    asked = follow_up.format(word)
    result = PIPELINE.forward(asked, conversation=first.conversation)
    plain = PIPELINE.forward(follow_up.format(""), conversation=first.conversation)
    one, other = (
        (r.template_id, r.slots.values, r.counted, r.excluded) for r in (result, plain)
    )
    place = asked.index(word)
    taken = {str(value) for value in result.slots.values.values()}
    assume(not any(a <= place < b for a, b in order_spans(asked, taken)))
    assume(word not in begin and result.status == "answered" and one == other)
    intent = PIPELINE.templates[result.template_id].intent
    assume(word not in DATED or not {intent, *result.slots.values} & {"date"})

    assert word in " ".join([*result.left_out, *result.notes])
    strict = PIPELINE.forward(asked, conversation=first.conversation, strict=True)
    assert strict.status == "none"


@pytest.mark.parametrize("who", ["Who is the oldest?", "Wie is de oudste?"])
def test_who_asks_for_an_institution_of_a_list(who: str) -> None:
    """Beside an order, and nothing else, it is no word that is left out."""
    first = PIPELINE.forward("Which museums are in Amsterdam?")
    result = PIPELINE.forward(who, conversation=first.conversation, strict=True)

    assert (result.status, result.left_out) == ("answered", ())


@pytest.mark.parametrize(
    "follow_up",
    ["with a large budget", "only those with a website", "and free museums?"],
)
def test_a_condition_of_a_follow_up_is_told(follow_up: str) -> None:
    """No list is repeated as if it had met the condition."""
    first = PIPELINE.forward("Which museums are in Amsterdam?")
    result = PIPELINE.forward(follow_up, conversation=first.conversation)

    assert result.answer.startswith("I did not take")
    assert set(result.left_out) & {"large", "website", "free", "when", "highest"}


def test_a_follow_up_may_begin_in_the_middle() -> None:
    """A limit alone is one of what was asked for, and nothing found is no lack."""
    first = PIPELINE.forward("Which museums are in Amsterdam?")
    said = "with a budget of more than 1 million"
    second = PIPELINE.forward(said, conversation=first.conversation)
    third = PIPELINE.forward("founded before 1800", conversation=second.conversation)

    assert second.names == ("Museum Het Zilveren Anker",)
    assert third.answer.startswith("I know of no museums in Amsterdam with a budget")


def test_a_follow_up_sorts() -> None:
    """By what it says, and the answer says how."""
    first = PIPELINE.forward("Which museums are in Amsterdam?")
    result = PIPELINE.forward("sort them by budget", conversation=first.conversation)

    assert result.slots.values["order"] == "richest"
    assert result.left_out == ()
    assert "the largest budget first" in result.answer


def test_a_follow_up_in_dutch_sorts() -> None:
    """What is sorted is what was listed, and not all that there is."""
    first = PIPELINE.forward("Welke musea zijn er in Amsterdam?")
    result = PIPELINE.forward("sorteer ze op budget", conversation=first.conversation)

    assert (result.slots.values["city"], len(result.names)) == ("Amsterdam", 2)


def test_the_last_one_is_the_last_of_a_whole_list() -> None:
    """Of one institution, or of more than are kept, there is no last one to tell."""
    short = PIPELINE.forward("Which museums are in Amsterdam?")
    long = PIPELINE.forward("What are the oldest institutions?")
    last = PIPELINE.forward("the last one", conversation=short.conversation)
    again = PIPELINE.forward("and the last one", conversation=last.conversation)
    other = PIPELINE.forward("the last one", conversation=long.conversation)

    assert last.names == ("Museum Het Zilveren Anker",)
    assert (again.status, other.status) == ("lost", "lost")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            "Museums in Utrecht founded after 1950 with less than 1 million",
            "(after 1950)",
        ),
        (
            "Museums with more than 1 million euro founded before 1950",
            "(more than 1 million euro)",
        ),
        ("Total budget of museums founded before 1950", "(before 1950)"),
    ],
)
def test_an_answer_says_every_limit_that_it_has(question: str, told: str) -> None:
    """Also those for which the template has no slot."""
    assert told in PIPELINE.forward(question).answer


@pytest.mark.parametrize(
    ("question", "value", "text"),
    [
        ("Museums founded around 1900", "1890/1910", "'around 1900' as 1890-1910"),
        ("Musea van rond 1900", "1890/1910", "'rond 1900' als 1890-1910"),
        ("Museums founded between 1950 and 1900", "1900/1950", "as 1900-1950"),
        ("Museums with between 2 and 1 million", "1000000/2000000", "as 1000000-2"),
    ],
)
def test_a_quantity_that_is_read_otherwise_is_told(
    question: str, value: str, text: str
) -> None:
    """Some years around one, and a range the other way round."""
    result = PIPELINE.forward(question)

    assert value in result.slots.values.values()
    assert text in result.notes[0]


def test_a_month_is_no_unknown_town() -> None:
    """Nor is a day."""
    for when in ("in June", "on Sunday", "op zondag", "in mei"):
        found = PIPELINE.finder.find(f"Which museums are open {when}?")
        assert [m.kind for m in found] == ["institution_type"]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Where is Museum Het Zilveren Anker?", "en"),
        ("Find Bibliotheek De Leeszolder", "en"),
        ("Waar is Thames Record Office?", "nl"),
    ],
)
def test_the_language_is_that_of_the_words_beside_a_name(
    question: str, language: str
) -> None:
    """A Dutch name makes no Dutch question."""
    assert PIPELINE.forward(question).language == language


ASCENDING = [
    ("Museums in Amsterdam sorted by budget descending", "the largest budget first"),
    ("Museums in Amsterdam sorted by budget ascending", "the smallest budget first"),
    ("Museums in Amsterdam sorted by age ascending", "newest first"),
    ("Musea in Amsterdam gesorteerd op leeftijd aflopend", "oudste eerst"),
]


@pytest.mark.parametrize(("question", "told"), ASCENDING)
def test_a_list_is_sorted_in_the_direction_that_is_asked(
    question: str, told: str
) -> None:
    """The direction is taken, and the answer says it."""
    result = PIPELINE.forward(question)

    assert (result.status, result.left_out) == ("answered", ())
    assert told in result.answer
    assert re.search("not in the list|niet in de lijst", " ".join(result.notes))


PAIRED = "Archives from Utrecht and museums from Amsterdam"
AFTER = [
    (PAIRED, "and before 1900?", None),
    (PAIRED, "sort them by age", None),
    ("Museums with a budget of more than 1 million", "and less than 3 million?", None),
    (
        "Which museums in the Netherlands were founded after 1900?",
        "and before 1950?",
        "between 1901 and 1949",
    ),
    ("Which museums are in Amsterdam?", "which were founded before 1950?", "Amsterdam"),
    ("Welke musea zijn er in Amsterdam?", "welke zijn voor 1950 opgericht?", "Amster"),
    ("Which museums are in the Netherlands?", "not in Amsterdam", "Netherlands"),
]


@pytest.mark.parametrize(("question", "follow_up", "asked"), AFTER)
def test_a_follow_up_keeps_what_was_asked_before(
    question: str, follow_up: str, asked: str | None
) -> None:
    """It is asked of that, in full, or the whole question is asked back."""
    first = PIPELINE.forward(question)
    result = PIPELINE.forward(follow_up, conversation=first.conversation)

    if asked is None:
        assert (result.status, result.execution) == ("lost", None)
    else:
        assert result.status == "answered"
        assert asked in result.resolution.question


def test_a_place_that_somebody_is_not_in_is_not_asked_of() -> None:
    """What the sentence before excludes is excluded, or nothing is answered."""
    result = PIPELINE.forward("Not in Amsterdam. Which museums are there?")

    assert "Grachtenmuseum De Spiegel" not in result.names


def test_a_limit_of_a_follow_up_is_told() -> None:
    """The first three are not the first one."""
    first = PIPELINE.forward("The oldest museum in the Netherlands")
    result = PIPELINE.forward("the top 3", conversation=first.conversation)

    assert result.status != "answered" or "3" in " ".join(result.left_out)


def test_a_year_that_is_asked_about_is_that_year() -> None:
    """`About` is no range there."""
    first = PIPELINE.forward("Which museums in the Netherlands were founded in 1950?")
    result = PIPELINE.forward("what about 1921?", conversation=first.conversation)

    assert result.slots.values["date"] == "1921"


def test_an_apostrophe_is_no_quote() -> None:
    """The language is that of all words."""
    first = PIPELINE.forward("Welke musea zijn er in Amsterdam?")
    question = "Isn't there a museum in Utrecht that doesn't close?"
    result = PIPELINE.forward(question, conversation=first.conversation)

    assert result.language == "en"
