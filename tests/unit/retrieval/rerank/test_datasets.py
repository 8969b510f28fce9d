"""Files of queries with documents: what is read, refused and written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import (
    InputError,
    SourceError,
    StorageError,
    UnavailableError,
)
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Document,
    Query,
    QueryDocuments,
    read_annotated,
    read_queries,
    write_annotated,
    write_queries,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUERY = {"id": "q1", "query": "Why is ice slippery?"}
ICE = {"id": "ice", "content": "A film of water.", "metadata": {"page": 3}}
FIRE = {"id": "fire", "content": "It is hot."}
LINE = {"query": QUERY, "documents": [ICE, FIRE]}


def lines(path: Path, *rows: Any) -> Path:
    """Write rows, of which texts are written as they are."""
    text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows)
    path.write_text(text + "\n", "utf-8")
    return path


def scored(*scores: float, query: str = "q1") -> AnnotatedQueryDocuments:
    """Return a query with documents of these scores."""
    return AnnotatedQueryDocuments(
        query=Query(id=query, query="Why?"),
        documents=tuple(
            AnnotatedDocument(id=f"d{n}", content="Text.", score=score)
            for n, score in enumerate(scores)
        ),
    )


def test_queries_are_read_in_order(tmp_path: Path) -> None:
    """Metadata may be left out; blank lines and further keys are passed over."""
    other = {"query": {"id": "q2", "query": "x", "k": 1}, "documents": [], "k": 1}
    path = lines(tmp_path / "a.jsonl", LINE, "", other)

    assert list(read_queries(path)) == [
        QueryDocuments(
            query=Query(id="q1", query="Why is ice slippery?"),
            documents=(
                Document(id="ice", content="A film of water.", metadata={"page": 3}),
                Document(id="fire", content="It is hot."),
            ),
        ),
        QueryDocuments(query=Query(id="q2", query="x")),
    ]


def test_scores_are_read_as_floats(tmp_path: Path) -> None:
    """A whole number is a score, and a file with scores is one without besides."""
    row = {"query": QUERY, "documents": [ICE | {"score": 2}, FIRE | {"score": -0.5}]}
    path = lines(tmp_path / "a.jsonl", row)

    (found,) = read_annotated(path)

    assert [d.score for d in found.documents] == [2.0, -0.5]
    assert [d.id for d in next(read_queries(path)).documents] == ["ice", "fire"]


def test_reading_is_a_stream(tmp_path: Path) -> None:
    """What stands before a broken line is there before the error is."""
    rows = read_queries(lines(tmp_path / "a.jsonl", LINE, "{broken"))

    assert next(rows).query.id == "q1"
    with pytest.raises(SourceError, match=r"a\.jsonl, line 2 is no JSON"):
        next(rows)


def changed(**values: Any) -> dict[str, Any]:
    """Return the line with other values of its first document."""
    return {"query": QUERY, "documents": [ICE | values, FIRE]}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("[" * 100_000, "nested too deep"),
        ([1], "write an object with query and documents"),
        ({"documents": []}, "query is None"),
        ({"query": {"id": 1, "query": "x"}, "documents": []}, "id is 1: write a text"),
        ({"query": {"id": "x", "query": " "}, "documents": []}, "query is empty"),
        ({"query": {"id": "x"}, "documents": []}, "query is missing"),
        ({"query": {"id": "x", "query": "y"}}, "documents is None: write a list"),
        ({"query": QUERY, "documents": ["x"]}, "document 0 is 'x': write an object"),
        (changed(id="fire"), "document id 'fire' comes twice"),
        (changed(content=""), "document 'ice': content is empty"),
        (changed(content=7), "content is 7"),
        (changed(metadata=None), "metadata is None: write an object"),
    ],
)
def test_bad_lines_are_refused_with_their_place(
    bad: Any, message: str, tmp_path: Path
) -> None:
    """File and line stand first, then what is wrong."""
    good = {"query": {"id": "q0", "query": "x"}, "documents": []}
    path = lines(tmp_path / "a.jsonl", good, "", bad)

    with pytest.raises(SourceError, match=r"a\.jsonl, line 3") as error:
        list(read_queries(path))

    assert message in str(error.value)


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("1e999", "inf"),
        ("1" + "0" * 400, "1000"),
        ("true", "True"),
        ('"2"', "'2'"),
        ("null", "None"),
    ],
)
def test_scores_are_finite_numbers(score: str, said: str, tmp_path: Path) -> None:
    """Nothing else is taken for a score."""
    row = json.dumps(changed(score="HERE")).replace('"HERE"', score)

    with pytest.raises(SourceError, match="line 1, document 'ice': score is") as error:
        list(read_annotated(lines(tmp_path / "a.jsonl", row)))

    assert f"score is {said}" in str(error.value)


def test_a_missing_score_is_told(tmp_path: Path) -> None:
    """A file without scores is no annotated one."""
    with pytest.raises(SourceError, match="document 'ice': score is missing"):
        list(read_annotated(lines(tmp_path / "a.jsonl", LINE)))


def test_query_ids_are_unique(tmp_path: Path) -> None:
    """The second line with an id names the first."""
    with pytest.raises(SourceError, match="line 2: query id 'q1' is that of line 1"):
        list(read_queries(lines(tmp_path / "a.jsonl", LINE, LINE)))


def test_text_is_utf8(tmp_path: Path) -> None:
    """Other bytes are refused with their line; a byte order mark is no text."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LINE).encode() + b"\n\xff\n")
    rows = read_queries(path)

    assert next(rows).query.id == "q1"
    with pytest.raises(SourceError, match="line 2 is not UTF-8"):
        next(rows)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Its name is told."""
    with pytest.raises(SourceError, match=r"none\.jsonl cannot be read: No such file"):
        list(read_queries(tmp_path / "none.jsonl"))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Every field comes back, text of any language and half characters too."""
    path = tmp_path / "a.jsonl"
    items = [
        scored(1.5, -2.0),
        AnnotatedQueryDocuments(
            query=Query(id="ü", query="Wärme?"),
            documents=(
                AnnotatedDocument(
                    id="x", content="half \ud800", metadata={"a": [1]}, score=0.1
                ),
            ),
        ),
    ]

    written = write_annotated(path, iter(items))

    assert written == 2
    assert list(read_annotated(path)) == items
    assert '"id": "q1"' in path.read_text("utf-8").splitlines()[0]


def test_queries_without_scores_are_written(tmp_path: Path) -> None:
    """Nothing is added to them."""
    path = tmp_path / "a.jsonl"
    write_queries(path, read_queries(lines(tmp_path / "b.jsonl", LINE)))

    assert json.loads(path.read_text("utf-8")) == {
        "query": QUERY,
        "documents": [ICE, FIRE | {"metadata": {}}],
    }


def test_a_file_is_written_whole_or_not(tmp_path: Path) -> None:
    """An error in the middle leaves what stood there, and nothing beside it."""
    path = lines(tmp_path / "a.jsonl", LINE)

    def broken() -> Iterator[AnnotatedQueryDocuments]:
        yield scored(1.0)
        msg = "gone"
        raise UnavailableError(msg)

    with pytest.raises(UnavailableError, match="gone"):
        write_annotated(path, broken())

    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]
    assert json.loads(path.read_text("utf-8")) == LINE


def test_a_file_can_be_rewritten_while_it_is_read(tmp_path: Path) -> None:
    """The place is taken at the end only, and a link stays a link."""
    path = tmp_path / "a.jsonl"
    write_annotated(path, [scored(1.0), scored(2.0, query="q2")])
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)

    write_annotated(link, read_annotated(path))

    assert link.is_symlink()
    assert [q.query.id for q in read_annotated(path)] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([scored(float("nan"))], "score of document 'd0' in query 'q1' is nan"),
        ([scored(1.0), scored(2.0)], "Query id 'q1' comes twice"),
        (
            [
                QueryDocuments(
                    query=Query(id="q", query="x"),
                    documents=(Document(id="d", content="a"),) * 2,
                )
            ],
            "Document id 'd' comes twice",
        ),
    ],
)
def test_what_could_not_be_read_is_not_written(
    items: list[Any], message: str, tmp_path: Path
) -> None:
    """The writer refuses what the reader would."""
    with pytest.raises(InputError, match=message):
        write_annotated(tmp_path / "a.jsonl", items)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The message has the place."""
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        write_annotated(tmp_path / "none" / "a.jsonl", [scored(1.0)])
