"""Research on a real server: what is found, stored, checked, and gone on with."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from langchain_core.language_models.chat_models import SimpleChatModel

from knowtrail import aresearch, research
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import (
    DatabaseError,
    InputError,
    MissingExtraError,
    ModelError,
    UnknownCorpusError,
)
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.models.language_models import LanguageModel, load_language_model
from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.forgetting import forget_documents
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.verify import verify_corpus
from knowtrail.retrieval.research import run
from knowtrail.retrieval.research.report import EXTRACTED
from knowtrail.retrieval.research.workflow import research_graph
from tests.command_line import CommandLine
from tests.corpora import ListSource
from tests.ollama import SMALL_MODEL, need_small_model
from tests.proxies import proxied
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowtrail.retrieval.research.report import ResearchReport
    from tests.databases import Database

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

EMBEDDER = HashEmbedder(32)
QUESTION = "Who taught the keeper of the lighthouse of Skarn, and who built its lamp?"
TEXTS = {
    "Skarn": "Skarn is an island. The lighthouse of Skarn has a keeper, Mara Veld. "
    "Its lamp was built by Ivo Brandt in 1871.",
    "Mara Veld": "Mara Veld keeps a lighthouse. She was taught by Osk Tarn in Oster. "
    "Mara Veld was born in Oster.",
    "Ivo Brandt": "Ivo Brandt ground lenses. He had his workshop in Oster. "
    "A lamp of his burns at Skarn.",
    "Osk Tarn": "Osk Tarn taught navigation. His pupils came from Oster. "
    "He wrote a book about tides.",
    "Oster": "Oster is a harbour. Ships from Oster sail by night. "
    "The town has a school & <b>museum</b>.",
}
NOWHERE = Settings(ollama_url="http://127.0.0.1:9")


class Scripted(SimpleChatModel):
    """A chat model that says what a function makes of its prompt."""

    says: Any
    asked: list[str] = []  # noqa: RUF012  (a field of pydantic's)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: Sequence[Any], *_: Any, **__: Any) -> str:
        self.asked.append(str(messages[-1].content))
        return str(self.says(self.asked[-1]))


def scripted(says: Callable[[str], str]) -> tuple[LanguageModel, list[str]]:
    """Return a model, and the prompts that it is given."""
    chat = Scripted(says=says, asked=[])
    return LanguageModel(chat, name="scripted"), chat.asked


def sensible(prompt: str) -> str:
    """Answer each kind of prompt as a good model would."""
    if "JSON: `questions`" in prompt:
        return '{"questions": ["Who is the keeper of Skarn?", "Who built the lamp?"]}'
    if "JSON: `notes`" in prompt:
        missing = ["Who taught Mara Veld?"] if "keeper of Skarn" in prompt else []
        notes = [{"text": "Noted so.", "numbers": [1, 99]}, {"text": "x"}]
        return json.dumps({"notes": notes, "missing": missing})
    if "JSON: `claims`" in prompt:
        claims = [("Osk Tarn taught her.", 1), ("It was Ivo.", 2)]
        rows = [{"text": text, "numbers": [number]} for text, number in claims]
        return json.dumps({"claims": rows})
    word = "supported" if "taught her" in prompt else "contradicted"
    return json.dumps({"verdict": word})


def fill(connection: Connection, server: Settings, **texts: str) -> None:
    """Store documents as the corpus `isles`."""
    ingest_corpus(
        connection,
        [
            ListSource([
                RawDocument(source_id=title, title=title, raw=text)
                for title, text in (TEXTS | texts).items()
            ])
        ],
        corpus="isles",
        embedder=EMBEDDER,
        settings=server,
        options=IngestOptions(themes="none"),
    )


@pytest.fixture
def line(
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> CommandLine:
    """Return commands that know the server and no language model, in a folder."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    return CommandLine(server, capsys, "hash:32")


@pytest.fixture
def isles(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a database with a small corpus and no research."""
    return database.holding(
        "isles to research", lambda: fill(session_connection, server), small=True
    )


def ask(isles: Connection, **given: Any) -> ResearchReport:
    """Research the question, without a model unless one is given."""
    given = {"embedder": EMBEDDER, "settings": NOWHERE, "budget": 8} | given
    return research(isles, given.pop("question", QUESTION), **given)


def counted(isles: Connection, label: str) -> int:
    """Return how many nodes have a label."""
    (row,) = isles.query(f"MATCH (n:{label}) RETURN count(n) AS n")
    return int(row["n"])


def test_a_report_without_a_model_quotes_stored_sentences(isles: Connection) -> None:
    """Each statement is its source word for word, and the report says what it is."""
    found = ask(isles)

    assert found.notes[0] == EXTRACTED
    assert found.model is None
    sources = {source.number: source for source in found.sources}
    statements = [one for _, part in found.parts for one in part]
    assert statements
    assert found.doubtful == ()
    for one in statements:
        assert (one.verdict, one.by) == ("quoted", "text")
        assert [sources[n].text for n in one.numbers] == [one.text]
    rows = isles.query(
        "MATCH (s:Sentence) WHERE s.id IN $ids RETURN s.id AS id, s.text AS text",
        {"ids": [source.sentence_id for source in found.sources]},
    )
    stored = {row["id"]: row["text"] for row in rows}
    assert stored == {s.sentence_id: s.text for s in found.sources}


def test_names_that_turn_up_are_followed(isles: Connection) -> None:
    """What was planned leads to names of the corpus that the question does not have."""
    found = ask(isles)

    planned = [q["text"] for q in found.questions if q["parent"] is None]
    assert planned[:3] == [
        QUESTION,
        "Who taught the keeper of the lighthouse of Skarn",
        "who built its lamp",
    ]
    followed = [q for q in found.questions if q["reason"] == "follow"]
    names = {q["text"].partition(":")[0] for q in followed}
    assert names <= {"Mara Veld", "Ivo Brandt", "Osk Tarn", "Oster"}
    assert names
    led = isles.query("MATCH (:SubQuestion)-[:LED_TO]->(q) RETURN q.id AS id")
    assert {row["id"] for row in led} == {q["id"] for q in followed}


def test_gaps_of_extractions_are_followed_and_themes_are_headings(
    isles: Connection,
) -> None:
    """The nearest gap of what was read is asked about; sentences stand by theme."""
    near, far = "Who taught the keeper of the lighthouse of Skarn, and when?", "Prices"
    isles.run_schema(
        "MATCH (d:Document {corpus: 'isles'}) "
        "MERGE (t:Theme {id: 'lamps', corpus: 'isles', name: 'lamps'}) "
        "CREATE (d)-[:HAS_THEME {rank: 0}]->(t) WITH d WHERE d.title = 'Skarn' "
        "CREATE (x:Extraction {id: 'x', corpus: 'isles'})-[:EXTRACTED_FROM]->(d) "
        f"WITH x UNWIND ['{near}', '{far}'] AS text "
        "CREATE (x)-[:LACKS]->(:Gap {id: text, corpus: 'isles', text: text})"
    )

    found = ask(isles, budget=30)

    gaps = [q["text"] for q in found.questions if q["reason"] == "gap"]
    assert gaps == [near]
    assert "(gap)" in found.markdown()
    assert [heading for heading, _ in found.parts] == ["lamps"]


def test_everything_is_a_node_that_saved_queries_show(isles: Connection) -> None:
    """Runs, plans, findings, claims and verdicts are stored, walks beside them."""
    found = ask(isles)

    (run,) = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert run["research"] == found.id
    assert (run["status"], run["stopReason"]) == ("complete", found.stop_reason)
    assert (run["walks"], run["findings"]) == (
        found.cost["walks"],
        len(found.findings),
    )
    asked = isles.read("inspect/research_plan", research=None, limit=None)
    assert [row["question"] for row in asked] == [q["text"] for q in found.questions]
    assert sum(row["traversal"] is not None for row in asked) == found.cost["walks"]
    claims = isles.read(
        *("inspect/research_claims",), research=found.id, verdict=None, limit=100
    )
    assert {row["claim"] for row in claims} == {
        one.text for _, part in found.parts for one in part
    }
    assert all(row["claim"] in row["sentences"][0] for row in claims)
    noted = isles.read("inspect/research_findings", research=found.id, limit=None)
    assert {row["finding"] for row in noted} == {f["text"] for f in found.findings}
    assert {row["finding"] for row in noted if row["claimed"]} == {
        row["claim"] for row in claims
    }
    assert all(row["finding"] in row["sentences"][0] for row in noted)
    assert [f.check for f in verify_corpus(isles, "isles") if f.count] == []


@pytest.mark.parametrize("budget", [1, 3])
def test_a_budget_is_kept(isles: Connection, budget: int) -> None:
    """No more walks than that; what was not asked any more is told."""
    found = ask(isles, budget=budget)

    assert found.cost["walks"] == budget
    assert found.stop_reason == "budget"
    assert any("not asked" in text for text in found.not_found)
    spent = ask(isles, budget=budget, model=scripted(sensible)[0]).cost
    assert 1 <= spent["walks"] <= spent["walks"] + spent["calls"] <= budget


def test_it_stops_where_nothing_new_is_found(isles: Connection) -> None:
    """A large budget is not used up by a small corpus."""
    found = ask(isles, budget=500)

    assert found.stop_reason == "nothing_new"
    assert found.cost["walks"] < 60
    assert all(q["walked"] for q in found.questions)


def test_a_model_plans_notes_drafts_and_judges(isles: Connection) -> None:
    """Each of its answers is used, and what it was not given is left out."""
    model, asked = scripted(sensible)

    found = ask(isles, model=model, budget=30)

    texts = [q["text"] for q in found.questions]
    assert texts[:3] == [
        QUESTION,
        "Who is the keeper of Skarn?",
        "Who built the lamp?",
    ]
    assert "Who taught Mara Veld?" in texts
    assert {f["text"] for f in found.findings} == {"Noted so."}
    assert all(len(f["sentences"]) == 1 for f in found.findings)
    ((heading, (held,)),) = found.parts
    assert (heading, held.text, held.verdict) == (
        "",
        "Osk Tarn taught her.",
        "supported",
    )
    (doubtful,) = found.doubtful
    assert (doubtful.verdict, doubtful.by) == ("contradicted", "model")
    assert "It was Ivo." in found.markdown().partition("do not support")[2]
    assert len(asked) == found.cost["calls"] <= 30
    assert found.notes[0].startswith("Written by scripted.")


def test_what_sentences_contradict_is_asked(
    isles: Connection, server: Settings
) -> None:
    """Where a model sees two sentences apart, it is walked for what settles them."""
    fill(isles, server, Ledger="The lamp of Skarn was built by Osk Tarn in 1868.")
    settling = "Was the lamp of Skarn built by Ivo Brandt or by Osk Tarn?"

    def doubting(prompt: str) -> str:
        if "JSON: `notes`" not in prompt or settling in prompt:
            return sensible(prompt)
        apart = "in 1871" in prompt and "in 1868" in prompt
        notes = [{"text": "Noted so.", "numbers": [1]}]
        return json.dumps({"notes": notes, "missing": [settling] if apart else []})

    found = ask(isles, model=scripted(doubting)[0], budget=30)

    (asked,) = [q for q in found.questions if q["text"] == settling]
    assert (asked["reason"], bool(asked["walked"])) == ("model", True)
    assert asked["parent"] is not None


def test_claims_that_no_call_is_left_for_are_checked_by_cosine(
    isles: Connection,
) -> None:
    """Where the model does not judge, the report says that a cosine did."""

    def never_judging(prompt: str) -> str:
        return "Hm." if "JSON: `verdict`" in prompt else sensible(prompt)

    found = ask(isles, model=scripted(never_judging)[0], budget=30)

    statements = [*(one for _, part in found.parts for one in part), *found.doubtful]
    assert {one.by for one in statements} == {"cosine"}
    assert all(isinstance(one.score, float) for one in statements)
    assert "2 by the cosine" in found.notes[0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "rubbish", ["", "???", '{"notes": 7}', "[1, 2", '{"verdict": {"a": []}}']
)
def test_a_model_that_talks_rubbish_is_done_without(
    isles: Connection, rubbish: str
) -> None:
    """After a few answers of no use it is not asked; sentences stand for its words."""
    model, asked = scripted(lambda _: rubbish)

    found = ask(isles, model=model, budget=40)

    assert len(asked) == 3  # not ten times, though there is room for it
    assert found.cost["walks"] > 3
    assert found.findings
    statements = [one for _, part in found.parts for one in part]
    assert {one.verdict for one in statements} == {"quoted"}
    assert any("of no use" in note for note in found.notes)


def test_a_run_goes_on_wherever_it_was_left(isles: Connection) -> None:
    """Killed at each of its writes, it ends as one that was not, walking no more."""
    walks = 3
    whole = ask(isles, budget=walks)
    writes = 1 + 2 * walks + 1 + counted(isles, "Claim")

    points = range(1, writes + 1)[:: amount(3, 1)]

    for last in points:
        seen = 0

        def kill(*_: object, last: int = last) -> None:
            nonlocal seen
            seen += 1
            if seen == last:
                raise KeyboardInterrupt

        question = f"{QUESTION[:-1]}{' ' * last}?"
        with pytest.raises(KeyboardInterrupt):
            ask(isles, budget=walks, question=question, progress=kill)
        before = counted(isles, "Traversal")
        again = ask(isles, budget=walks, question=question)

        assert [f["sentences"] for f in again.findings] == [
            f["sentences"] for f in whole.findings
        ]
        assert again.parts == whole.parts
        assert again.cost == whole.cost
        assert counted(isles, "Traversal") - before == walks - min(walks, last // 2)
        assert [set(q) for q in again.questions] == [set(q) for q in whole.questions]
        assert [set(f) for f in again.findings] == [set(f) for f in whole.findings]
    assert counted(isles, "Research") == len(points) + 1


def test_a_model_that_goes_away_leaves_a_run_to_go_on_with(isles: Connection) -> None:
    """The error says why; the same call, when it is back, asks for nothing twice."""
    down = False

    def says(prompt: str) -> str:
        if down:
            raise ConnectionError("gone")
        return sensible(prompt)

    def fail_later(*_: object) -> None:
        nonlocal down
        down = True

    model, asked = scripted(says)
    with pytest.raises(ModelError, match="gone"):
        ask(isles, model=model, progress=fail_later)
    down = False
    found = ask(isles, model=model)

    assert sum("JSON: `questions`" in prompt for prompt in asked) == 1
    assert found.notes[-1].startswith("This run was left")


def test_a_walk_is_kept_and_paid_for_though_its_note_fails(isles: Connection) -> None:
    """However often the model is away, it is one walk, and its sentences are noted."""
    down = True

    def says(prompt: str) -> str:
        if down and "JSON: `notes`" in prompt:
            raise ConnectionError("gone")
        return sensible(prompt)

    model, _ = scripted(says)
    for _ in range(3):
        with pytest.raises(ModelError, match="gone"):
            ask(isles, model=model, budget=30)
    (run,) = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert (run["status"], run["walks"], run["findings"]) == ("broken", 1, 0)
    assert counted(isles, "Traversal") == 1

    down = False
    found = ask(isles, model=model, budget=30)

    assert found.findings[0]["question"] == found.questions[0]["id"]
    assert counted(isles, "Traversal") == found.cost["walks"]
    assert all(q["noted"] for q in found.questions)


def test_a_model_that_misses_nothing_is_believed(isles: Connection) -> None:
    """Names are followed where it gave no answer, and not where it said `none`."""

    def says(prompt: str) -> str:
        content = sensible(prompt)
        return content.replace('["Who taught Mara Veld?"]', "[]")

    found = ask(isles, model=scripted(says)[0], budget=60)

    assert {q["reason"] for q in found.questions} == {"question", "model"}
    assert (found.cost["walks"], found.stop_reason) == (3, "nothing_new")


def test_findings_without_room_in_the_prompt_are_told(isles: Connection) -> None:
    """The best stand first; a number that the model was not shown is no citation."""
    last = 0

    def says(prompt: str) -> str:
        nonlocal last
        if "JSON: `notes`" in prompt:
            return json.dumps({
                "notes": [{"text": "So it is. " * 100, "numbers": [n]} for n in (1, 2)],
                "missing": [],
            })
        if "JSON: `claims`" not in prompt:
            return sensible(prompt)
        last = prompt.count("\n[")
        rows = [{"text": f"Claim {n}.", "numbers": [n]} for n in range(1, 9)]
        return json.dumps({"claims": rows})

    chat = Scripted(says=says, asked=[])
    model = LanguageModel(chat, name="scripted", prompt_tokens=2_400)
    found = ask(isles, model=model, budget=30)

    claims = isles.query("MATCH (c:Claim)-[:DRAWN_FROM]->(f) RETURN f.score AS score")
    unread = len(found.findings) - last
    assert 0 < last < len(found.findings)
    best = sorted((f["score"] for f in found.findings), reverse=True)
    assert sorted((r["score"] for r in claims), reverse=True) == best[:last]
    assert any(note.startswith(f"{unread} finding") for note in found.notes)


def test_a_run_belongs_to_one_process(isles: Connection) -> None:
    """One that goes on is left alone; one that is quiet for long is taken, once."""
    told: list[str] = []

    def again(*_: object) -> None:
        if not told:
            with pytest.raises(InputError, match="being researched since") as refused:
                ask(isles)
            told.append(str(refused.value))
            assert ask(isles, budget=1, fresh=True).cost["walks"] == 1

    found = ask(isles, progress=again)
    assert "--fresh" in told[0]
    assert counted(isles, "Research") == 2
    assert isles.query(
        "MATCH (r:Research {id: $id}) RETURN r.walks AS walks", {"id": found.id}
    ) == [{"walks": found.cost["walks"]}]


QUIET = "SET r.updatedAt = r.updatedAt - duration({minutes: 11})"
KILLED = "SET r.owner = replace(r.owner, $here, $gone)"


@pytest.mark.parametrize("change", [QUIET, KILLED], ids=["quiet", "killed"])
def test_a_run_that_was_left_is_taken_once(isles: Connection, change: str) -> None:
    """A process that is quiet for long, or is no more, has its run taken."""
    taken: list[ResearchReport] = []
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()

    def left(*_: object) -> None:
        if not taken:
            isles.driver.execute_query(
                f"MATCH (r:Research {{status: 'running'}}) {change}",
                {"here": f" {os.getpid()} ", "gone": f" {ended.pid} "},
            )
            taken.append(ask(isles, budget=2))

    with pytest.raises(InputError, match="Another process goes on"):
        ask(isles, budget=2, progress=left)
    assert taken[0].notes[-1].startswith("This run was left")
    runs = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert [run["status"] for run in runs] == ["complete"]


def test_what_is_left_of_a_plan_is_approved(isles: Connection) -> None:
    """Where a run goes on, the open questions are shown; what is left out is gone."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    shown: list[str] = []

    def keep_last(plan: Sequence[str]) -> list[str]:
        shown.extend(plan)
        return [*plan[-1:], "Where is Oster?"]

    with pytest.raises(KeyboardInterrupt):
        ask(isles, progress=stop)
    found = ask(isles, budget=2, approve=keep_last)

    assert shown[0] == QUESTION
    planned = [q["text"] for q in found.questions if q["parent"] is None]
    assert planned == [shown[-1], "Where is Oster?"]
    asked = isles.read("inspect/research_plan", research=found.id, limit=None)
    assert [row["question"] for row in asked] == [q["text"] for q in found.questions]
    assert [f.check for f in verify_corpus(isles, "isles") if f.count] == []

    with pytest.raises(InputError, match="ask something"):
        ask(isles, fresh=True, approve=lambda plan: [*plan, " "])
    assert counted(isles, "Research") == 1


def test_a_person_approves_the_plan(isles: Connection) -> None:
    """What is left out is not asked, what is added is; refusing stores nothing."""
    with pytest.raises(InputError, match="refused"):
        ask(isles, approve=lambda _: ())
    assert counted(isles, "Research") == 0

    found = ask(isles, budget=3, approve=lambda plan: [*plan[1:2], "Where is Oster?"])

    assert [(q["text"], q["reason"]) for q in found.questions[:2]] == [
        ("Who taught the keeper of the lighthouse of Skarn", "clause"),
        ("Where is Oster?", "person"),
    ]


def test_the_graph_can_be_taken_apart(isles: Connection) -> None:
    """Its steps are named, and one more can be put between them."""
    graph = research_graph()

    assert {*graph.nodes} == {"plan", "approve", "walk", "note", "draft", "check"}
    drawn = graph.compile().get_graph().draw_mermaid()
    assert "walk --> note" in drawn


@pytest.mark.thorough
def test_a_corpus_that_changes_meanwhile_is_told(
    isles: Connection, server: Settings
) -> None:
    """The report says so; where the corpus is deleted, the run ends with an error."""
    changed = False

    def change(*_: object) -> None:
        nonlocal changed
        if not changed:
            changed = True
            fill(isles, server, Tides="Tides come twice a day. Osk Tarn knew them.")

    found = ask(isles, progress=change)
    assert any("changed meanwhile" in note for note in found.notes)
    assert found.parts[0][0] != ""

    with pytest.raises(UnknownCorpusError):
        ask(isles, progress=lambda *_: delete_corpus(isles, "isles"))


def test_a_corpus_that_is_being_written_is_read_as_it_is(
    isles: Connection, server: Settings
) -> None:
    """While an ingest goes on beside it, each report quotes what is stored."""
    towns = {f"Town {n}": f"Town {n} lies by Skarn. It has a lamp." for n in range(60)}
    writing = threading.Thread(target=fill, args=(isles, server), kwargs=towns)
    writing.start()
    reports = []
    while writing.is_alive() or not reports:
        reports.append(ask(isles, budget=3, fresh=True))
    writing.join()

    for report in reports:
        stored = isles.read(
            "research/sentences", ids=[s.sentence_id for s in report.sources]
        )
        assert {row["text"] for row in stored} == {s.text for s in report.sources}
    assert [f.check for f in verify_corpus(isles, "isles") if f.count] == []


@pytest.mark.parametrize(
    "question",
    [
        "....",
        "\u2603 \u2603\u2603",
        "zxqv bnmp wrt",
        "\U00013080" * 9,
        "\u202e(;;; \u0661",
    ],
)
def test_a_question_in_no_language_has_a_report(
    isles: Connection, question: str
) -> None:
    """It walks, ends, and says what was asked without an answer near it."""
    found = ask(isles, question=question, budget=4)

    assert 1 <= found.cost["walks"] <= 4
    assert found.doubtful == ()
    assert any("nothing near it" in text for text in found.not_found)
    assert question in found.html()
    assert "## What was not found" in found.markdown()


@pytest.mark.thorough
def test_a_database_that_stops_in_the_middle_leaves_what_it_has(
    isles: Connection, server: Settings
) -> None:
    """The error is one line; later the same call goes on from what was stored."""
    address = urlsplit(server.uri or "")
    with proxied(address.hostname or "", address.port or 0) as proxy:
        uri = f"bolt://127.0.0.1:{proxy.port}"
        away = replace(server, uri=uri, retry_seconds=2.0)
        writes = 0

        def stop(*_: object) -> None:
            nonlocal writes
            writes += 1
            if writes == 3:
                proxy.cut_after = 0

        with (
            Connection.open(away) as connection,
            pytest.raises(DatabaseError) as told,
        ):
            ask(connection, progress=stop)
    assert "\n" not in str(told.value)
    (run,) = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert (run["status"], run["walks"]) == ("running", 1)

    with pytest.raises(InputError, match="10 minutes where its process is gone"):
        ask(isles)
    isles.run_schema(
        "MATCH (r:Research) SET r.updatedAt = r.updatedAt - duration({minutes: 11})"
    )
    found = ask(isles)

    assert counted(isles, "Traversal") == found.cost["walks"]
    assert found.notes[-1].startswith("This run was left")


async def test_a_task_does_as_a_call_does(isles: Connection) -> None:
    """The loop goes on beside it, and a coroutine approves the plan."""
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    async def kept(plan: Sequence[str]) -> list[str]:
        await asyncio.sleep(0)
        return [*plan[1:2], "Where is Oster?"]

    beside = asyncio.create_task(turn())
    given: dict[str, Any] = {"embedder": EMBEDDER, "settings": NOWHERE, "budget": 3}
    found = await aresearch(isles, QUESTION, approve=kept, **given)
    beside.cancel()

    again = ask(isles, budget=3, approve=lambda plan: [*plan[1:2], "Where is Oster?"])
    assert found.parts == again.parts
    assert found.questions[1]["reason"] == "person"
    assert turns > 10
    with pytest.raises(InputError, match="budget is 0"):
        await aresearch(isles, QUESTION, budget=0)


@pytest.mark.parametrize("at", ["approval", "walks"])
async def test_a_cancelled_task_can_be_gone_on_with(isles: Connection, at: str) -> None:
    """It ends with its step, in the thread too, and says that it is done with it."""
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def wait(plan: Sequence[str]) -> Sequence[str]:
        if at == "approval":
            reached.set()
            await asyncio.sleep(60)
        return plan

    def tell(*_: object) -> None:
        loop.call_soon_threadsafe(reached.set)

    given: dict[str, Any] = {"embedder": EMBEDDER, "settings": NOWHERE, "budget": 30}
    running = asyncio.create_task(
        aresearch(isles, QUESTION, approve=wait, progress=tell, **given)
    )
    await asyncio.wait_for(reached.wait(), 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    runs = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert [run["status"] for run in runs] == ([] if at == "approval" else ["broken"])
    found = await aresearch(isles, QUESTION, **given)
    assert counted(isles, "Traversal") == found.cost["walks"]
    assert counted(isles, "Research") == 1


@pytest.mark.ollama
@pytest.mark.one_line
@pytest.mark.thorough
def test_a_real_model_writes_a_whole_report(isles: Connection) -> None:
    """Whatever a small model says, the run ends within its budget, cited and stored."""
    settings = Settings.from_env()
    need_small_model(settings.ollama_url)
    model = load_language_model(SMALL_MODEL, settings=settings)

    found = ask(isles, model=model, budget=10)

    assert found.cost["calls"] > 0
    assert found.cost["tokens"] > 100
    assert found.cost["walks"] + found.cost["calls"] <= 10
    said = [*(one for _, part in found.parts for one in part), *found.doubtful]
    assert said
    assert all(one.numbers for one in said)
    assert {one.by for one in said} <= {"model", "cosine", "text"}
    (run,) = isles.read("inspect/research_runs", corpus="isles", limit=None)
    assert (run["status"], run["stopReason"]) == ("complete", found.stop_reason)
    assert [f.check for f in verify_corpus(isles, "isles") if f.count] == []


def test_research_goes_with_its_corpus(isles: Connection) -> None:
    """A deleted corpus leaves nothing of it, and orphans are found before."""
    ask(isles)
    isles.run_schema("MATCH (:SubQuestion)-[r:FOUND]->() DELETE r")

    (wrong,) = (f for f in verify_corpus(isles, "isles") if f.count)
    assert wrong.check.startswith("sub-questions, findings")
    delete_corpus(isles, "isles")

    (row,) = isles.query("MATCH (n) WHERE NOT n:SchemaVersion RETURN count(n) AS n")
    assert row["n"] == 0


def test_forgotten_documents_leave_no_word_in_findings(
    isles: Connection, server: Settings
) -> None:
    """What was quoted from them goes, with the claims and verdicts; the rest stays."""
    ask(isles)
    quoted = "MATCH (f:Finding)-[:SUPPORTED_BY]->(:Sentence)<-[:HAS_SENTENCE]-(:Chunk)"
    rows = isles.query(
        f"{quoted}-[:FROM_DOCUMENT]->(d) RETURN d.title AS title, collect(f.id) AS ids"
    )
    before = {row["title"]: set(row["ids"]) for row in rows}
    title = min(before)
    forget_documents(isles, "isles", [title], settings=server)

    left = {row["id"] for row in isles.query("MATCH (f:Finding) RETURN f.id AS id")}
    assert len(before) > 1
    assert left == set().union(*before.values()) - before[title]
    (row,) = isles.query(
        "MATCH (c:Claim) WHERE NOT (c)-[:DRAWN_FROM]->() RETURN count(c) AS n"
    )
    assert row["n"] == 0


def test_it_says_what_to_install(
    isles: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without LangGraph one line names the extra."""
    monkeypatch.setitem(sys.modules, "langgraph.graph", None)

    with pytest.raises(MissingExtraError, match="extra `research`"):
        ask(isles)


def test_the_command_writes_reports(
    isles: Connection, line: CommandLine, tmp_path: Path
) -> None:
    """Markdown and a page that can reach nothing, whose citations lead to sources."""
    for name in ("report.md", "report.html"):
        done = line.run(
            "research", QUESTION, "--budget", "6", "--report", tmp_path / name
        )
        assert (done.code, done.errors) == (0, [])
        assert f"Report: {tmp_path / name}" in done.out
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert '<a href="#source-1">[1]</a>' in page
    assert 'id="source-1"' in page
    assert "<circle" in page
    assert "<script" not in page
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "## Sources" in text
    assert "<b>museum" not in page + text
    assert "passage](report.walks.svg)" in text
    assert "<circle" in (tmp_path / "report.walks.svg").read_text("utf-8")
    shown = line.run("research", QUESTION, "--budget", "2", "--json")
    assert '"stopReason": "budget"' in shown.out


def test_a_report_that_cannot_be_written_is_shown(
    isles: Connection,
    line: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What was found is not lost where the folder is gone in the end."""
    folder = tmp_path / "reports"
    folder.mkdir()
    whole = run.research

    def and_remove(*given: Any, **more: Any) -> ResearchReport:
        found = whole(*given, **more)
        folder.rmdir()
        return found

    monkeypatch.setattr(run, "research", and_remove)
    words = ("--budget", "2", "--report", folder / "report.md")
    done = line.run("research", QUESTION, *words)

    assert done.code == 1
    assert "## What was found" in done.out
    assert "research_claims -p research=" in done.out
    assert "Report:" not in done.out
    (told,) = done.errors
    assert "Cannot write" in told


def test_the_command_asks_before_it_walks(
    isles: Connection, line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers leave questions out, `n` stops, and no answer at all does nothing."""
    for said, code in (("n", 2), ("", 2)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(said))
        assert line.run("research", QUESTION, "--approve").code == code
    assert counted(isles, "Research") == 0

    monkeypatch.setattr(sys, "stdin", io.StringIO("nope\n17\n1, 3\n"))
    words = ("--approve", "--budget", "2", "--json")
    answer = line.run("research", QUESTION, *words)
    done = json.loads(answer.out)
    said = "\n".join(answer.errors)
    assert "nope is no number of the plan" in said
    assert "17 is no number of the plan" in said

    assert done["questions"][0]["text"].startswith("Who taught the keeper")
    assert "who built its lamp" not in [q["text"] for q in done["questions"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["  "], "ask something"),
        ([QUESTION, "--budget", "0"], "budget is 0"),
        ([QUESTION, "--budget", "-3"], "budget is -3"),
        ([QUESTION, "--report", "."], "its name must end in .md or .html"),
        ([QUESTION, "--report", "folder.md"], "it is a folder"),
        ([QUESTION, "--report", "none/report.md"], "no folder"),
        ([QUESTION, "--corpus", "isle"], "did you mean 'isles'"),
        (["x" * 10_001], "10001 characters"),
    ],
)
def test_bad_input_is_told_in_a_line(
    isles: Connection, line: CommandLine, words: list[str], said: str
) -> None:
    """What is wrong and what to do, before anything is stored."""
    Path("folder.md").mkdir()

    done = line.run("research", *words)

    assert done.code == 2
    (told,) = done.errors
    assert said in told
    assert counted(isles, "Research") == 0
