"""LangChain documents as a source."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import Failure, LeftOut, RawDocument
from knowtrail.ingest.sources.langchain import LangChainSource


def _ids(documents: list[Any]) -> list[str]:
    return [
        getattr(i, "source_id", i.title) for i in LangChainSource(documents).items()
    ]


def test_fields_come_from_the_document_and_its_metadata() -> None:
    """What no field takes stays metadata; what no property can hold goes."""
    document = Document(
        id="d1",
        page_content="A text.",
        metadata={
            "source": "https://example.org/a",
            "title": "A",
            "language": "bg",
            "page": 3,
            "tags": ["x"],
            "none": None,
            "score": float("nan"),
            "parts": {"a": float("nan")},
            "maker": {"of": object()},
        },
    )

    found = list(LangChainSource([document]).items())

    assert found == [
        RawDocument(
            source_id="d1",
            title="A",
            raw="A text.",
            url="https://example.org/a",
            source="https://example.org/a",
            language="bg",
            metadata={"language": "bg", "page": 3, "tags": ["x"]},
        )
    ]


def test_ids_fall_back_to_the_source_and_are_numbered() -> None:
    """Pages of one file differ, and no two documents share an id."""
    page = {"source": "a.pdf"}

    found = _ids([
        Document(page_content="1", metadata=page),
        Document(page_content="2", id="a.pdf#2"),
        Document(page_content="3", metadata=page),
        Document(page_content="4", metadata=page),
        Document(page_content="5", id="a.pdf#3"),
    ])

    assert found == ["a.pdf", "a.pdf#2", "a.pdf#3", "a.pdf#4", "a.pdf#3#2"]


def test_documents_without_any_name_are_keyed_by_their_text() -> None:
    """The same text has the same id in another run and place."""
    one, two = Document(page_content="One."), Document(page_content="Two.")

    first, second = _ids([one, two])

    assert _ids([two, one]) == [second, first]
    assert first != second


def test_other_objects_fail_and_blank_documents_are_left_out() -> None:
    """The rest goes on."""
    documents: list[Any] = ["text", Document(page_content=" ", metadata={"title": "T"})]

    failure, left_out = LangChainSource(documents).items()

    assert failure == Failure(
        title="document 1", message="a str is no LangChain Document"
    )
    assert left_out == LeftOut(title="T", reason="empty")


def test_metadata_that_no_node_can_have_is_left_out() -> None:
    """Names that Neo4j refuses would end the whole ingest."""
    document = Document(page_content="Text.", metadata={"a\0b": 1, " ": 2, "kept": 3})

    (found,) = LangChainSource([document]).items()

    assert isinstance(found, RawDocument)
    assert found.metadata == {"kept": 3}


def test_stray_surrogates_are_replaced() -> None:
    """Half characters cannot reach the database."""
    document = Document(page_content="a\ud800", metadata={"source": "s\ud800"})

    (found,) = LangChainSource([document]).items()

    assert isinstance(found, RawDocument)
    assert (found.raw, found.source_id) == ("a\ufffd", "s\ufffd")


def test_list_can_be_read_twice_and_an_iterator_once() -> None:
    """A second reading of a used iterator would look like an empty corpus."""
    documents = [Document(page_content="One.")]
    source, once = LangChainSource(documents), LangChainSource(iter(documents))

    assert list(source.items()) == list(source.items())
    assert (source.size, source.position, once.size) == (1, 1, None)
    list(once.items())

    with pytest.raises(SourceError, match="used up"):
        once.items()
