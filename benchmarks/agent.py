"""Gold passages that an agent by rule gathers over our tools and over dense search.

MuSiQue-100's development half. The agent has no model: it searches for the question,
then for the names that passages have and it has not asked about, those of the best
passages first, at most six calls with three passages each. It speaks to the server of
`knowtrail mcp`, in this process, as any client does; beside it are the same tool told
to rank by cosines alone, and the full-text index asked by a statement, as an agent does
that is given a database and no more. Tokens are all texts that it reads, four
characters a token.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

from mcp.client.client import Client
from measure import Table
from research import Gathered, arguments, stored_musique

from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.ingest.names import name_key, names_in, words_of
from knowtrail.retrieval.mcp.server import build_server
from knowtrail.retrieval.mcp.tools import Tools

if TYPE_CHECKING:
    import argparse

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.graph.settings import Settings

__all__ = ["arguments", "run"]

CALLS = (1, 3, 6)
PASSAGES = 3


SIDES = {
    "auto": "our search (`auto`)",
    "basic_retrieval": "the same by cosines",
    "cypher": "`read_cypher` with full text",
}
_FULL_TEXT = """
CALL db.index.fulltext.queryNodes('chunk_text', $words, {limit: 100})
YIELD node, score
WHERE node.corpus = $corpus
RETURN node.id AS chunk_id, node.text AS text
LIMIT $k
"""


async def _passages(
    client: Client, question: str, *, corpus: str, side: str
) -> list[tuple[str, str]]:
    """Return ids and texts of the best passages by a call of a side's tool."""
    if side == "cypher":
        words = " ".join(word.casefold() for word in words_of(question))
        given: Any = {"words": words, "corpus": corpus, "k": PASSAGES}
        asked: dict[str, Any] = {"statement": _FULL_TEXT, "parameters": given}
        tool = "read_cypher"
    else:
        tool = "search"
        asked = {"question": question, "corpus": corpus, "k": PASSAGES}
        asked["algorithm"] = side
    answer = await client.call_tool(tool, asked)
    assert not answer.is_error, answer.content
    found = answer.structured_content or {}
    if side == "cypher":
        return [(chunk, text) for chunk, text in found["rows"]]
    return [(part["chunk_id"], part["text"]) for part in found["parts"]]


async def gathered(
    client: Client, question: str, *, calls: int, corpus: str, side: str
) -> list[str]:
    """Return the ids of the chunks that the agent reads for a question."""
    read: dict[str, None] = {}
    waiting = [question]
    known = {name_key(words_of(name.label)) for name in names_in(question)}
    for _ in range(calls):
        if not waiting:
            break
        found = await _passages(client, waiting.pop(0), corpus=corpus, side=side)
        for chunk, text in found:
            if chunk in read:
                continue
            read[chunk] = None
            for name in names_in(text):
                key = name_key(words_of(name.label))
                if name.certain and key not in known:
                    known.add(key)
                    waiting.append(f"{name.label}: {question}")
    return list(read)


async def _asked(
    settings: Settings, bench: Bench, questions: list[RetrievalQuestion]
) -> dict[tuple[str, int], Gathered]:
    """Let the agent answer all questions, over both sides and with several budgets."""
    sides = {}
    async with await AsyncConnection.open(settings) as connection:
        with closing(Tools(connection, settings)) as tools:
            async with Client(build_server(tools)) as client:
                for calls in CALLS:
                    for name in SIDES:
                        side = sides[name, calls] = Gathered(bench)
                        for question in questions:
                            found = await gathered(
                                client,
                                question.text,
                                calls=calls,
                                corpus=bench.corpus.name,
                                side=name,
                            )
                            side.add(question, found)
    return sides


def run(given: argparse.Namespace) -> None:
    """Store the passages, let the agent ask, and print the table."""
    with stored_musique(given.data, small=given.small) as stored:
        server, bench, _, questions = stored
        sides = asyncio.run(_asked(server.settings, bench, questions))
        table = Table(
            f"An agent by rule on {len(questions)} questions of MuSiQue-100, percent",
            ("search", "calls", "gold found", "all found", "passages", "tokens"),
        )
        for (name, calls), side in sides.items():
            table.add(SIDES[name], str(calls), *side.cells()[:4])
        table.print(server)
