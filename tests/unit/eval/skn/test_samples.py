"""Data sets and recorded search results: read, checked, told where they are wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.skn.samples import (
    NOTHING,
    Sample,
    load_samples,
    load_search_results,
    search_web,
    searched,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.ingest.extraction.web import WebResult, add_recorded

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = Sample(id=1, category="c", question="Why?", ground_truth="So.")


def write(path: Path, value: Any) -> Path:
    """Write a JSON file."""
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_samples_have_defaults(tmp_path: Path) -> None:
    """Category and answerable may be left out."""
    entry = {"id": "a", "question": " Why? ", "ground_truth": "So."}

    (sample,) = load_samples(write(tmp_path / "s.json", [entry]))

    assert sample == Sample(
        id="a", category="other", question="Why?", ground_truth="So.", answerable=True
    )


def test_limit_takes_the_first(dataset: Path) -> None:
    """A limit is from the beginning, and may be more than there are."""
    assert [one.id for one in load_samples(dataset, limit=2)] == [1, 2]
    assert len(load_samples(dataset, limit=99)) == 3


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "not a data set"),
        ({"id": 1}, "not a data set"),
        (["x"], r"sample 0 \(counted from 0\) is 'x'"),
        ([{"question": "a", "ground_truth": "b"}], "id None: give it an id"),
        ([{"id": True, "question": "a", "ground_truth": "b"}], "give it an id"),
        ([{"id": 7, "ground_truth": "b"}], "id 7: question is None"),
        ([{"id": 7, "question": "a", "ground_truth": " "}], "ground_truth is ' '"),
        (
            [{"id": 7, "question": "a", "ground_truth": "b", "answerable": "no"}],
            "answerable is 'no': write true or false",
        ),
        (
            [{"id": 7, "question": "a", "ground_truth": "b", "category": 3}],
            "category is 3",
        ),
        (
            [{"id": i, "question": "a", "ground_truth": "b"} for i in (1, "1")],
            "'1' occurs 2 times",
        ),
    ],
)
def test_bad_data_sets_are_told(tmp_path: Path, value: Any, told: str) -> None:
    """The message says which sample is wrong and what to write."""
    with pytest.raises(SourceError, match=told):
        load_samples(write(tmp_path / "s.json", value))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[" * 100_000])
def test_a_file_that_is_no_json_is_told(tmp_path: Path, content: bytes) -> None:
    """Binary, cut and endlessly nested files are refused by name."""
    path = tmp_path / "s.json"
    path.write_bytes(content)

    with pytest.raises(SourceError, match=r"s\.json(: nested too deep| is no)"):
        load_samples(path)
    with pytest.raises(SourceError, match=r"nobody\.json cannot be read"):
        load_samples(tmp_path / "nobody.json")


def test_recorded_results_are_found_by_question_or_id(tmp_path: Path) -> None:
    """A file may have questions or ids, results or texts."""
    result = {"title": "T", "url": "https://a.example", "content": "C"}
    path = write(
        tmp_path / "r.json",
        [
            {"question": "Why?", "results": [result, result]},
            {"id": 2, "raw_text": "as it was"},
        ],
    )

    recorded = load_search_results(path)

    by_question = searched(SAMPLE, recorded, recorded_only=True)
    assert by_question.raw_text == (
        "[Result 1]\nTitle: T\nURL: https://a.example\nContent: C\n\n"
        "[Result 2]\nTitle: T\nURL: https://a.example\nContent: C"
    )
    other = Sample(id=2, category="c", question="What?", ground_truth="So.")
    assert searched(other, recorded, recorded_only=True).raw_text == "as it was"


def test_results_that_extract_recorded_are_read(tmp_path: Path) -> None:
    """Both commands read what either has written."""
    path = tmp_path / "found.json"
    result = WebResult(title="T", url="https://a.example", content="C")
    add_recorded(path, {"Why?": (result,)})

    assert load_search_results(path)["Why?"].results == (result,)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (3, "write a JSON list"),
        ([3], r"entry 0 \(counted from 0\) is '3'"),
        ([{"results": []}], "neither question nor id"),
        ([{"id": 1}], "results is 'None'"),
        ([{"id": 1, "results": [{"content": 3}]}], "result 0: content is no text"),
    ],
)
def test_bad_recorded_results_are_told(tmp_path: Path, value: Any, told: str) -> None:
    """The message says which entry is wrong."""
    with pytest.raises(SourceError, match=told):
        load_search_results(write(tmp_path / "r.json", value))


def test_recorded_only_leaves_the_web_alone() -> None:
    """What is not recorded is told, with its question."""
    with pytest.raises(InputError, match=r"sample 1, 'Why\?'"):
        searched(SAMPLE, {}, recorded_only=True)


def test_pages_are_cleaned(tmp_path: Path) -> None:
    """Of a long page with binary and half characters the whole text is left."""
    page = "a\x00b\x1b[31m\ud800" + "x" * 50_000
    result = {"title": "T\x07", "url": "u", "content": page}
    path = write(tmp_path / "r.json", [{"id": 1, "results": [result]}])

    found = load_search_results(path)["id:1"]

    assert len(found.raw_text) > 50_000
    assert "a b [31m\N{REPLACEMENT CHARACTER}xxx" in found.raw_text
    found.raw_text.encode()


def test_search_web_gives_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results become numbered blocks; none become an empty text."""
    found = {"a": (WebResult(title="T", url="u", content="C"),), "b": ()}
    monkeypatch.setattr(
        "knowtrail.eval.skn.samples.search_results",
        lambda query, count: found[query][:count],
    )

    assert search_web("a", 1) == "[Result 1]\nTitle: T\nURL: u\nContent: C"
    assert search_web("b") == ""
    empty = searched(Sample(id=1, category="c", question="b", ground_truth="g"), {})
    assert empty.error == NOTHING
