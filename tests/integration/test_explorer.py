"""The explorer in a real browser, on a graph with titles and texts that are markup."""

from __future__ import annotations

import os
import time
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.traverse import traverse
from knowtrail.retrieval.views.network import network_page
from knowtrail.retrieval.views.styles import RELATIONSHIPS
from tests.browser import OVERLAPS, chromium, looking
from tests.corpora import ListSource, article
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database
    from tests.serving import Serving

pytestmark = [pytest.mark.integration, pytest.mark.one_line]

MARKUP = "<img src=x onerror=\"document.title='pwned'\"><b>Bold</b>"
QUESTION = f"What shapes the glacier near the harbour? {MARKUP}"
HUB = "MATCH (n:Concept {id: 'hub'}) RETURN n"
MUCH = """
CREATE (h:Concept {id: 'hub', corpus: 'isles', name: $markup})
WITH h
UNWIND range(1, 10000) AS n
CREATE (h)-[:CAUSES {strength: n}]->(:Concept {id: 'c' + n, name: 'Concept ' + n})
"""
STORED = """
MATCH (d:Document {sourceId: 'hostile'})<-[:FROM_DOCUMENT]-(c:Chunk)
MATCH (c)-[:HAS_SENTENCE]->(s)
WITH d, collect(DISTINCT c) AS chunks, head(collect(s)) AS s
MATCH (t:Traversal)
WITH d, chunks, s, t LIMIT 1
CREATE (x:Extraction {id: 'x', corpus: 'isles', variant: 'v', model: $markup})
CREATE (x)-[:EXTRACTED_FROM]->(d)
CREATE (x)-[:STATES]->(f:Fact {id: 'f', text: $markup, confidence: 0.4})
CREATE (f)-[:SUPPORTED_BY {score: 0.9}]->(s)
CREATE (x)-[:LACKS]->(:Gap {id: 'g', text: $markup})
CREATE (q:Query {id: 'judged', corpus: 'isles', text: $markup, judgedAt: datetime()})
CREATE (b:Battle {id: 'b', queryId: 'judged', score: 0.5, reason: $markup})
SET b += {judges: ['j'], scores: [0.5], reasonings: [$markup]}
CREATE (b)-[:FOR_QUERY]->(q)
WITH d, chunks, t, q, b, chunks[0] AS one, chunks[1] AS two
CREATE (b)-[:LEFT]->(one)
CREATE (b)-[:RIGHT]->(two)
CREATE (q)-[:JUDGED {rank: 2, zelo: 0.1, stderr: 0.1}]->(one)
CREATE (q)-[:JUDGED {rank: 1, zelo: 0.9, stderr: 0.1}]->(two)
WITH d, t
UNWIND [['r1', 'auto', 0.6], ['r2', 'basic', 0.5]] AS run
CREATE (r:EvalRun {id: run[0], kind: 'retrieval', status: 'complete'})
SET r += {dataset: $markup, system: run[1], createdAt: datetime()}
CREATE (m:Metric {id: 'm' + run[0], name: 'recall@5', path: '', value: run[2]})
SET m += {ciLow: run[2] - 0.2, ciHigh: run[2] + 0.2, n: 9}
CREATE (r)-[:HAS_METRIC]->(m)
WITH d, t, r, run
UNWIND range(0, 4) AS at
CREATE (e:EvalRecord {id: 'e' + run[0] + at, recordId: 'q' + at, question: $markup})
SET e += {missed: ['p'], missedDocuments: [d.id]}
SET e += {index: at, recall_5: run[2] + at / 50.0}
CREATE (r)-[:HAS_RECORD]->(e)-[:JUDGES]->(t)
"""
THOUSAND = """
(async () => {
  const { Picture } = await import("/explore/picture.js");
  const { styles } = await (await fetch("/explore/about")).json();
  const host = document.createElement("div");
  host.style.height = "700px";
  document.getElementById("main").replaceChildren(host);
  const picture = new Picture(host, styles);
  const nodes = [...Array(1000).keys()].map((n) => (
    { id: `n${n}`, label: "Chunk", name: `Passage ${n}` }));
  const edges = nodes.slice(1).flatMap((node, n) => [1, 7].map((by) => (
    { id: `${n}-${by}`, source: node.id, target: `n${Math.floor(n / by)}`,
      label: "SIMILAR_TO", name: "" })));
  picture.show({ nodes, edges });
  const frame = () => new Promise((seen) => requestAnimationFrame(seen));
  await frame();
  await frame();
})()
"""
PAINTED = """
() => {
  const sheet = document.querySelector(".labels");
  const { data } = sheet.getContext("2d").getImageData(0, 0, sheet.width, sheet.height);
  return data.filter((value, n) => n % 4 === 3 && value).length;
}
"""
SCREENS = {
    "corpora": "#/corpora",
    "chains": f"#/corpora?from={quote(article(0).title)}&to={quote(article(1).title)}",
    "question": f"#/ask?algorithm=query_traversal&q={quote(QUESTION, safe='')}",
    "walks": "#/ask",
    "compare": "#/compare?algorithms=auto,basic_retrieval&q="
    + quote(QUESTION, safe=""),
    "document": f"#/document?title={quote(MARKUP, safe='')}",
    "documents": "#/document",
    "runs": "#/runs?first=r1&second=r2&run=r1",
    "extractions": "#/extractions",
    "battles": "#/battles",
    "cypher": "#/cypher?statement="
    + quote("MATCH p = (:Document)--() RETURN p LIMIT 60"),
    "saved query": "#/cypher?saved=inspect/documents",
    "procedures": "#/procedures?name=traverse",
}


@pytest.fixture(scope="module")
def isles(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a graph with one of everything, named and worded by markup."""
    hostile = f"The harbour of {MARKUP} has kelp. {article(3).raw} {MARKUP} is a name."

    def fill() -> None:
        ingest_corpus(
            session_connection,
            [
                ListSource([
                    *(article(n) for n in range(8)),
                    RawDocument(source_id="hostile", title=MARKUP, raw=hostile),
                ])
            ],
            corpus="isles",
            embedder=HashEmbedder(32),
            settings=server,
            options=IngestOptions(themes="keyphrases"),
        )
        traverse(
            session_connection,
            QUESTION,
            embedder=HashEmbedder(32),
            algorithm="query_traversal",
            corpus="isles",
            trace=True,
        )
        for text in (MUCH, STORED):
            session_connection.run_schema(text, markup=MARKUP)

    return database.holding("explored", fill)


@pytest.fixture(scope="module")
def served(
    isles: Connection, server: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    """Yield the server as `knowtrail explore` starts it."""
    assert isles is not None
    home = tmp_path_factory.mktemp("explorer home")
    words = [f"--uri={server.uri}", f"--home={home}", "--embedder=hash:32"]
    env = {"NEO4J_PASSWORD": server.password or ""}
    with serving(*words, "explore", "--no-browser", env=env) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield the browser of this module."""
    with chromium() as browser:
        yield browser


def _light(color: str) -> float:
    """Return the relative luminance of a colour, as contrasts have it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    shares = zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    return 0.05 + sum(share * part**2.2 for share, part in shares)


def test_every_screen_shows_text_as_text(served: Serving, browser: Browser) -> None:
    """No screen has an error, asks another server, or takes a text for HTML."""
    wrong, seen = {}, {}
    with looking(browser, served.url) as look:
        for name, place in SCREENS.items():
            look.show(place)
            wrong[name] = look.page.locator(".error").all_inner_texts()
            wrong[name] += look.errors + look.elsewhere
            seen[name] = MARKUP in look.page.locator("main").inner_text()
            if look.run("document.querySelectorAll('main img, main b b').length"):
                wrong[name].append("markup became elements")
            if "pwned" in look.page.title():
                wrong[name].append("a script of a text ran")

    assert {name: found for name, found in wrong.items() if found} == {}
    markup = {"question", "walks", "document", "documents", "runs", "extractions"}
    assert {name for name, found in seen.items() if found} >= markup | {"battles"}


@pytest.mark.thorough
def test_checks_tell_what_is_not_sound(served: Serving, browser: Browser) -> None:
    """The causes that no extraction states are told with their nodes."""
    with looking(browser, served.url) as look:
        look.show(SCREENS["corpora"])
        look.page.get_by_role("button", name="Check").click()
        look.page.get_by_text("10,000 causes and relations of no extraction").wait_for()

    assert look.errors == []


@pytest.mark.thorough
def test_evaluations_are_compared_record_by_record(
    served: Serving, browser: Browser
) -> None:
    """The mean of the paired differences stands with its interval, drawn about 0."""
    with looking(browser, served.url) as look:
        look.show(SCREENS["runs"])
        table = look.page.get_by_role("region", name="Paired differences")
        row = table.get_by_role("row").nth(1).inner_text().split()
        drawn = table.get_by_role("img").first.get_attribute("aria-label")

    assert row[:6] == ["recall_5", "-0.1", "-0.1", "-0.1", "5", "0.64"]
    assert drawn == "-0.1, between -0.1 and -0.1"
    assert look.errors == []


@pytest.mark.thorough
def test_queries_of_ones_own_are_kept(
    served: Serving, browser: Browser, tmp_path: Path
) -> None:
    """The browser keeps them by name; a file takes them to another browser."""
    name, path = f"Mine {MARKUP}", tmp_path / "queries.json"
    with looking(browser, served.url) as look:
        look.show(f"#/cypher?statement={quote('RETURN 42 AS answer')}")
        look.page.get_by_label("Keep it in this browser as").fill(name)
        look.page.get_by_role("button", name="Save", exact=True).click()
        with look.page.expect_download() as held:
            look.page.get_by_role("button", name="Export").click()
        held.value.save_as(path)
    with looking(browser, served.url) as other:
        other.show("#/cypher")
        assert other.page.get_by_role("button", name="Export").count() == 0
        wrong = tmp_path / "none.json"
        wrong.write_text('{"a": {"statement": 1}}', "utf-8")
        other.page.get_by_label("Import").set_input_files(wrong)
        other.page.get_by_text("This file has no queries").wait_for()
        other.page.get_by_label("Import").set_input_files(path)
        other.page.get_by_label("Saved queries").select_option(label=name)
        other.page.get_by_role("cell", name="42").wait_for()
        other.page.get_by_role("button", name="Forget").click()
        other.page.get_by_role("button", name="Forget").wait_for(state="detached")
        left = other.run("localStorage.getItem('queries')")

    assert left == "{}"
    assert (look.errors, other.errors) == ([], [])


@pytest.mark.thorough
def test_walk_is_played_and_explained(served: Serving, browser: Browser) -> None:
    """Steps go back and forth with their reasons, the address keeps the state."""
    with looking(browser, served.url) as look:
        look.show(SCREENS["question"])
        cards = look.page.locator(".card[id^=step-]")
        count, marks = cards.count(), look.page.locator(".card mark").count()
        look.page.get_by_role("button", name="Step back").click()
        told = look.page.locator(".beside > .said").inner_text()
        later = look.page.locator(".card.later").count()
        address = look.page.url
        look.page.get_by_label("A document that should").fill(article(3).title)
        look.page.get_by_role("button", name="Why not?").click()
        look.page.get_by_role("cell", name=article(3).title).first.wait_for()
        look.page.reload()
        look.page.locator(".card.later").wait_for()
        again = look.page.locator(".card.later").count()

    assert (count > 2, marks > 2) == (True, True)
    assert told.startswith(f"Step {count - 2} of {count - 1}: ")
    assert (later, again) == (1, 1)
    assert f"step={count - 2}" in address
    assert "walk=" in address


@pytest.mark.thorough
def test_expansion_is_bounded_and_exported(
    served: Serving, browser: Browser, tmp_path: Path
) -> None:
    """Of 10,000 neighbours the best 50 come, which is said; files hold what is seen."""
    with looking(browser, served.url) as look:
        look.show(f"#/cypher?statement={quote(HUB)}")
        look.page.get_by_role("button", name="Table").click()
        look.page.get_by_role("cell", name="hub").first.wait_for()
        look.page.get_by_role("button", name="Graph").click()
        canvas = look.page.locator(".canvas[data-drawn=yes]")
        canvas.focus()
        for key in ("ArrowRight", "Enter"):
            canvas.press(key)
        look.page.get_by_text("The best 50 of 10,000 relationships").wait_for()
        look.page.locator(".canvas[data-drawn=yes]").wait_for()
        kept = look.run("document.querySelector('.canvas').picture.csv()")
        labels, overlaps = look.run(OVERLAPS)
        files = {}
        for kind in ("SVG", "GraphML", "PNG"):
            with look.page.expect_download() as held:
                look.page.get_by_role("button", name=kind, exact=True).click()
            files[kind] = tmp_path / kind
            held.value.save_as(files[kind])

    assert kept.count("\r\n") == 51
    assert all(
        f"Concept {n}\r" in kept or f"Concept {n}," in kept for n in (9951, 10000)
    )
    assert (labels > 10, overlaps) == (True, 0)
    assert ET.parse(files["SVG"]).getroot().tag.endswith("svg")  # noqa: S314  (ours)
    graph = ET.parse(files["GraphML"]).getroot()  # noqa: S314
    assert MARKUP in {data.text for data in graph.iter() if data.tag.endswith("data")}
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
def test_lines_are_seen_on_a_dark_ground(served: Serving, browser: Browser) -> None:
    """A dark blue is drawn lighter there, three to one, and as it is on white."""
    statement = "MATCH p = (:Concept {id: 'hub'})-->() RETURN p LIMIT 1"
    drawn = "document.querySelector('.canvas').picture.cy.edges()[0].data('color')"
    with looking(browser, served.url, scheme="dark") as look:
        look.show(f"#/cypher?statement={quote(statement)}")
        look.page.locator(".canvas[data-drawn=yes]").wait_for()
        dark = look.run(drawn)
        look.page.get_by_role("button", name="Light or dark").click()
        light = look.run(drawn)

    (style,) = (style for style in RELATIONSHIPS if style.type == "CAUSES")
    assert light == style.color
    assert _light(style.color) < 3 * _light("#14181c") < _light(dark)


@pytest.mark.thorough
@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_are_for_everybody(
    served: Serving, browser: Browser, width: str, scheme: str
) -> None:
    """axe-core finds nothing serious, and nothing is broader than the window."""
    wrong = {}
    with looking(browser, served.url, width=width, scheme=scheme) as look:
        for name, place in SCREENS.items():
            look.show(place)
            wrong[name] = look.faults() + look.errors + look.elsewhere
            if look.run("document.documentElement.scrollWidth > innerWidth"):
                wrong[name].append("broader than the window")
        look.show(SCREENS["question"])
        look.page.get_by_role("button", name="Step back").click()
        wrong["a step back"] = look.faults()

    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.thorough
def test_a_thousand_nodes_stand_within_a_second(
    served: Serving, browser: Browser
) -> None:
    """A graph is seen at once, moves after that, and stands where a file is kept."""
    times, clocks = [], []
    with looking(browser, served.url) as look:
        for _ in range(5):
            look.show("#/procedures")
            begun = time.monotonic()
            times.append(look.work(THOUSAND))
            clocks.append(time.monotonic() - begun)
            look.page.goto("about:blank")
        look.show("#/procedures")
        look.run(THOUSAND)
        seen = look.run(f"({PAINTED})()")
        kept = look.run("document.querySelector('.canvas').picture.svg()")
        look.page.locator(".canvas[data-drawn=yes]").wait_for()
        labels, overlaps = look.run(OVERLAPS)

    seconds, clock, load = median(times), median(clocks), os.getloadavg()[0]
    print(f"{clock:.2f} s, {seconds:.2f} s of the page's thread, load {load:.1f}")  # noqa: T201  (-s shows it)
    assert seconds < 0.6
    assert seen > 1000
    assert kept.count("<rect x=") >= 1000
    assert (labels > 10, overlaps) == (True, 0)
    assert look.errors == []


@pytest.mark.thorough
def test_picture_in_a_file_is_drawn(
    isles: Connection, browser: Browser, tmp_path: Path
) -> None:
    """The page of `view graph --cypher` draws without a server and without network."""
    path = tmp_path / "links.html"
    statement = "MATCH p = (:Document)-[:IN_CORPUS|HAS_THEME]->() RETURN p"
    path.write_text(network_page(isles, statement), "utf-8")

    with looking(browser, path.as_uri()) as look:
        look.page.goto(path.as_uri())
        look.page.locator(".canvas[data-drawn=yes]").wait_for()
        labels, overlaps = look.run(OVERLAPS)
        said = look.page.locator(".said").inner_text()

    assert (look.errors, look.elsewhere) == ([], [])
    assert (labels > 10, overlaps) == (True, 0)
    assert "nodes and" in said
