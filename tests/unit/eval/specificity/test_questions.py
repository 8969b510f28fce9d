"""The bundled institutions and questions: well-formed, and their gold is right."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from knowtrail.eval.specificity.judging import (
    Question,
    bundled_questions,
    custodians_of,
    load_questions,
)
from knowtrail.graph.errors import SourceError
from knowtrail.graph.identifiers import TYPE_LETTERS, parse_ghcid, parse_isil
from knowtrail.ingest.custodians import Custodian, bundled_custodians
from knowtrail.retrieval.specificity.query_templates import load_templates
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

CUSTODIANS = custodians_of(bundled_custodians())
HALVES = ("dev", "more", "test")
QUESTIONS = {half: load_questions(bundled_questions(half)) for half in HALVES}
ALL = [question for half in HALVES for question in QUESTIONS[half]]
LATER = {
    "list_institutions_near",
    "rank_institutions_by_budget",
    "total_budgets",
    "compare_institutions",
}
"""Templates that the questions of `hard` and `fresh` ask for, and no label names."""

_FIELDS = {
    "institution_type": "type",
    "city": "city",
    "region": "subregion",
    "country": "country",
    "name": "name",
}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _among(value: Any, given: Any) -> bool:
    """Return whether a value is the one of a slot, or one of several."""
    return value in given if isinstance(given, tuple) else value == given


def _found(slots: dict[str, Any]) -> list[Custodian]:
    """Return the institutions that slots select, dates and budgets apart."""
    code = str(slots.get("identifier", "")).casefold()
    return [
        c
        for c in CUSTODIANS
        if all(
            _among(getattr(c, field), slots[name])
            for name, field in _FIELDS.items()
            if name in slots
        )
        and (
            not code or code in {(c.isil or "").casefold(), (c.ghcid or "").casefold()}
        )
    ]


def _years(relation: str | None, date: Any) -> tuple[int, int]:
    """Return the first and last year that a date with its relation means."""
    if isinstance(date, tuple):
        return int(date[0]), int(date[1])
    year = int(date)
    return {
        None: (year, year),
        "before": (0, year - 1),
        "until": (0, year),
        "after": (year + 1, 9999),
        "since": (year, 9999),
    }[relation]


def _selected(question: Question) -> set[str | None]:
    """Return the GHCIDs that the labels of a list question select."""
    found = _found(dict(question.slots))
    relation, date = question.relation, question.slots.get("date")
    dated = [(c.founded_year, c.ghcid) for c in found if c.founded_year is not None]
    if relation and relation.startswith("without "):
        return {c.ghcid for c in found if c.type != relation.removeprefix("without ")}
    if relation in {"oldest", "newest"}:
        order = sorted({year for year, _ in dated}, reverse=relation == "newest")
        chosen: set[str | None] = set()
        for year in order:
            if len(chosen) < len(question.answer.ids):
                chosen |= {ghcid for founded, ghcid in dated if founded == year}
        return chosen
    if date is not None:
        low, high = _years(relation, date)
        return {ghcid for year, ghcid in dated if low <= year <= high}
    if "budget" in question.slots:
        amount = float(str(question.slots["budget"]))
        rule = {
            "above": float.__gt__,
            "below": float.__lt__,
            "at_least": float.__ge__,
            "at_most": float.__le__,
        }[str(relation)]
        return {
            c.ghcid for c in found if c.budget is not None and rule(c.budget, amount)
        }
    return {c.ghcid for c in found}


def test_institutions_are_as_many_as_promised() -> None:
    """Sixty at least, in six countries, of all nineteen types."""
    assert len(CUSTODIANS) >= 60
    assert len({c.country for c in CUSTODIANS}) >= 6
    assert {c.type for c in CUSTODIANS} == set(TYPE_LETTERS)


def test_institutions_are_visibly_invented() -> None:
    """Every address is reserved, and every ISIL says that it is fictitious."""
    hosts = {urlsplit(c.url or "").hostname or "" for c in CUSTODIANS}

    assert [host for host in hosts if not host.endswith(".example")] == []
    assert [c.isil for c in CUSTODIANS if c.isil and "-Fict" not in c.isil] == []


def test_identifiers_are_well_formed_and_agree() -> None:
    """GHCIDs are unique, and say the same type, country and city as their row."""
    records = _rows(bundled_custodians())
    parsed = [parse_ghcid(record["ghcid"]) for record in records]

    assert len({found.text for found in parsed}) == len(records)
    assert [(f.type, f.country) for f in parsed] == [
        (record["type"], record["country"]) for record in records
    ]
    assert len({(f.subregion, f.city) for f in parsed}) == len({
        record["city"] for record in records
    })
    assert [parse_isil(r["isil"]) for r in records if r["isil"]] == [
        r["isil"] for r in records if r["isil"]
    ]


def test_descriptions_have_three_to_five_sentences() -> None:
    """Each institution is described in a few sentences of its own."""
    sizes = [(c.description or "").count(". ") + 1 for c in CUSTODIANS]

    assert (min(sizes) >= 3, max(sizes) <= 5) == (True, True)
    assert len({c.description for c in CUSTODIANS}) == len(CUSTODIANS)


@pytest.mark.parametrize("half", HALVES)
def test_each_half_has_what_was_promised(half: str) -> None:
    """Sixty questions in both languages, of every template and kind of answer."""
    asked = QUESTIONS[half]
    kinds = Counter(question.answer.kind for question in asked)

    assert len(asked) >= 60
    assert Counter(q.language for q in asked).keys() == {"en", "nl"}
    assert {q.template for q in asked} >= set(load_templates()) - LATER
    assert sum(q.turn > 1 for q in asked) >= 5
    assert min(kinds["refusal"], kinds["ask"], kinds["none"]) >= 2


def test_halves_share_no_question() -> None:
    """What is reported was not tuned on."""
    texts = [question.question.casefold() for question in ALL]

    twice = [text for text, times in Counter(texts).items() if times > 1]
    assert twice == []


def test_conversations_are_in_order() -> None:
    """Turns of a conversation follow each other from 1."""
    for_each: dict[str, list[int]] = {}
    for question in ALL:
        if question.conversation:
            for_each.setdefault(question.conversation, []).append(question.turn)

    assert {
        name: turns == list(range(1, len(turns) + 1))
        for name, turns in for_each.items()
    } == dict.fromkeys(for_each, True)


@each("question", [q for q in ALL if q.answer.kind == "list"])
def test_lists_are_what_the_labels_select(question: Question) -> None:
    """The GHCIDs of a list are those of the institutions that its slots select."""
    assert question.answer.ids == _selected(question)


@each("question", [q for q in ALL if q.answer.kind == "count"])
def test_counts_are_what_the_labels_select(question: Question) -> None:
    """The number is that of the institutions that the slots select."""
    assert question.answer.value == len(_found(dict(question.slots)))


@each("question", [q for q in ALL if q.answer.kind == "comparison"])
def test_comparisons_are_what_the_labels_select(question: Question) -> None:
    """Each place has the number of its institutions."""
    (name,) = (n for n, value in question.slots.items() if isinstance(value, tuple))
    rest = {n: value for n, value in question.slots.items() if n != name}

    assert question.answer.values == {
        place: len(_found({**rest, name: place}))
        for place in question.slots[name]  # type: ignore[union-attr]
    }


@each("question", [q for q in ALL if q.answer.kind == "breakdown"])
def test_breakdowns_count_every_type(question: Question) -> None:
    """Every type has the number of its institutions."""
    assert question.answer.values == Counter(c.type for c in CUSTODIANS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no questions"),
        ("{", "questions.jsonl, line 1 is no JSON"),
        ('{"id": "1"}', "no 'language'"),
        (
            '{"id": "1", "language": "en", "question": "?", "slots": {}, '
            '"answer": {"kind": "guess"}}',
            "answer kind 'guess'",
        ),
        ("[1]", "no labelled question"),
    ],
)
def test_unusable_questions_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    """The message names file, line and what is wrong."""
    path = tmp_path / "questions.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(SourceError, match=reason):
        load_questions(path)


def test_repeated_id_is_refused(tmp_path: Path) -> None:
    """Two questions of one id cannot be told apart in results."""
    line = bundled_questions("dev").read_text("utf-8").splitlines()[0]
    path = tmp_path / "questions.jsonl"
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")

    with pytest.raises(SourceError, match="was there before"):
        load_questions(path)
