"""The registry of procedures: names, types, checks, the same at every door."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.ask import AskSettings
from knowtrail.retrieval.procedures import call
from knowtrail.retrieval.procedures.registry import (
    OPTIONS,
    PROCEDURES,
    keywords,
    options_from_text,
)
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.search import SearchSettings
from knowtrail.retrieval.traverse import CompareSettings, TraverseSettings
from tests.cases import each

ARGUMENTS = {"question": "What is ice?"}
ROWS = {
    "search": "rank, documentId, title, chunkId, text, score, algorithm",
    "traverse": "step, hop, documentId, title, chunkId, sentenceId, text, score, "
    "reason, traversalId",
    "compare": "algorithm, sentences, documents, hops, stopReason, milliseconds, "
    "traversalId",
    "ask": "answer, citation, confidence, traversalId",
}
NAMES = [
    *(("max_sentences", "maxSentences"), ("max_hops", "maxHops"), ("k", "k")),
    *(("corpus", "corpus"), ("filter", "filter"), ("algorithms", "algorithms")),
    *(("rerank", "rerank"), ("rerank_candidates", "rerankCandidates")),
]


def test_there_are_four_procedures_with_their_rows() -> None:
    """Columns are what the design names, in order."""
    found = {
        name: ", ".join(field.name for field in procedure.columns)
        for name, procedure in PROCEDURES.items()
    }

    assert found == ROWS


@each(("python", "public"), NAMES)
def test_option_has_two_names(python: str, public: str) -> None:
    """One table gives both."""
    assert OPTIONS[python].name == public


def test_names_of_options_lead_back() -> None:
    """No two options share a public name, and none has an underscore in it."""
    public = [option.name for option in OPTIONS.values()]

    assert len(set(public)) == len(OPTIONS)
    assert not any("_" in name for name in public)


@pytest.mark.parametrize("name", PROCEDURES)
def test_functions_take_every_option(name: str) -> None:
    """Each option is a parameter of the function or of every walk, sync and async."""
    procedure = PROCEDURES[name]
    walks = set(inspect.signature(check_question).parameters)
    own_settings = {"compare": CompareSettings, "search": SearchSettings}
    own_settings |= {"ask": AskSettings}
    walks |= own_settings.get(name, TraverseSettings).__annotations__.keys()

    blocks = getattr(import_module(procedure.module), name)
    for function in (blocks, procedure.arun):
        own = set(inspect.signature(function).parameters)
        assert set(procedure.options) - own - walks == set()
        assert {field.name for field in procedure.arguments} <= own | walks


@pytest.mark.parametrize("name", PROCEDURES)
def test_options_are_all_there(name: str) -> None:
    """What every walk can be asked is an option everywhere."""
    walk = set(inspect.signature(check_question).parameters)
    walk -= {"question", "algorithm", "k", "granularity", "embedded"}

    assert walk <= set(PROCEDURES[name].options)


def test_keywords_have_python_names_and_types() -> None:
    """Nulls are left out, and whole floats, as JavaScript sends, become integers."""
    options = {"maxSentences": 7.0, "corpus": None, "filter": {"category": "Ice"}}

    found = keywords("search", ARGUMENTS, options)

    assert found == {
        "question": "What is ice?",
        "max_sentences": 7,
        "filter": {"category": "Ice"},
    }
    assert isinstance(found["max_sentences"], int)


def test_model_is_named_by_a_text() -> None:
    """The function gets a language model."""
    settings = Settings(ollama_url="http://127.0.0.1:9")

    found = keywords("ask", ARGUMENTS, {"model": "tiny:1b"}, settings=settings)

    assert found["model"].name == "tiny:1b"


@pytest.mark.parametrize(
    ("name", "record"), [("traverse", False), ("compare", False), ("ask", False)]
)
def test_reader_without_the_right_records_nothing(name: str, record: bool) -> None:
    """It wins over what the caller asks for."""
    arguments = dict.fromkeys((f.name for f in PROCEDURES[name].arguments), "x")

    found = keywords(name, arguments, {"record": True}, may_record=False)

    assert found["record"] is record


@each(
    ("name", "arguments", "options", "message"),
    [
        ("walk", ARGUMENTS, {}, "No procedure 'walk': there are search, traverse,"),
        ("search", {}, {}, "question is null: knowtrail.search needs a text"),
        ("search", {"question": 7}, {}, "question is 7: knowtrail.search needs a text"),
        ("search", {**ARGUMENTS, "q": ""}, {}, "No argument 'q'"),
        (
            *("search", ARGUMENTS, {"maxSentence": 1}),
            "No option 'maxSentence': did you mean 'maxSentences'? knowtrail.search",
        ),
        (
            *("search", ARGUMENTS, {"max_sentences": 1}),
            "No option 'max_sentences': did you mean 'maxSentences'?",
        ),
        ("search", ARGUMENTS, {"record": True}, "No option 'record'"),
        ("ask", ARGUMENTS, {"maxHops": "2"}, "maxHops is '2': give a whole number"),
        ("ask", ARGUMENTS, {"maxHops": 2.5}, "maxHops is 2.5: give a whole number"),
        ("ask", ARGUMENTS, {"maxHops": True}, "maxHops is true: give a whole number"),
        ("ask", ARGUMENTS, {"record": 1}, "record is 1: give true or false"),
        ("ask", ARGUMENTS, {"filter": "x"}, "filter is 'x': give a map"),
        ("compare", ARGUMENTS, {"algorithms": [1]}, "give a list of texts"),
    ],
)
def test_bad_calls_are_refused(
    name: str, arguments: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    """The message says what was wrong and what to give."""
    with pytest.raises(InputError, match=re.escape(message)):
        keywords(name, arguments, options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxHops": -1}, "maxHops is -1: give a whole number from 0"),
        ({"maxSentences": 10**9}, "maxSentences is 1000000000: give"),
        ({"lookahead": 9}, "lookahead is 9"),
        ({"granularity": "page"}, "granularity is 'page': use 'chunk' or 'sentence'"),
        ({"filter": {"title": {"$no": 1}}}, r"\$no"),
        ({"algorithm": "query"}, "Unknown algorithm 'query'"),
    ],
)
def test_values_out_of_range_are_named_as_they_were_given(
    options: dict[str, Any], message: str
) -> None:
    """Before any database is asked, and in camelCase."""
    with pytest.raises(InputError, match=message):
        call("search", None, ARGUMENTS, options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "message"),
    [("", "ask something"), (" \n", "ask something"), ("x" * 100_000, "100000 char")],
)
@pytest.mark.parametrize("name", PROCEDURES)
def test_bad_questions_are_refused(name: str, question: str, message: str) -> None:
    """Empty ones and endless ones."""
    arguments = {"question": question}
    if name == "traverse":
        arguments["algorithm"] = "query_traversal"

    with pytest.raises(InputError, match=message):
        call(name, None, arguments)  # type: ignore[arg-type]


def test_texts_become_values() -> None:
    """An address has texts only; names that nobody knows are passed on."""
    found = options_from_text({
        "maxHops": "3",
        "seconds": "1.5",
        "record": "False",
        "filter": '{"category": "Ice & snow"}',
        "algorithms": "basic_retrieval, query_traversal",
        "corpus": "7",
        "nobody": "x",
    })

    assert found == {
        "maxHops": 3,
        "seconds": 1.5,
        "record": False,
        "filter": {"category": "Ice & snow"},
        "algorithms": ["basic_retrieval", "query_traversal"],
        "corpus": "7",
        "nobody": "x",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("maxHops", "3.5"), ("record", "yes"), ("filter", "{"), ("seconds", "long")],
)
def test_texts_of_another_type_are_refused(name: str, text: str) -> None:
    """The message says what to give."""
    with pytest.raises(InputError, match=f"{name} is '{re.escape(text)}': give "):
        options_from_text({name: text})


@pytest.mark.parametrize(
    "options",
    [{"model": "m" * 501}, {"corpus": "\n" * 501}, {"algorithms": ["a" * 501]}],
)
def test_names_have_a_length(options: dict[str, Any]) -> None:
    """What cannot be a name goes no further than this."""
    name = "compare" if "algorithms" in options else "search"

    with pytest.raises(InputError, match="has 501 characters: give at most 500"):
        keywords(name, ARGUMENTS, options)
