"""Questions by templates on a real server: answers, conversations, both commands."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from mcp.client.client import Client
from prometheus_client import generate_latest

from knowtrail.eval.specificity.judging import (
    ask_questions,
    bundled_questions,
    custodians_of,
    key_of,
    load_questions,
    memory_pipeline,
)
from knowtrail.eval.specificity.measures import measure, store_outcomes
from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import InputError, QueryTimeoutError, UnknownCorpusError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.custodians import (
    CustodianFile,
    bundled_custodians,
    ingest_custodians,
)
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.mcp.server import build_server
from knowtrail.retrieval.mcp.tools import Tools
from knowtrail.retrieval.specificity.class_scores import load_lookup, write_scores
from knowtrail.retrieval.specificity.conversation import (
    Conversation,
    delete_conversation,
    read_conversation,
    store_turn,
)
from knowtrail.retrieval.specificity.execution import execute
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.live_pipeline import ChunkSearch, open_pipeline
from knowtrail.retrieval.specificity.monitoring import (
    SpecificityExperiment,
    SpecificityMetrics,
)
from knowtrail.retrieval.specificity.query_templates import (
    Instantiated,
    Run,
    TemplateInstantiator,
    load_templates,
)
from knowtrail.retrieval.specificity.routes import choose_route, institutions_of
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.heritage import gazetteer_rows, rdf_custodians, write_custodians
from tests.ollama import MODEL, parrot_server
from tests.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

BASE = "https://knowtrail.example/"
CASES: list[tuple[str, dict[str, str | tuple[str, ...]]]] = [
    ("list_institutions_by_type_city", {"institution_type": "M", "city": "Amsterdam"}),
    ("list_institutions_by_type_region", {"institution_type": "A", "region": "NL-UT"}),
    ("list_institutions_by_type_region", {"institution_type": "A", "region": "London"}),
    ("list_institutions_by_type_country", {"institution_type": "M", "country": "NL"}),
    ("count_institutions_by_type_location", {"country": "NL"}),
    (
        "count_institutions_by_type_location",
        {"institution_type": "M", "city": "Utrecht"},
    ),
    ("count_institutions_by_type", {"institution_type": "M"}),
    ("count_institutions_by_type", {}),
    ("list_all_institutions_in_city", {"city": "Utrecht"}),
    ("find_institution_by_name", {"name": "Scheldemuseum"}),
    ("find_institution_by_identifier", {"identifier": "BE-VAN-ANT-A-AS"}),
    ("find_institutions_by_founding_date", {"order": "newest", "city": "Amsterdam"}),
    (
        "find_institutions_by_founding_date",
        {"date": "1850", "date_relation": "before"},
    ),
    ("compare_locations", {"city": ("Amsterdam", "Utrecht"), "country": ("BE",)}),
    (
        "find_custodians_by_budget_threshold",
        {"budget": "2000000", "comparison": "above"},
    ),
    (
        "find_custodians_by_budget_threshold",
        {"budget": "900000", "comparison": "at_most", "country": "NL"},
    ),
    ("rank_institutions_by_budget", {"order": "poorest", "country": "NL"}),
    ("total_budgets", {"institution_type": "M", "country": "NL"}),
    ("compare_institutions", {"name": ("Scheldemuseum", "Isarbibliothek")}),
    (
        "list_institutions_by_type_city",
        {"institution_type": "M", "city": '" } DROP ALL #'},
    ),
]
NARROWED = [
    "Welke musea in Nederland zijn niet in de twintigste eeuw opgericht?",
    "Museums in the Netherlands, but not in Amsterdam, with less than a million euro",
    "How many institutions in Utrecht are not museums?",
    "Which is older, the Scheldemuseum or the Isarbibliothek?",
    "the second oldest museum in the Netherlands",
    "total budget of the museums in the Netherlands",
]


@pytest.fixture
def stored(connection: Connection) -> Connection:
    """Return a connection to a database with a few institutions."""
    write_custodians(connection)
    return connection


@pytest.fixture
def pipeline(stored: Connection, server: Settings) -> TemplatePipeline:
    """Return a pipeline that reads them live."""
    return open_pipeline(stored, server)


@pytest.fixture
def command_line(
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return the command line against the server."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    return CommandLine(server, capsys, "hash:32")


@pytest.mark.thorough
def test_live_and_memory_graph_heed_the_same_limits(
    pipeline: TemplatePipeline,
) -> None:
    """What is added to a query is a query of Neo4j too."""
    from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

    memory = TemplatePipeline(rdf_custodians(), build_gazetteer(gazetteer_rows()))

    for question in NARROWED:
        found = pipeline.forward(question)
        assert (found.status, found.left_out) == ("answered", ())
        assert found.answer == memory.forward(question).answer


@pytest.mark.thorough
def test_live_and_memory_graph_give_the_same_rows(stored: Connection) -> None:
    """Every template finds the same in Neo4j and in rdflib's memory."""
    from knowtrail.graph.rdf.store import live_graph

    live, memory = live_graph(stored), rdf_custodians()
    templates, make = load_templates(), TemplateInstantiator()

    found = {
        (name, str(slots)): [
            [row[1 if row and str(row[0]).startswith(BASE) else 0 :] for row in rows]
            for rows in (
                execute(graph, make.instantiate(templates[name], slots)).rows
                for graph in (live, memory)
            )
        ]
        for name, slots in CASES
    }

    assert {case: rows[0] for case, rows in found.items()} == {
        case: rows[1] for case, rows in found.items()
    }
    assert sum(bool(rows[0]) for rows in found.values()) == len(CASES) - 1


def test_gazetteer_is_that_of_the_rows(stored: Connection) -> None:
    """Cypher reads the names that institutions were stored with, by place."""
    rows = stored.read("retrieval/specificity_gazetteer", corpus=None)

    assert len(rows) == len({(r["city"], r["country"]) for r in gazetteer_rows()})
    assert build_gazetteer(rows) == build_gazetteer(gazetteer_rows())


def test_a_conversation_is_stored_and_goes_on(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """Turns are stored in order with what ran, and a follow-up builds on them."""
    first = pipeline.forward("Which archives are in Amsterdam?", conversation="c1")
    second = pipeline.forward("and in Utrecht?", conversation="c1")

    turns = stored.query(
        "MATCH (:Conversation {id: 'c1'})-[:HAS_TURN]->(t) RETURN t ORDER BY t.index"
    )
    chain = stored.query(
        "MATCH (a:Turn)-[:NEXT_TURN]->(b:Turn) RETURN a.id AS a, b.id AS b"
    )
    assert [row["t"]["answer"] for row in turns] == [first.answer, second.answer]
    assert chain == [{"a": first.turn_id, "b": second.turn_id}]
    assert second.resolution.question == "Which archives are in Utrecht?"
    assert "Domarchief Utrecht" in second.answer
    turn = turns[1]["t"]
    assert json.loads(turn["bindings"][0])["city"]["value"] == "Utrecht"
    assert "?city" in turn["sparql"][0]
    assert "Utrecht" not in turn["sparql"][0]
    assert "Archive" in turn["keptClasses"]
    assert "Gallery" in turn["droppedClasses"]
    assert len(turn["keptScores"]) == len(turn["keptClasses"])


def test_a_stored_conversation_is_read_as_it_was(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """What is read back is what the pipeline had."""
    pipeline.forward("Vergelijk Amsterdam en Utrecht", conversation="c2")
    result = pipeline.forward("en musea?", conversation="c2")

    assert read_conversation(stored, "c2") == result.conversation


def test_turns_that_come_at_once_make_one_chain(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """Two callers of one conversation, each from the same past, never fork it."""
    asked = pipeline.forward("Which archives are in Amsterdam?")
    before = Conversation(id="c4")
    result = replace(asked, conversation=before)
    start = Barrier(2)

    def store(caller: int) -> list[str]:
        start.wait()
        return [
            store_turn(
                stored, replace(result, question=f"{caller} {n}?"), before=before
            )
            for n in range(10)
        ]

    with ThreadPoolExecutor(2) as pool:
        ids = {one for made in pool.map(store, range(2)) for one in made}

    turns = stored.query(
        "MATCH (:Conversation {id: 'c4'})-[:HAS_TURN]->(t) RETURN t.index AS place, "
        "COUNT { (t)-[:NEXT_TURN]->() } AS after, COUNT { (t)<-[:NEXT_TURN]-() } AS "
        "before ORDER BY place"
    )
    assert len(ids) == 20
    assert [row["place"] for row in turns] == list(range(20))
    assert [row["after"] for row in turns] == [1] * 19 + [0]
    assert [row["before"] for row in turns] == [0] + [1] * 19


def test_a_conversation_is_deleted_whole(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """Nothing of it is left, and deleting it again is no error."""
    pipeline.forward("Which archives are in Amsterdam?", conversation="c3")

    delete_conversation(stored, "c3")
    again = delete_conversation(stored, "c3")

    left = stored.query("MATCH (n:Conversation|Turn) RETURN count(n) AS n")
    assert left == [{"n": 0}]
    assert not again.changed


def test_a_conversation_is_its_owners(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """One name is a conversation for each owner, and one of the database's holder."""
    owners = "ada", "bob", None

    for owner in owners:
        said = read_conversation(stored, "trip", owner=owner)
        pipeline.forward(f"Archives in Amsterdam, {owner}?", conversation=said)

    found = [read_conversation(stored, "trip", owner=owner) for owner in owners]
    assert [[turn.question for turn in one.turns] for one in found] == [
        [f"Archives in Amsterdam, {owner}?"] for owner in owners
    ]
    hidden = stored.query("MATCH (k:Conversation) RETURN k.id AS id")
    assert sum(row["id"] == "trip" for row in hidden) == 1


def test_a_new_institution_is_found_at_once(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """A node written by Cypher is seen by the next question."""
    before = pipeline.forward("How many museums are in Utrecht?")
    stored.driver.execute_query(
        "MATCH (c:Custodian {name: 'Museum Fort Blauwkapel'}) "
        "CREATE (n:Custodian) SET n = c {.*, id: 'new', name: 'New'} "
        "CREATE (n)-[:INSTANCE_OF]->(:OntologyClass {id: 'new'})",
        database_=stored.database,
    )
    after = pipeline.forward("How many museums are in Utrecht?")

    assert before.answer == "There is 1 museum in Utrecht."
    assert after.answer == "There are 2 museums in Utrecht."


@pytest.mark.usefixtures("stored")
def test_ask_has_a_model_understand(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call reads the question; without any model that is one line."""
    question = "Which archives are in Amsterdam?"
    words = ("ask", question, "--understand", "model")
    with parrot_server() as parrot:
        items = [
            {"kind": "institution_type", "words": "archives", "value": "A"},
            {"kind": "city", "words": "Amsterdam", "value": "Amsterdam"},
        ]
        template = "list_institutions_by_type_city"
        said = {"template_id": template, "confidence": 0.75, "items": items}
        parrot.says(json.dumps(said))
        monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", parrot.url)
        monkeypatch.setenv("KNOWTRAIL_LANGUAGE_MODEL", MODEL)
        done = command_line.run(*words)
    monkeypatch.delenv("KNOWTRAIL_LANGUAGE_MODEL")
    monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", "http://127.0.0.1:9")
    none = command_line.run(*words)

    assert "Stadsarchief Waterkant" in done.out
    assert "with confidence 0.75" in " ".join(done.errors)
    assert len(parrot.requests) == 1
    assert none.code != 0
    assert "ollama pull" in " ".join(none.errors)


def test_scores_are_stored_beside_what_ingest_wrote(stored: Connection) -> None:
    """Classes that institutions belong to get scores; a second run writes no node."""
    write_scores(stored, load_lookup())
    again = write_scores(stored, load_lookup())

    rows = stored.query(
        "MATCH (o:OntologyClass {name: 'Archive'}) RETURN o.specificity AS general, "
        "o.template_archive_search AS own, COUNT { (o)<-[:INSTANCE_OF]-() } AS of"
    )
    assert rows == [{"general": 0.75, "own": 0.95, "of": 4}]
    assert again.nodes_created == 0


def test_a_pipeline_that_records_stores_the_scores(
    stored: Connection, server: Settings
) -> None:
    """Nobody has to ask for it, and what is stored is not written again."""
    for record in (False, True, True):
        open_pipeline(stored, server, record=record)
        (row,) = stored.query(
            "MATCH (o:OntologyClass) RETURN count(o.specificity) AS scored"
        )
        assert bool(row["scored"]) == record

    assert row["scored"] == len(load_lookup().classes)
    assert write_scores(stored, load_lookup()).properties_set == 0


def test_an_endless_query_is_ended(stored: Connection) -> None:
    """A query that joins everything with everything ends in time."""
    from knowtrail.graph.rdf.store import live_graph

    text = "SELECT ?a WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(?a = 3) }"
    query = Instantiated(template_id="x", runs=(Run(sparql=text, bindings={}),))

    with pytest.raises(QueryTimeoutError, match="longer than"):
        execute(live_graph(stored, seconds=1.0), query, seconds=1.0)


def test_route_is_chosen_with_a_reason(pipeline: TemplatePipeline) -> None:
    """Questions for institutions go to templates, others to the graph."""
    expected = {
        "Which archives are in Amsterdam?": ("templates", "fits"),
        "What is the weather in Amsterdam?": ("graph", "nothing of heritage"),
        "Who is the director of the Scheldemuseum?": ("graph", "no template answers"),
        "and in Utrecht?": ("templates", "earlier"),
    }

    routes = {question: choose_route(pipeline, question) for question in expected}

    wrong = [
        (question, route)
        for question, route in routes.items()
        if route.name != expected[question][0]
        or expected[question][1] not in route.reason
    ]
    assert wrong == []


def test_a_graph_without_institutions_has_none(connection: Connection) -> None:
    """An empty database has nothing for templates."""
    found = institutions_of(connection)

    assert (found.stored, found.found) == (False, False)


@pytest.mark.usefixtures("stored")
def test_institutions_are_asked_for_once(
    connection: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there are any takes one statement, and opening a corpus none besides."""
    asked: list[str] = []
    read = connection.read

    def counting(statement: str, **values: Any) -> list[dict[str, Any]]:
        asked.append(statement)
        return read(statement, **values)

    monkeypatch.setattr(connection, "read", counting)

    found = institutions_of(connection, "heritage")
    open_pipeline(
        connection,
        server,
        corpus="heritage",
        record=False,
    )

    assert (found.stored, found.found) == (True, True)
    assert [name for name in asked if "custodians" in name] == []
    assert asked.count("retrieval/specificity_institutions") == 1
    assert asked.count("retrieval/specificity_gazetteer") == 1


@pytest.mark.usefixtures("stored")
def test_hints_are_in_the_language_of_the_answer(command_line: CommandLine) -> None:
    """A Dutch answer has no English around it."""
    done = command_line.run("ask", "--route", "templates", "Musea in Middelburg?")
    english = command_line.run("ask", "--route", "templates", "Museums in Middelburg?")

    assert any(line.startswith("Let op: ") for line in done.errors)
    assert "Het gesprek, beurt voor beurt:" in done.out
    assert "Ga verder met: " in done.out
    assert any(line.startswith("Note: ") for line in english.errors)
    assert "The conversation turn by turn:" in english.out


@pytest.mark.usefixtures("stored")
def test_places_are_listed_and_counted_live(pipeline: TemplatePipeline) -> None:
    """Several places, counts of lists and cut lists are the same over the database."""
    listed = pipeline.forward("Which archives are in Amsterdam or Utrecht?")
    counted = pipeline.forward("How many museums were founded before 1900?")

    assert "- Domarchief Utrecht (Utrecht)" in listed.answer
    assert counted.answer.startswith("There is 1 museum founded before 1900:")


@pytest.mark.usefixtures("stored")
def test_ask_answers_by_templates(command_line: CommandLine) -> None:
    """The command says its route, answers without a language model, and goes on."""
    first = command_line.run("ask", "--conversation", "k", "Archives in Amsterdam?")
    second = command_line.run(
        *("ask", "--route", "templates", "--json"),
        *("--conversation", "k", "en in Utrecht?"),
    )

    assert first.code == 0
    assert "Stadsarchief Waterkant" in first.out
    assert first.errors[0].startswith("Route: templates, because the template list_")
    answer = json.loads(second.out)
    assert answer["resolved"] == "Welke archieven zijn er in Utrecht?"
    assert answer["rows"][0][1] == "Domarchief Utrecht"


NEAR_UTRECHT = {
    "Stadsarchief Waterkant": (4.90, 52.37),
    "Domarchief Utrecht": (5.12, 52.09),
    "Museum Fort Blauwkapel": (5.14, 52.11),
    "Scheldemuseum": (4.40, 51.22),
}
"""Longitude and latitude of some of the institutions."""


def test_institutions_near_a_town_are_found(
    pipeline: TemplatePipeline, stored: Connection
) -> None:
    """By the distance that is said, or ten kilometres; other limits are not dropped."""
    stored.driver.execute_query(
        "UNWIND $places AS place MATCH (c:Custodian {name: place[0]}) "
        "SET c.location = point({longitude: place[1][0], latitude: place[1][1]})",
        places=[[name, list(at)] for name, at in NEAR_UTRECHT.items()],
        database_=stored.database,
    )

    near = pipeline.forward("Welke musea zijn er in de buurt van Utrecht?")
    wide = pipeline.forward("How many archives are within 25 miles of Utrecht?")
    follow = pipeline.forward("and museums?", conversation=wide.conversation)
    dated = pipeline.forward("Museums near Utrecht founded before 1950")
    unplaced = pipeline.forward("museums near Middelburg")

    assert near.template_id == wide.template_id == "list_institutions_near"
    assert near.names == ("Museum Fort Blauwkapel",)
    assert near.answer.startswith("1 museum binnen 10 km van Utrecht:")
    assert wide.answer.startswith("There are 2 archives within 40.2 km of Utrecht:")
    assert wide.names == ("Domarchief Utrecht", "Stadsarchief Waterkant")
    lacking = "2 of 4 archives have no coordinates and are not looked for."
    assert wide.notes[-1] == lacking
    assert follow.resolution.question == (
        "How many museums are within 25 miles of Utrecht?"
    )
    assert follow.names == ("Museum Fort Blauwkapel",)
    assert "near" in dated.left_out
    assert unplaced.left_out == ("near",)


@pytest.fixture(scope="module")
def example(emptied: Connection, server: Settings) -> Connection:
    """Return a database with the institutions of the example and their documents."""
    ingest_custodians(
        emptied,
        CustodianFile(bundled_custodians()),
        corpus="heritage",
        settings=server,
        embedder=HashEmbedder(32),
    )
    return emptied


def test_what_is_excluded_is_not_found(example: Connection, server: Settings) -> None:
    """An exclusion is part of the query that the database answers."""
    pipeline = open_pipeline(example, server, record=False)

    every = pipeline.forward("Which archives are in the Netherlands?")
    rest = pipeline.forward("Which archives in the Netherlands are not in Amsterdam?")

    assert set(rest.names) < set(every.names)
    assert len(rest.names) == 4


async def test_agents_are_told_within_the_room_that_there_is(
    example: Connection, server: Settings
) -> None:
    """Rows go on by their cursor; what was read for them comes once and is cut, too."""
    own = replace(server, embedder="hash:32")
    asked = {"question": "Which archives are in the Netherlands?", "k": 20}
    async with await AsyncConnection.open(own) as connection:
        with closing(Tools(connection, own)) as tools:
            async with Client(build_server(tools)) as asking:
                offered = {tool.name for tool in (await asking.list_tools()).tools}
            whole = await tools.ask_templates(**asked, max_tokens=50_000)
            answers = [await tools.ask_templates(**asked, max_tokens=100)]
            while cursor := answers[-1]["cursor"]:
                answers.append(
                    await tools.ask_templates(**asked, max_tokens=100, cursor=cursor)
                )

    assert "ask_templates" in offered
    assert [row for one in answers for row in one["rows"]] == whole["rows"]
    assert len(whole["rows"]) >= len(answers) > 1
    assert len(whole["chunks"]) > len(answers[0]["chunks"])
    assert [one["chunks"] for one in answers[1:]] == [[]] * (len(answers) - 1)
    assert max(len(str(one)) for one in answers) < 4_000


def test_chunks_are_searched_among_kept_classes_only(
    example: Connection, server: Settings
) -> None:
    """A question for archives finds chunks of classes that matter to it, ranked."""
    pipeline = open_pipeline(example, server, record=False)
    pipeline.search = ChunkSearch(example, "heritage", embedder=HashEmbedder(32))

    result = pipeline.forward("Which archives are in Amsterdam?", k=5)

    assert len(result.chunks) == 5
    assert {c.class_name for c in result.chunks} <= set(result.relevant_classes)
    scores = [c.score for c in result.chunks]
    assert scores == sorted(scores, reverse=True)
    first = result.chunks[0]
    assert first.score == pytest.approx(
        0.7 * first.similarity + 0.3 * first.specificity
    )
    assert first.title in result.context


def test_questions_of_no_type_only_rank_by_class(
    example: Connection, server: Settings
) -> None:
    """Classes below the threshold are found, too, with their scores."""
    metrics = SpecificityMetrics()
    pipeline = open_pipeline(example, server, record=False, metrics=metrics)
    pipeline.search = ChunkSearch(example, "heritage", embedder=HashEmbedder(32))

    result = pipeline.forward("List all institutions in Amsterdam", k=300)

    assert result.classes is not None
    others = [c for c in result.chunks if c.class_name in result.classes.dropped]
    assert (result.context_template, len(others) > 0) == ("location_browse", True)
    assert {c.specificity for c in others} == {0.2}
    assert b"specificity_classes_after_filter_count 0.0" in generate_latest(
        metrics.registry
    )


@pytest.mark.thorough
def test_what_the_filter_gains_is_reported_and_kept(
    example: Connection, command_line: CommandLine, tmp_path: Path
) -> None:
    """Means of reciprocal ranks, and of their differences, are live figures."""
    path = tmp_path / "asked.jsonl"
    lines = bundled_questions("dev").read_text(encoding="utf-8").splitlines(True)
    path.write_text("".join(lines[:12]), encoding="utf-8")
    command = ("eval", "specificity", "--questions", path)

    live = command_line.run(
        *command, "--live", "--corpus", "heritage", "--store", "--json"
    )
    shown = command_line.run(*command, "--live", "--corpus", "heritage")
    memory = command_line.run(*command, "--json")

    told = json.loads(live.out)["metrics"]
    used, unused = told["filter_gain_used"], told["filter_gain_unused"]
    ways = ("filtered", "ranked", "nearest")
    filtered, ranked, nearest = (told[f"mrr_{way}"]["value"] for way in ways)
    assert told["mrr"]["n"] == used["n"] + unused["n"] > used["n"] > 0
    assert told["filter_gain"]["value"] == pytest.approx(filtered - ranked)
    assert told["rank_gain"]["value"] == pytest.approx(ranked - nearest)
    assert "filter_gain_used" in shown.out
    assert "mrr" not in json.loads(memory.out)["metrics"]
    rows = example.query(
        "MATCH (:EvalRun {kind: 'specificity'})-[:HAS_METRIC]->(m) "
        "WHERE m.name = 'filter_gain' RETURN m.value AS value, m.n AS n"
    )
    assert rows == [{"value": told["filter_gain"]["value"], "n": told["mrr"]["n"]}]


def test_what_no_template_answers_is_answered_by_passages(
    example: Connection, server: Settings
) -> None:
    """The nearest passages are told with their sentences, without a model."""
    pipeline = open_pipeline(example, server, record=False, chunks=False)
    pipeline.search = ChunkSearch(example, "heritage", embedder=HashEmbedder(32))

    result = pipeline.forward("Which archive has letters about the painter?", k=20)
    listed = pipeline.forward("Which archives are in Amsterdam?")

    shown = result.as_dict()
    known = {
        row["id"]: row["chunk"]
        for row in example.query(
            "MATCH (s:Sentence)<-[:HAS_SENTENCE]-(c:Chunk) "
            "RETURN s.id AS id, collect(c.id) AS chunk"
        )
    }
    rests = [(c, i) for c in result.chunks[:5] for i in c.sentence_ids]
    assert (result.status, result.template_id) == ("none", "none")
    assert result.answer.splitlines()[1].startswith(f"[1] {result.chunks[0].title}: ")
    assert len(result.answer.splitlines()) == 6
    assert shown["citation"] == [i for _, i in rests] != []
    assert all(chunk.chunk_id in known[i] for chunk, i in rests)
    assert (listed.chunks, listed.as_dict()["citation"]) == ((), [])


def test_a_control_session_is_not_filtered(
    example: Connection, server: Settings
) -> None:
    """The control group searches all chunks; its turn says so, no metric counts it."""
    metrics = SpecificityMetrics()
    embedder = HashEmbedder(32)
    pipeline = open_pipeline(
        example,
        server,
        experiment=SpecificityExperiment(traffic_split=0.0),
        metrics=metrics,
    )
    pipeline.search = ChunkSearch(example, "heritage", embedder=embedder)

    result = pipeline.forward(
        "Which archives are in Amsterdam?", conversation="s", k=50
    )

    rows = example.query("MATCH (t:Turn) RETURN t.experimentGroup AS named")
    assert result.group == "control"
    assert b"specificity_classes_after_filter_count 0.0" in generate_latest(
        metrics.registry
    )
    assert rows == [{"named": "control"}]
    assert not {c.class_name for c in result.chunks} <= set(result.relevant_classes)


def test_many_classes_take_several_searches(example: Connection) -> None:
    """More classes than a filter holds leave none out: the nearest chunks are found."""
    search = ChunkSearch(example, "heritage", embedder=HashEmbedder(32))
    classes = ["Archive", "Museum", "Library"]
    padding = [f"Made{number:03d}" for number in range(400)]

    few = search.search("Old letters and maps", classes, k=8)
    many = search.search("Old letters and maps", [*padding, *classes], k=8)

    assert len(few) == 8
    assert {c.chunk_id: c.similarity for c in many} == pytest.approx({
        c.chunk_id: c.similarity for c in few
    })


@pytest.mark.usefixtures("stored")
def test_a_corpus_limits_institutions(
    connection: Connection, command_line: CommandLine, server: Settings
) -> None:
    """Of two corpora, answers, names and routes are those of the one that is named."""
    command_line.run(
        "ingest", "custodians", "--example", "--corpus", "other", "--no-documents"
    )
    question = "How many archives are in Amsterdam?"
    counts = {
        corpus: json.loads(
            command_line.run(
                *("ask", "--route", "templates", "--no-record", "--json"),
                *(["--corpus", corpus] if corpus else []),
                question,
            ).out
        )["rows"][0][0]
        for corpus in (None, "heritage", "other")
    }
    elsewhere = open_pipeline(connection, server, corpus="other", record=False)
    unknown = elsewhere.forward("Where is the Scheldemuseum?")
    nowhere = [
        command_line.run("ask", "--route", route, "--corpus", "x", question)
        for route in ("templates", "auto")
    ]

    assert counts["heritage"] == 1
    assert counts[None] == counts["heritage"] + counts["other"] > counts["other"]
    assert not unknown.execution or not unknown.execution.rows
    assert [one.code for one in nowhere] == [2, 2]
    assert all(
        "No corpus 'x': there is 'heritage', 'other'." in one.errors[-1]
        for one in nowhere
    )
    with pytest.raises(UnknownCorpusError):
        open_pipeline(connection, server, corpus="x", record=False)


def test_a_corpus_of_texts_alone_has_nothing_for_templates(
    stored: Connection, server: Settings
) -> None:
    """It is refused with what to do, rather than asked in vain."""
    ingest_corpus(
        stored,
        [ListSource([article(0)])],
        corpus="texts",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )

    with pytest.raises(InputError, match="'texts' has texts and no institutions"):
        open_pipeline(stored, server, corpus="texts", record=False)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.usefixtures("stored")
def test_templates_are_served(
    server: Settings, connection: Connection, tmp_path: Path
) -> None:
    """A running server answers, goes on with its caller's conversation, and counts."""
    keys = {"ada": "a" * 16, "bob": "b" * 16}
    file = tmp_path / "keys"
    file.write_text("".join(f"{name} {key}\n" for name, key in keys.items()), "utf-8")
    words = ("--uri", server.uri or "", "--embedder", "hash:32", "serve")
    env = {"NEO4J_PASSWORD": server.password or ""}
    with serving(*words, f"--key-file={file}", env=env, ready=False) as served:
        address = f"{served.url}/templates"
        with httpx.Client(timeout=60, auth=("", keys["ada"])) as client:
            asked = {"conversation": "h", "question": "Archives in Amsterdam?"}
            first = client.get(address, params=asked)
            second = client.post(
                address, json={"conversation": "h", "question": "en in Utrecht?"}
            )
            going_on = {"conversation": "h", "question": "en in Utrecht?"}
            other = client.get(address, params=going_on, auth=("", keys["bob"]))
            new = client.get(address, params={**going_on, "conversation": "no such"})
            bad = client.get(address, params={"question": "Archives?", "k": "0"})
            counted = client.get(f"{served.url}/metrics")
        code = served.stop()

    assert first.status_code == second.status_code == 200
    assert "Stadsarchief Waterkant" in first.json()["answer"]
    assert "Domarchief Utrecht" in second.json()["answer"]
    assert bad.status_code == 400
    assert "k is 0" in bad.text
    assert (
        "specificity_template_classifications_total"
        '{template_id="list_institutions_by_type_city"} 2.0'
    ) in counted.text
    assert code == 0
    turns = connection.query("MATCH (t:Turn) RETURN count(*) AS n")
    assert turns == [{"n": 4}]
    assert other.json()["answer"] == new.json()["answer"] != second.json()["answer"]


def test_other_labels_are_another_run(connection: Connection) -> None:
    """Corrected labels do not leave the old figures in the graph."""
    custodians = custodians_of(bundled_custodians())
    asked = load_questions(bundled_questions("dev"))[:1]
    outcomes = ask_questions(memory_pipeline(custodians), asked, key_of(custodians))
    labels = replace(asked[0], answer=replace(asked[0].answer, value=999))
    relabelled = [replace(outcomes[0], question=labels)]

    runs = {
        store_outcomes(
            connection, told, measure(told, resamples=9), dataset="d", configuration={}
        )
        for told in (outcomes, relabelled, outcomes)
    }

    assert len(runs) == 2


@pytest.mark.usefixtures("stored")
def test_classes_outside_the_schema_are_kept(
    connection: Connection, server: Settings
) -> None:
    """A class without scores has the default, and its chunks are searched."""
    connection.driver.execute_query(
        "MERGE (o:OntologyClass {id: 'herbarium'}) SET o.name = 'Herbarium'",
        database_=connection.database,
    )
    pipeline = open_pipeline(connection, server, record=False)

    result = pipeline.forward("Which archives are in Amsterdam?")

    assert "Herbarium" in result.relevant_classes
