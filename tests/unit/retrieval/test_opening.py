"""Which reader a question gets."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.settings import Settings
from knowtrail.retrieval.corpora import CorpusInfo
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.readers import opening

if TYPE_CHECKING:
    from pathlib import Path


def test_snapshot_is_opened_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter is decided for every chunk then, while others want their answers."""
    looked_in: list[threading.Thread] = []
    given = opening._snapshot

    def look(*asked: object) -> object:
        looked_in.append(threading.current_thread())
        return given(*asked)  # type: ignore[arg-type]

    async def told(*_: object) -> None:
        """Ask no database what the filter names."""

    monkeypatch.setattr(opening, "_snapshot", look)
    monkeypatch.setattr(opening, "_tell_unknown", told)
    corpus = CorpusInfo(name="birds", embedder="m", query_prompt="", dimensions=2)

    async def open_it() -> str:
        task = check_question("Who sings?", filter={"title": "Owl"})
        settings = Settings(home=tmp_path)
        opened = await opening.open_areader(
            None,  # type: ignore[arg-type]
            corpus,
            task,
            settings=settings,
        )
        return opened.name

    assert asyncio.run(open_it()) == "cypher"
    assert looked_in != []
    assert threading.main_thread() not in looked_in


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ({"version": 3, "stamp": "s", "complete": True}, True),
        ({"version": 3, "stamp": "s"}, False),
        ({"version": 0, "stamp": "s", "complete": True}, False),
        ({"version": 3, "complete": True}, False),
    ],
)
def test_only_a_corpus_at_rest_has_a_state(more: dict[str, Any], known: bool) -> None:
    """What is learnt of it lasts as long; during an ingest nothing does."""
    corpus = CorpusInfo(name="b", embedder="m", query_prompt="", dimensions=2, **more)
    task = check_question("Who sings?", filter={"title": "Owl"})
    opened = opening.open_reader(
        SimpleNamespace(database="neo4j"),  # type: ignore[arg-type]
        corpus,
        task,
    )

    state = opened.reader._reader._statements.state  # type: ignore[attr-defined]
    assert state == (("neo4j", ("b", "s", 3)) if known else None)


@pytest.mark.parametrize(
    ("algorithm", "terms", "lines"),
    [("auto", False, 1), ("auto", True, 0), ("basic_retrieval", False, 0)],
)
def test_a_corpus_without_terms_is_told_of_once(
    caplog: pytest.LogCaptureFixture, algorithm: str, terms: bool, lines: int
) -> None:
    """Only where names would be followed, with the way to add them."""
    corpus = CorpusInfo(
        name="owls", embedder="m", query_prompt="", dimensions=2, terms=terms
    )
    task = check_question("Who sings?", algorithm=algorithm)

    for _ in range(2):
        opening.open_reader(None, corpus, task)  # type: ignore[arg-type]

    assert len([r for r in caplog.records if "--terms" in r.getMessage()]) == lines
