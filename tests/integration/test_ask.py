"""Answers in words: retrieved, streamed, cited; by function and by command."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.settings import Settings
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.answers import NO_CITATIONS
from knowtrail.retrieval.ask import (
    NO_MODEL,
    NOTHING_FOUND,
    Answer,
    aask,
    aask_stream,
    ask,
    ask_stream,
)
from knowtrail.retrieval.procedures import acall, call
from knowtrail.retrieval.readers.opening import _TOLD
from knowtrail.retrieval.traverse import compare
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.ollama import MODEL, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from tests.databases import Database
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
def stored(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a database with a small corpus."""

    def fill() -> None:
        ingest_corpus(
            session_connection,
            [ListSource([article(number) for number in range(4)])],
            corpus="c",
            embedder=EMBEDDER,
            settings=server,
            options=IngestOptions(themes="none"),
        )

    return database.holding("four articles", fill, small=True)


def test_answer_rests_on_sentences_of_the_walk(
    stored: Connection, model: LanguageModel
) -> None:
    """The walk is stored; numbers that were not given are left out."""
    found = ask(stored, QUESTION, embedder=EMBEDDER, model=model, max_sentences=5)

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

    stream = ask_stream(stored, QUESTION, embedder=EMBEDDER, model=model, record=False)
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
    stream = ask_stream(stored, QUESTION, embedder=EMBEDDER, model=model, record=False)
    next(stream)

    stream.close()

    assert parrot.given_up.wait(10)


async def test_same_without_blocking(
    stored: Connection, model: LanguageModel, server: Settings
) -> None:
    """Function, stream and procedure have asynchronous twins with equal results."""
    once = ask(stored, QUESTION, embedder=EMBEDDER, model=model, record=False)
    spoken: list[str] = []
    async with await AsyncConnection.open(server) as connection:
        twin = await aask(
            connection,
            QUESTION,
            embedder=EMBEDDER,
            model=model,
            record=False,
            on_text=spoken.append,
        )
        pieces = [
            piece
            async for piece in aask_stream(
                connection, QUESTION, embedder=EMBEDDER, model=model, record=False
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
        stored,
        QUESTION,
        embedder=EMBEDDER,
        model=model,
        filter={"title": "No such page"},
    )

    assert found.text == NOTHING_FOUND
    assert found.model is None
    assert parrot.requests == []


async def test_without_a_model_the_nearest_sentences_are_the_answer(
    stored: Connection, server: Settings
) -> None:
    """Cited, in the order of the walk; the same without blocking; nothing is asked."""
    nobody = replace(server, ollama_url="http://127.0.0.1:9")

    found = ask(stored, QUESTION, embedder=EMBEDDER, settings=nobody, record=False)
    async with await AsyncConnection.open(server) as connection:
        twin = await aask(
            connection, QUESTION, embedder=EMBEDDER, settings=nobody, record=False
        )

    sentences = found.walk.sentences
    best = max(sentence.score for sentence in sentences)
    assert 1 <= len(found.citations) <= 5
    assert all(sentence.score >= best / 2 for sentence in found.citations)
    assert [s for s in sentences if s in found.citations] == list(found.citations)
    assert found.text.splitlines() == [
        f"{s.text} [{n}]" for n, s in enumerate(found.citations, start=1)
    ]
    assert (found.model, found.note, found.confidence) == (None, NO_MODEL, None)
    assert (twin.text, twin.citations) == (found.text, found.citations)


def test_a_model_that_is_named_must_be_there(
    stored: Connection, server: Settings
) -> None:
    """Sentences do not take the place of a model that somebody chose."""
    named = replace(server, ollama_url="http://127.0.0.1:9", language_model="mine:1b")

    with pytest.raises(ModelError, match="ollama pull mine:1b"):
        ask(stored, QUESTION, embedder=EMBEDDER, settings=named, record=False)


def test_time_limit_that_is_none_is_refused(
    stored: Connection, model: LanguageModel
) -> None:
    """Before anything is asked or stored."""
    for seconds in (0, -1, float("nan"), 4_000, True, "9"):
        with pytest.raises(InputError, match=r"seconds is .*: give a number above 0"):
            ask(stored, QUESTION, embedder=EMBEDDER, model=model, seconds=seconds)  # type: ignore[arg-type]


def test_model_that_takes_too_long_is_told(
    stored: Connection, model: LanguageModel, parrot: Parrot
) -> None:
    """The time limit is for the answer."""
    parrot.says('{"answer": "', *["word "] * 100, pause=0.1)

    with pytest.raises(ModelError, match=r"No answer from .* in 0\.5 seconds"):
        ask(stored, QUESTION, embedder=EMBEDDER, model=model, seconds=0.5, record=False)


def test_a_question_may_come_without_an_embedder(stored: Connection) -> None:
    """The corpus names its own, for every function of the front door."""
    from knowtrail import search, traverse

    walks = [
        search(stored, QUESTION, corpus="c").walk,
        search(stored, question=QUESTION, corpus="c").walk,
        traverse(stored, QUESTION, corpus="c", record=False).walk,
        ask(stored, QUESTION, corpus="c", record=False).walk,
        *(r.walk for r in compare(stored, QUESTION, corpus="c", record=False)[:1]),
    ]

    usual = search(stored, QUESTION, embedder=EMBEDDER, corpus="c").walk
    assert {walk.sentences for walk in walks} == {usual.sentences}
    with pytest.raises(InputError, match=r"question is .*: ask something"):
        search(stored, EMBEDDER)  # type: ignore[arg-type]


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

    def test_sentences_without_a_model_have_their_documents(
        self, command: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A number, and under it the document; a note says how to have more."""
        monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", "http://127.0.0.1:9")
        monkeypatch.delenv("KNOWTRAIL_LANGUAGE_MODEL")

        done = command.run("ask", QUESTION)

        lines = done.out.splitlines()
        assert (done.code, done.errors) == (0, [NO_MODEL])
        assert lines[0].endswith("[1]")
        (shown,) = [line for line in lines if line.startswith("[1] ")]
        (source, *_) = json.loads(command.run("ask", QUESTION, "--json").out)["sources"]
        assert shown == f"[1] {source['title']}, score {source['score']:.3f}"
        assert 0 < source["score"] < 1

    def test_lines_are_broken_where_the_terminal_ends(
        self, command: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Sentences and sources, between words; the note may have a command."""
        monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", "http://127.0.0.1:9")
        monkeypatch.delenv("KNOWTRAIL_LANGUAGE_MODEL")
        monkeypatch.setenv("COLUMNS", "40")

        done = command.run("ask", QUESTION, "--no-record")

        assert done.errors == [NO_MODEL]
        assert max(map(len, done.out.splitlines())) <= 40

    @pytest.mark.parametrize("words", ["ask", "traverse", "compare"])
    def test_no_steps_are_offered_of_a_walk_without(
        self, command: CommandLine, words: str
    ) -> None:
        """Where no chunk passed, nothing would come out."""
        done = command.run(words, QUESTION, "--filter", '{"title": "Nowhere"}')

        assert done.code == 0
        assert "cypher --saved" not in done.out

    def test_a_model_that_is_missing_has_one_exit_code(
        self, command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """1, from every command, before anything is done."""
        monkeypatch.setenv("KNOWTRAIL_LANGUAGE_MODEL", "nobody:1b")
        for name, row in {
            "q.jsonl": {"id": "q", "question": QUESTION, "gold_documents": ["p"]},
            "p.jsonl": {"id": "p", "title": "Ice", "text": "Ice shapes it."},
            "gold.jsonl": {"name": "Old house", "city": "Ely"},
            "got.jsonl": {"name": "House, old", "city": "Ely"},
        }.items():
            (tmp_path / name).write_text(json.dumps(row))
        fields = {name: {"type": "string"} for name in ("name", "city")}
        fields["name"]["x-eval-compare"] = "semantic"
        schema = {"type": "object", "properties": fields}
        (tmp_path / "schema.json").write_text(json.dumps(schema))
        monkeypatch.chdir(tmp_path)
        measured = "eval retrieval --dataset jsonl:q.jsonl,p.jsonl --algorithms"
        scored = "eval fields --gold gold.jsonl --extracted got.jsonl --schema"
        commands = [
            "ask Why? --corpus c",
            "ask Why? --corpus c --model nobody:1b",
            "search Why? --corpus c --model nobody:1b",
            "search Why? --corpus c --algorithm llm_guided_traversal --max-hops 2",
            "search Why? --corpus c --rerank pointwise:none.npz",
            "search Why? --corpus c --rerank cross-encoder:none",
            "traverse Why? --corpus c --model nobody:1b",
            "compare Why? --corpus c --model nobody:1b",
            "extract --corpus c",
            "ingest files p.jsonl --corpus new --themes llm",
            "dataset generate c --output asked.jsonl --work made",
            "eval skn --recorded-only --model nobody:1b --output made",
            f"{measured} dense --answers nobody:1b",
            f"{measured} dense --answers {MODEL} --judge nobody:1b",
            f"{measured} all+llm",
            f"{scored} schema.json --judge nobody:1b",
        ]

        done = {words: command.run(*words.split()) for words in commands}

        assert {words: did for words, did in done.items() if did.code != 1} == {}
        corpora = json.loads(command.run("corpus", "list", "--json").out)
        assert [corpus["name"] for corpus in corpora] == ["c"]

    def test_a_property_that_no_document_has_is_told(
        self,
        command: CommandLine,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Once a process, by every way to ask with a filter; the exit code stays."""
        given = {
            "document.number": {"$gte": 0},
            "$or": [
                {"document.yaer": 1},
                {"chunk.index": {"$in": ["no", 0.5]}},
                {"chunk.indx": 0},
                {"chunk.startChar": {"$between": ["a", "b"]}},
                {"document.title": {"$like": "moon"}},
                {"aliases": "Moon"},
            ],
        }
        words = [QUESTION, "--corpus=c", f"--filter={json.dumps(given)}", "--json"]
        told = (
            "The filter asks for {}, which no {} in {}corpus 'c' has, or none of "
            "that type: check both."
        )
        wanted = [
            told.format("document.yaer", "document", ""),
            told.format("chunk.indx", "chunk", ""),
            told.format("chunk.startChar", "chunk", ""),
        ]

        for name in ("search", "traverse", "compare", "ask"):
            _TOLD.clear()
            caplog.clear()
            assert command.run(name, *words).code == 0
            assert [m for m in caplog.messages if "The filter" in m] == wanted
        caplog.clear()
        assert command.run("search", *words).code == 0
        assert caplog.messages == []
        monkeypatch.setattr("knowtrail.retrieval.readers.opening._LOOKED_AT", 2)
        _TOLD.clear()
        command.run("search", *words)
        first = "the first 2 documents of "
        assert told.format("document.yaer", "document", first) in caplog.messages
        shown = command.spawn("search", *words)
        assert [line for line in shown.errors if "The filter" in line] == [
            f"Warning: {line}" for line in wanted
        ]

    def test_mistakes_are_one_line(self, command: CommandLine) -> None:
        """With what to do."""
        mistakes = [
            (["--model", "nobody:1b"], 1, "run `ollama pull nobody:1b`"),
            (["--algorithm", "nothing"], 2, "Unknown algorithm 'nothing'"),
            (["--filter", "{"], 2, "--filter is not JSON"),
            (["--corpus", "d"], 2, "No corpus 'd'"),
            (["--seconds", "0"], 2, "seconds is 0.0"),
        ]

        done = [command.run("ask", QUESTION, *words) for words, _, _ in mistakes]

        assert [
            (words, did)
            for (words, code, message), did in zip(mistakes, done, strict=True)
            if did.code != code or len(did.errors) != 1 or message not in did.errors[0]
        ] == []
