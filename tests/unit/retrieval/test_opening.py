"""Which reader a question gets."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from graph.settings import Settings
from retrieval.corpora import CorpusInfo
from retrieval.questions import check_question
from retrieval.readers import opening

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_snapshot_is_opened_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter is decided for every chunk then, while others want their answers."""
    looked_in: list[threading.Thread] = []
    given = opening._snapshot

    def look(*asked: object) -> object:
        looked_in.append(threading.current_thread())
        return given(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "_snapshot", look)
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
