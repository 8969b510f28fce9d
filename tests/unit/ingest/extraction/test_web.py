"""Web search: recorded results, retries, and files that are not what they should be."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import InputError, SourceError, StorageError
from knowtrail.ingest.cli.extract import _searched
from knowtrail.ingest.extraction import web
from knowtrail.ingest.extraction.web import (
    WebResult,
    add_recorded,
    read_recorded,
    results_text,
    search_results,
)

if TYPE_CHECKING:
    from pathlib import Path

ICE = WebResult(title="Ice", url="https://x.example/ice", content="Ice is cold.")


def test_recorded_results_come_first() -> None:
    """Nothing is searched for a question whose results are known."""
    found = search_results("ice", recorded={"ice": [ICE] * 7}, recorded_only=True)

    assert found == (ICE,) * 5


def test_question_without_recorded_results_is_refused() -> None:
    """Where only recorded results may be used, a new question is a mistake."""
    with pytest.raises(InputError, match="No results are recorded for 'snow'"):
        search_results("snow", recorded={"ice": [ICE]}, recorded_only=True)


def test_empty_query_is_refused() -> None:
    """There is nothing to look for."""
    with pytest.raises(InputError, match="write what to look for"):
        search_results("  ")


@pytest.mark.parametrize("failures", [2, 3])
def test_search_is_tried_three_times(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """The waits double; the third failure is not taken for nothing found."""
    calls: list[str] = []
    waits: list[float] = []

    def engine(query: str, count: int) -> tuple[WebResult, ...]:
        calls.append(query)
        if len(calls) <= failures:
            msg = "ratelimit"
            raise RuntimeError(msg)
        return (ICE,)

    monkeypatch.setattr(web, "_live", engine)

    fails = pytest.raises(SourceError, match="failed 3 times: ratelimit")
    with fails if failures == 3 else nullcontext():
        assert search_results("ice", sleep=waits.append) == (ICE,)
    assert calls == ["ice"] * 3
    assert waits == [2, 4]


def test_results_are_one_text() -> None:
    """Each has a number, a title, an address and its content."""
    assert results_text([ICE, ICE]) == (
        "[Result 1]\nTitle: Ice\nURL: https://x.example/ice\nContent: Ice is cold.\n\n"
        "[Result 2]\nTitle: Ice\nURL: https://x.example/ice\nContent: Ice is cold."
    )
    assert results_text([]) == ""


def test_recorded_file_reads_back(tmp_path: Path) -> None:
    """What is written is what is read, with any text."""
    found = {"why \N{SNOWFLAKE}?": (ICE, ICE), "nothing": ()}

    add_recorded(tmp_path / "new" / "found.json", found)

    assert read_recorded(tmp_path / "new" / "found.json") == found
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["found.json"]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (
            [
                {
                    "question": "ice",
                    "results": [{"title": "Ice", "href": "u", "body": "c"}],
                }
            ],
            (WebResult(title="Ice", url="u", content="c"),),
        ),
        (
            [{"id": 1, "question": "ice", "raw_text": "[Result 1]"}],
            (WebResult(title="", url="", content="[Result 1]"),),
        ),
        ([{"question": "ice", "raw_text": ""}], ()),
    ],
)
def test_files_of_the_benchmark_are_read(
    tmp_path: Path, data: Any, found: tuple[WebResult, ...]
) -> None:
    """Lists of questions with results, or with their text, are read too."""
    path = tmp_path / "found.json"
    path.write_text(json.dumps(data), "utf-8")

    assert read_recorded(path) == {"ice": found}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no JSON"),
        ("3", "holds '3': write a JSON list or object"),
        ('{"ice": 3}', "results is '3': write a list"),
        ('[{"results": []}]', "has no question"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """The message says what is wrong and where."""
    path = tmp_path / "found.json"
    path.write_text(text, "utf-8")

    with pytest.raises(SourceError, match=told):
        read_recorded(path)


@pytest.mark.parametrize(
    "old",
    [
        [{"id": 1, "question": "ice", "raw_text": "long " * 9_000, "note": "mine"}],
        {"ice": [{"title": "Ice", "url": "u", "content": "long " * 9_000}]},
    ],
)
def test_adding_leaves_what_is_there(tmp_path: Path, old: Any) -> None:
    """A benchmark's own file keeps its texts, its ids and its form."""
    path = tmp_path / "found.json"
    path.write_text(json.dumps(old), "utf-8")

    add_recorded(path, {"snow": (ICE,)})

    new = json.loads(path.read_text("utf-8"))
    assert new["ice"] == old["ice"] if isinstance(old, dict) else new[:1] == old
    assert len(new) == 2
    assert read_recorded(path)["snow"] == (ICE,)


def test_interrupted_searches_keep_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first results are in the file before the second search begins."""

    def engine(query: str, count: int) -> tuple[WebResult, ...]:
        if query == "snow":
            raise KeyboardInterrupt
        return (ICE,)

    monkeypatch.setattr(web, "_live", engine)
    path = tmp_path / "found.json"

    with pytest.raises(KeyboardInterrupt):
        _searched(("ice", "snow"), path, recorded_only=False)

    assert read_recorded(path) == {"ice": (ICE,)}


def test_searches_that_fail_are_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are read; where nothing was found at all, the run fails."""

    def engine(query: str, count: int) -> tuple[WebResult, ...]:
        if query == "ice":
            return (ICE,)
        if query == "nothing":
            return ()
        msg = "no such host"
        raise OSError(msg)

    monkeypatch.setattr(web, "_live", engine)
    monkeypatch.setattr(web, "BASE_SECONDS", 0.0)

    found = _searched(("snow", "ice"), None, recorded_only=False)
    told = capsys.readouterr().err
    with pytest.raises(SourceError, match="no such host"):
        _searched(("snow", "nothing"), None, recorded_only=False)

    assert found == {"ice": (ICE,)}
    assert told.startswith("Failed: 'snow': The search failed 3 times: no such host.")


def test_long_pages_are_kept_whole(tmp_path: Path) -> None:
    """A page of any length is for the extraction to read in passages."""
    page = WebResult(title="Ice", url="u", content="Ice is cold. " * 5_000)

    add_recorded(tmp_path / "found.json", {"ice": (page,)})

    assert read_recorded(tmp_path / "found.json") == {"ice": (page,)}


def test_missing_file_and_full_disk_are_told(tmp_path: Path) -> None:
    """A file that cannot be read or written is named."""
    with pytest.raises(SourceError, match="cannot be read"):
        read_recorded(tmp_path / "none.json")
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(StorageError, match="Cannot write"):
        add_recorded(tmp_path / "file" / "found.json", {})
