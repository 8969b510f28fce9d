"""Unclean lists: equal names, and regions that are recorded badly or by parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.specificity.judging import custodians_of, memory_pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

_HEAD = "name,type,city,region,country,isil,ghcid\n"


def _pipeline(tmp_path: Path, rows: str) -> TemplatePipeline:
    """Return a pipeline over the institutions of some lines."""
    path = tmp_path / "list.csv"
    path.write_text(_HEAD + rows, "utf-8")
    return memory_pipeline(custodians_of(path))


@pytest.mark.parametrize(
    ("rows", "question", "lines"),
    [
        (
            "Central Library,L,Leeds,,GB,GB-A1,\nCentral Library,L,Hull,,GB,GB-A2,\n",
            "Which libraries are in the UK?",
            ["- Central Library (Hull)", "- Central Library (Leeds)"],
        ),
        (
            "Central Library,L,Leeds,,GB,GB-A1,\nCentral Library,L,Leeds,,GB,GB-A2,\n",
            "Which libraries are in Leeds?",
            ["- Central Library (GB-A1)", "- Central Library (GB-A2)"],
        ),
        (
            "Central Library,L,Leeds,,GB,,\nOther Library,L,Leeds,,GB,,\n",
            "Which libraries are in Leeds?",
            ["- Central Library", "- Other Library"],
        ),
    ],
)
def test_institutions_of_one_name_are_told_apart(
    tmp_path: Path, rows: str, question: str, lines: list[str]
) -> None:
    """By town, or where that is one too, by code; names that differ stay alone."""
    answer = _pipeline(tmp_path, rows).forward(question).answer

    assert sorted(answer.splitlines()[1:]) == lines


def test_institutions_that_nothing_tells_apart_have_their_keys(tmp_path: Path) -> None:
    """Two lines are never the same."""
    rows = "Central Library,L,Leeds,,GB,,\n" + "Central Library,L,Leeds,,GB,,\n"
    path = tmp_path / "list.csv"
    path.write_text("id," + _HEAD + "k1," + rows.replace("\nC", "\nk2,C"), "utf-8")
    pipeline = memory_pipeline(custodians_of(path))

    lines = pipeline.forward("Which libraries are in Leeds?").answer.splitlines()

    assert len(lines) == len(set(lines)) == 3


_CODED = """Tower Museum,M,London,,,,GB-LND-LON-M-TM
Avon Museum,M,Bristol,,,,GB-BST-BRS-M-AM
Forth Museum,M,Edinburgh,,,,GB-EDH-EDI-M-FM
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("museums in England", "2 museums in England:\n- Avon Museum\n- Tower Museum"),
        ("How many museums are in England?", "There are 2 museums in England."),
        ("Hoeveel musea zijn er in Schotland?", "Er is 1 museum in Schotland."),
        (
            "Compare museums in England and Scotland",
            "- England: 2 museums\n- Scotland: 1 museum\nEngland has the most.",
        ),
    ],
)
def test_a_region_is_what_lies_in_it(
    tmp_path: Path, question: str, answer: str
) -> None:
    """By ISO 3166-2, where the data name only the parts."""
    result = _pipeline(tmp_path, _CODED).forward(question)

    assert result.answer == answer
    assert any("City of" in note or "ligt" in note for note in result.notes)


_NAMED = """Tyne Museum,M,Newcastle,North East,GB,,
Avon Museum,M,Bristol,South West,GB,,
Lost Museum,M,,,GB,,
"""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("museums in England", "I cannot tell what is in England"),
        ("How many museums are in England?", "under North East, South West."),
        ("musea in Engeland", "Ik weet niet wat er in Engeland is"),
    ],
)
def test_a_region_that_is_not_recorded_is_not_said_to_be_empty(
    tmp_path: Path, question: str, said: str
) -> None:
    """The answer says under what institutions are recorded instead."""
    result = _pipeline(tmp_path, _NAMED).forward(question)

    assert said in result.answer
    assert "There are no" not in result.answer
    assert not any("recorded under" in note for note in result.notes)


def test_institutions_without_a_region_are_told_of(tmp_path: Path) -> None:
    """A list of a region may lack them."""
    result = _pipeline(tmp_path, _NAMED).forward("museums in the North East")

    assert "- Tyne Museum" in result.answer
    assert (
        "1 institutions in United Kingdom have no region: they may be missing here."
        in result.notes
    )


_SPELT = """One Museum,M,Stoke-on-Trent,North West,GB,,
Two Museum,M,Stoke on Trent,North West England,GB,,
Three Museum,M,Stoke on Trent,,GB,,
Berg Museum,M,Bergen,,NO,,
Mons Museum,M,Mons,,BE,,
"""


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Which museums are in Stoke-on-Trent?", 3),
        ("museums in stoke on trent", 3),
        ("How many museums are in Stoke-on-Trent?", 3),
        ("Which museums are in the North West?", 2),
        ("musea in North West England", 2),
        ("Which museums are in Mons?", 1),
    ],
)
def test_a_place_is_found_in_all_its_spellings(
    tmp_path: Path, question: str, number: int
) -> None:
    """And never asked about; towns of other countries stay apart."""
    result = _pipeline(tmp_path, _SPELT).forward(question)

    assert result.status == "answered"
    assert re.search(rf"^(?:There are )?{number} muse", result.answer)
    assert number == 1 or any("ways" in n or "manieren" in n for n in result.notes)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Which is the oldest museum in Bristol?",
            "No founding date is recorded for museums in Bristol, so I cannot tell.",
        ),
        (
            "Welke musea zijn opgericht voor 1900?",
            "Van musea is geen oprichtingsdatum bekend, dus dat kan ik niet zeggen.",
        ),
        (
            "Which museums have a budget above 1 million euro?",
            "No budget is recorded for museums, so I cannot tell.",
        ),
    ],
)
def test_what_is_not_recorded_is_not_said_to_be_none(
    tmp_path: Path, question: str, said: str
) -> None:
    """A list without dates or budgets cannot tell who has which."""
    result = _pipeline(tmp_path, _NAMED).forward(question)

    assert (result.answer, result.unmeasured) == (said, True)


def test_new_york_is_not_york(tmp_path: Path) -> None:
    """A name is not taken out of a longer one."""
    rows = "York Museum,M,York,,GB,,\nEast Museum,M,East,,GB,,\n"
    pipeline = _pipeline(tmp_path, rows)

    new = pipeline.forward("Which museums are in New York?")
    east = pipeline.forward("museums in East York")

    assert new.answer == "I know of no museums in New York."
    assert new.notes == ("I do not know 'New York'.",)
    assert "York Museum" not in east.answer
    assert "York Museum" in pipeline.forward("New museums in York?").answer


def test_longer_names_are_told_where_nothing_is_found(tmp_path: Path) -> None:
    """Newcastle may be Newcastle upon Tyne."""
    rows = (
        "Tyne Museum,M,Newcastle upon Tyne,,GB,,\nOld Archive,A,Newcastle,,GB,,\n"
        "London Museum,M,London,,GB,,\n"
    )
    pipeline = _pipeline(tmp_path, rows)

    museums = pipeline.forward("How many museums are in Newcastle?")
    archives = pipeline.forward("Which archives are in Newcastle?")

    assert museums.notes == (
        "There are places with a longer name than Newcastle: Newcastle upon Tyne.",
    )
    assert archives.notes == ()


def test_a_place_that_nobody_knows_is_not_left_out_of_a_comparison(
    tmp_path: Path,
) -> None:
    """It has none, and that it is not known is told."""
    pipeline = _pipeline(tmp_path, "London Museum,M,London,,GB,,\n")

    result = pipeline.forward("How many museums does London have compared to Paris?")

    assert "- London: 1 museum\n- Paris: 0 museums" in result.answer
    assert "I do not know 'Paris'." in result.notes


def test_a_follow_up_can_compare(tmp_path: Path) -> None:
    """The place before and the new one, by the same type."""
    rows = "A Museum,M,Leeds,,GB,,\nB Museum,M,Leeds,,GB,,\nC Museum,M,York,,GB,,\n"
    pipeline = _pipeline(tmp_path, rows)
    said = pipeline.forward("How many museums are in York?").conversation

    result = pipeline.forward("is that more than in Leeds?", conversation=said)

    assert result.template_id == "compare_locations"
    assert "- York: 1 museum\n- Leeds: 2 museums" in result.answer


@pytest.mark.parametrize("name", ["County Durham", "the country France"])
def test_a_county_is_not_a_count(tmp_path: Path, name: str) -> None:
    """Nor is a country."""
    pipeline = _pipeline(tmp_path, "A Museum,M,Durham,,GB,,\n")

    result = pipeline.forward(f"Which museums are in {name}?")

    assert not result.template_id.startswith("count")
    assert not result.counted
