"""Answers in words: retrieved, streamed, cited; by function and by command."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from graph.connection import AsyncConnection
from graph.embedders import HashEmbedder
from graph.errors import InputError, ModelError
from graph.language_models import load_language_model
from graph.settings import Settings
from ingest.options import IngestOptions
from ingest.pipeline import ingest_corpus
from retrieval.answers import NO_CITATIONS
from retrieval.ask import NOTHING_FOUND, Answer, aask, aask_stream, ask, ask_stream
from retrieval.procedures import acall, call
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.ollama import MODEL, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graph.connection import Connection
    from graph.language_models import LanguageModel
    from tests.ollama import Parrot

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

EMBEDDER = HashEmbedder(32)
QUESTION = "What shapes the glacier?"
SAID = '{"answer": "It is the ember.", "citations": [2, 99], "confidence": 0.5}'


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        yield parrot


@pytest.fixture
def model(parrot: Parrot) -> LanguageModel:
    """Return the model of that server."""
    parrot.says(SAID)
    return load_language_model(MODEL, settings=Settings(ollama_url=parrot.url))


@pytest.fixture
def stored(connection: Connection, server: Settings) -> Connection:
    """Return a connection to a database with a small corpus."""
    source = ListSource([article(number) for number in range(4)])
    ingest_corpus(
        connection,
        [source],
        corpus="c",
        embedder=EMBEDDER,
        settings=server,
        options=IngestOptions(themes="none"),
    )
    return connection


def test_answer_rests_on_sentences_of_the_walk(
    stored: Connection, model: LanguageModel
) -> None:
    """The walk is stored; numbers that were not given are left out."""
    found = ask(stored, EMBEDDER, QUESTION, model=model, max_sentences=5)

    assert found.text == "It is the ember."
    assert found.citations == (found.walk.sentences[1],)
    assert found.confidence == 0.5
    assert found.model == MODEL
    rows = stored.query(
        "MATCH (t:Traversal {id: $id}) RETURN t.sentences AS n",
        {"id": found.traversal_id},
    )
    assert rows == [{"n": 5}]
    assert found.as_dict()["sources"][0]["sentenceId"] == found.citations[0].id


def test_text_streams_as_the_model_speaks(
    stored: Connection, model: LanguageModel, parrot: Parrot
) -> None:
    """The first word does not wait for the second, and the answer comes last."""
    parrot.says('{"answer": "It', " is", '", "citations": [', "]}", pause=0.5)

    stream = ask_stream(stored, EMBEDDER, QUESTION, model=model, record=False)
    first, at_first = next(stream), time.monotonic()
    *rest, last = stream

    assert first == "It"
    assert rest == [" is"]
    assert time.monotonic() - at_first > 1
    assert isinstance(last, Answer)
    assert last.text == "It is"
    assert last.note == NO_CITATIONS
    assert last.traversal_id is None


def test_reader_who_leaves_frees_the_model(
    stored: Connection, model: LanguageModel, parrot: Parrot
) -> None:
    """Closing the stream ends the request."""
    parrot.says('{"answer": "', *["word "] * 100, pause=0.1)
    stream = ask_stream(stored, EMBEDDER, QUESTION, model=model, record=False)
    next(stream)

    stream.close()

    assert parrot.given_up.wait(10)


async def test_same_without_blocking(
    stored: Connection, model: LanguageModel, server: Settings
) -> None:
    """Function, stream and procedure have asynchronous twins with equal results."""
    once = ask(stored, EMBEDDER, QUESTION, model=model, record=False)
    spoken: list[str] = []
    async with await AsyncConnection.open(server) as connection:
        twin = await aask(
            connection,
            EMBEDDER,
            QUESTION,
            model=model,
            record=False,
            on_text=spoken.append,
        )
        pieces = [
            piece
            async for piece in aask_stream(
                connection, EMBEDDER, QUESTION, model=model, record=False
            )
        ]
        arguments = {"question": QUESTION}
        rows = await acall("search", connection, arguments, embedder=EMBEDDER)

    assert twin.citations == once.citations
    assert "".join(spoken) == once.text
    assert [type(piece) for piece in pieces] == [str] * (len(pieces) - 1) + [Answer]
    assert rows == call("search", stored, arguments, embedder=EMBEDDER)


def test_nothing_found_is_said_without_asking(
    stored: Connection, model: LanguageModel, parrot: Parrot
) -> None:
    """A filter that nothing passes leaves nothing to answer from."""
    found = ask(
        stored, EMBEDDER, QUESTION, model=model, filter={"title": "No such page"}
    )

    assert found.text == NOTHING_FOUND
    assert found.model is None
    assert parrot.requests == []


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 4_000, True, "9"])
def test_time_limit_that_is_none_is_refused(
    stored: Connection, model: LanguageModel, seconds: float
) -> None:
    """Before anything is asked or stored."""
    with pytest.raises(InputError, match=r"seconds is .*: give a number above 0"):
        ask(stored, EMBEDDER, QUESTION, model=model, seconds=seconds)


def test_model_that_takes_too_long_is_told(
    stored: Connection, model: LanguageModel, parrot: Parrot
) -> None:
    """The time limit is for the answer."""
    parrot.says('{"answer": "', *["word "] * 100, pause=0.1)

    with pytest.raises(ModelError, match=r"No answer from .* in 0\.5 seconds"):
        ask(stored, EMBEDDER, QUESTION, model=model, seconds=0.5, record=False)


class TestCommand:
    """`knowtrail ask`."""

    @pytest.fixture
    def command(
        self,
        stored: Connection,
        server: Settings,
        parrot: Parrot,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> CommandLine:
        """Return a command line whose language model says what it is told."""
        monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
        monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", parrot.url)
        monkeypatch.setenv("KNOWTRAIL_LANGUAGE_MODEL", MODEL)
        parrot.says(SAID)
        return CommandLine(server, capsys, "hash:32")

    def test_shows_answer_sources_and_where_the_walk_is(
        self, command: CommandLine
    ) -> None:
        """Words first, then the sentences they rest on."""
        done = command.run("ask", QUESTION)

        lines = done.out.splitlines()
        assert done.code == 0
        assert lines[0] == "It is the ember."
        assert len([line for line in lines if line.startswith("- ")]) == 1
        assert f"as {MODEL} says: 0.50" in done.out
        assert "cypher --saved traversal_steps -p traversal=" in done.out

    def test_json_is_one_object(self, command: CommandLine) -> None:
        """Nothing of the stream is mixed into it."""
        done = command.run("ask", QUESTION, "--json", "--no-record")

        found = json.loads(done.out)
        assert found["answer"] == "It is the ember."
        assert len(found["citation"]) == 1
        assert found["traversalId"] is None

    def test_controls_do_not_reach_the_terminal(
        self, command: CommandLine, parrot: Parrot
    ) -> None:
        """A model's escape sequences are shown as spaces; no citation is said so."""
        parrot.says(r'{"answer": "\u001b[31mred\u0007", "citations": []}')

        done = command.run("ask", QUESTION)

        assert done.out.splitlines()[0] == " [31mred "
        assert done.errors == [NO_CITATIONS]

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            (["--model", "nobody:1b"], 1, "run `ollama pull nobody:1b`"),
            (["--algorithm", "nothing"], 2, "Unknown algorithm 'nothing'"),
            (["--filter", "{"], 2, "--filter is not JSON"),
            (["--corpus", "d"], 2, "No corpus 'd'"),
            (["--seconds", "0"], 2, "seconds is 0.0"),
        ],
    )
    def test_mistakes_are_one_line(
        self, command: CommandLine, words: list[str], code: int, message: str
    ) -> None:
        """With what to do."""
        done = command.run("ask", QUESTION, *words)

        assert done.code == code
        assert len(done.errors) == 1
        assert message in done.errors[0]
