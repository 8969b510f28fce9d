"""`knowtrail extract` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.ollama import MODEL, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database
    from tests.ollama import Parrot

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

BLOCK = """[SKN]
@src geology | fresh:low | reliability:0.9
@facts
  ! "Ice is cold" [0.95]
@causal
  cold -> ice [0.9]
@gaps
  - the height
@risk misdirection:low | missing_context:low
[/SKN]"""
TITLE = article(1).title


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        yield parrot


@pytest.fixture
def command(
    database: Database,
    session_connection: Connection,
    server: Settings,
    parrot: Parrot,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return a command line on a small corpus, whose model writes a block."""

    def fill() -> None:
        ingest_corpus(
            session_connection,
            [ListSource([article(number) for number in range(3)])],
            corpus="c",
            embedder=HashEmbedder(32),
            settings=server,
            options=IngestOptions(themes="none"),
        )

    database.holding("three articles", fill, small=True)
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", parrot.url)
    monkeypatch.setenv("KNOWTRAIL_LANGUAGE_MODEL", MODEL)
    parrot.says(BLOCK)
    return CommandLine(server, capsys, "hash:32")


def test_whole_corpus_is_read_once(command: CommandLine, parrot: Parrot) -> None:
    """The second run skips all of it, and the corpus stays sound."""
    first = command.run("extract")
    again = command.run("extract", "--corpus", "c", "--json")

    assert first.code == 0
    assert first.out.splitlines()[0] == (
        f"skn by {MODEL}: 3 sources, 0 done before, 3 valid, 0 put right, 0 failed."
    )
    assert len(parrot.requests) == 3
    assert json.loads(again.out)["skipped"] == 3
    assert command.run("corpus", "verify", "c").code == 0


@pytest.mark.parametrize(
    ("offered", "words", "context", "answer"),
    [
        (8_192, (), 8_192, 4_096),
        (131_072, (), 32_768, 4_096),
        (131_072, ("--context", "65536", "--tokens", "9000"), 65_536, 9_000),
        (4_096, (), 4_096, 2_048),
    ],
)
def test_request_has_the_context_that_the_model_offers(
    command: CommandLine,
    parrot: Parrot,
    offered: int,
    words: tuple[str, ...],
    context: int,
    answer: int,
) -> None:
    """Answers have the tokens that were asked for, or it is said that they have not."""
    parrot.context = offered

    done = command.run("extract", "--documents", TITLE, *words)

    parrot.context = 4_096
    (request,) = parrot.requests
    assert request["options"]["temperature"] == 0
    assert request["options"]["num_ctx"] == context
    assert request["options"]["num_predict"] == answer
    told = f"Answers had {answer:,} tokens, not 4,096"
    assert any(line.startswith(told) for line in done.errors) == (answer == 2_048)


def test_what_was_read_is_told(
    command: CommandLine, parrot: Parrot, tmp_path: Path
) -> None:
    """Of 30,000 characters all are shown; those without a usable answer are named."""
    pages = [f"Ice number {n} is cold because of the wind. " for n in range(682)]
    results = [
        {"title": "Ice", "url": "https://x.example", "content": "".join(half)}
        for half in (pages[:341], pages[341:])
    ]
    found = tmp_path / "found.json"
    found.write_text(json.dumps({"what is ice": results}), "utf-8")
    words = ("--search", "what is ice", "--search-results", found, "--recorded-only")
    parrot.answers = lambda asked: "no" if "number 300 " in str(asked) else BLOCK

    done = command.run("extract", *words)
    again = command.run("extract", *words, "--json", "--retry-failed")
    parrot.says(BLOCK)
    mended = command.run("extract", *words, "--json", "--retry-failed")

    report, whole = json.loads(again.out), json.loads(mended.out)
    assert whole["readCharacters"] == whole["sourceCharacters"] >= 30_000
    assert (report["partial"], whole["partial"], whole["ok"]) == (1, 0, 1)
    assert report["answerTokens"] == 2_048
    assert 0 < report["readCharacters"] < report["sourceCharacters"]
    assert (
        f"{report['readCharacters']:,} of {report['sourceCharacters']:,} characters "
        f"read in {report['passages']} passages."
    ) in done.out
    assert any(line.startswith("1 text read in part") for line in done.errors)


def test_json_variants_are_asked_for_by_schema(
    command: CommandLine, parrot: Parrot
) -> None:
    """The server holds the model to the form."""
    parrot.says('{"entities": [], "relationships": [], "claims": []}')

    done = command.run("extract", "--documents", TITLE, "--variant", "json_conf")

    (request,) = parrot.requests
    claim = request["format"]["properties"]["claims"]["items"]
    assert done.code == 0
    assert claim["required"] == ["statement", "category", "confidence"]


def test_failed_answers_are_told_and_kept(command: CommandLine, parrot: Parrot) -> None:
    """A run in which nothing worked fails; a saved query shows what was said."""
    parrot.says("I am only a bird.")

    done = command.run("extract", "--documents", TITLE)
    shown = command.run("cypher", "--saved", "extraction_failures", "--json")

    again = command.run("extract", "--documents", TITLE)

    assert done.code == again.code == 1
    told = f"Error: Nothing worked: 1 extraction failed. The first: {TITLE}: line 1"
    assert done.errors[-1].startswith(told)
    assert "1 extraction failed, all before: --retry-failed" in again.errors[-1]
    assert len(parrot.requests) == 2
    assert "1 failed" in done.out
    assert any(line.startswith(f"Failed: {TITLE}: line 1") for line in done.errors)
    (row,) = json.loads(shown.out)
    assert (row["answer"], row["attempts"]) == ("I am only a bird.", 2)


def test_recorded_search_is_a_source(
    command: CommandLine, parrot: Parrot, tmp_path: Path
) -> None:
    """Without network, what was found before is read and stored."""
    found = tmp_path / "found.json"
    result = {"title": "Ice", "url": "https://x.example", "content": "Ice is cold."}
    found.write_text(json.dumps({"what is ice": [result], "nothing": []}), "utf-8")

    done = command.run(
        *("extract", "--search", "what is ice", "--search", "nothing"),
        *("--search-results", found, "--recorded-only"),
    )

    assert done.code == 0
    assert "1 source," in done.out
    assert done.errors[0] == "Nothing was found for 'nothing'."
    prompt = parrot.requests[0]["messages"][-1]["content"]
    assert "Title: Ice\nURL: https://x.example\nContent: Ice is cold." in prompt


def test_question_is_told_to_the_model(command: CommandLine, parrot: Parrot) -> None:
    """Only where the user wants it."""
    command.run("extract", "--documents", TITLE, "--question-aware", "Why cold?")

    assert "\nWhy cold?\n</question-" in parrot.requests[0]["messages"][-1]["content"]


MISTAKES = [
    (["--model", "nobody:1b"], 1, "run `ollama pull nobody:1b`"),
    (["--corpus", "d"], 2, "No corpus 'd'"),
    (["--documents", "Nowhere"], 2, "No document 'Nowhere' in corpus 'c'"),
    (["--variant", "xml"], 2, "'xml' is not one of"),
    (["--concurrency", "0"], 2, "concurrency is 0: give a number from 1 to 32"),
    (["--seconds", "0"], 2, "seconds is 0.0"),
    (["--question-aware", " "], 2, "The question is empty"),
    (["--recorded-only", "--search", "a"], 2, "needs --search-results FILE"),
    (["--search", "a", "--documents", "b"], 2, "give one of them"),
    (["--search-results", "none.json", "--recorded-only", "--search", "a"], 2,
     "none.json cannot be read"),
]  # fmt: skip


def test_mistakes_are_one_line(command: CommandLine) -> None:
    """With what to do."""
    done = [command.run("extract", *words) for words, _, _ in MISTAKES]

    assert [
        (words, did)
        for (words, code, message), did in zip(MISTAKES, done, strict=True)
        if did.code != code or message not in did.errors[-1]
    ] == []


def test_corpus_must_be_named_where_there_are_several(
    command: CommandLine, session_connection: Connection
) -> None:
    """The message says which there are."""
    session_connection.run_schema(
        "CREATE (:Corpus {name: 'd', version: 0, status: 'complete'})"
    )

    done = command.run("extract")

    assert done.code == 2
    assert "Name the corpus with --corpus: there is 'c', 'd'." in done.errors[-1]


def test_answer_comes_from_what_was_extracted(
    command: CommandLine, parrot: Parrot
) -> None:
    """`ask --context skn` after `extract` puts the blocks into the prompt."""
    command.run("extract")
    parrot.says('{"answer": "Cold.", "citations": [1], "confidence": 0.5}')

    done = command.run("ask", "What shapes the glacier?", "--context", "skn")

    assert done.code == 0
    assert done.out.splitlines()[0] == "Cold."
    assert '! "Ice is cold" [0.95]' in parrot.requests[0]["messages"][-1]["content"]
