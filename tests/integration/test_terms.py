"""Terms on a real server: whole, grown, shrunk and resumed corpora are the same."""

from __future__ import annotations

import shutil
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.db.schema import delete_data
from knowtrail.graph.errors import CorpusDriftError, InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest import text_linking
from knowtrail.ingest.corpus import delete_corpus, open_corpus, stored_corpus
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument, RawRedirect
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.corpora import ListSource
from tests.found_terms import find_terms

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
PLAIN = IngestOptions(themes="none")
WHOLE = IngestOptions(themes="none", window=50)

TEXTS = {
    "Moon": "It was reached by Apollo 11 in 1969. It is near.",
    "Rocket (vehicle)": "Engineers of Cape Canaveral built it. It was tall.",
    "Museum": "It keeps a part of apollo 11 from cape canaveral. It is open.",
    "Coast": "The launch site at Cape Canaveral is there. The moon is seen.",
    "Crew": "They flew with Apollo 11 and came back. They were three.",
}


def page(title, text=None):
    """Return a document of `TEXTS`, or of another text."""
    return RawDocument(source_id=title, title=title, raw=text or TEXTS[title])


@pytest.fixture
def ingest(connection, server):
    """Return a function that ingests titles or items into the empty database."""

    def run(items, corpus="made", *, options=PLAIN, **more):
        source = [page(item) if isinstance(item, str) else item for item in items]
        return ingest_corpus(
            connection,
            [ListSource(source)],
            corpus=corpus,
            embedder=EMBEDDER,
            settings=server,
            options=options,
            **more,
        )

    return run


def links(connection, corpus="made"):
    """Return term -> titles of the documents with chunks that name it."""
    rows = connection.query(
        "MATCH (t:Term {corpus: $corpus}) "
        "OPTIONAL MATCH (t)<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(d) "
        "WITH t, d.title AS title ORDER BY title "
        "RETURN t.name AS name, collect(DISTINCT title) AS titles",
        {"corpus": corpus},
    )
    return {row["name"]: row["titles"] for row in rows}


def interrupt(*_):
    """Stop as a user does."""
    raise KeyboardInterrupt


def sound(connection, corpus="made"):
    """Return what is wrong with a corpus."""
    return [finding for finding in verify_corpus(connection, corpus) if finding.count]


def test_chunks_name_titles_and_phrases_in_any_case(connection, ingest):
    """A title stands for its first chunk; a phrase needs two places."""
    ingest(TEXTS)

    assert sound(connection) == []
    assert links(connection) == {
        "apollo 11": ["Crew", "Moon", "Museum"],
        "cape canaveral": ["Coast", "Museum", "Rocket (vehicle)"],
        "coast": ["Coast"],
        "crew": ["Crew"],
        "moon": ["Coast", "Moon"],
        "museum": ["Museum"],
        "rocket": ["Rocket (vehicle)"],
    }
    (term,) = connection.query(
        "MATCH (t:Term {corpus: 'made', name: 'cape canaveral'}) "
        "RETURN t.label AS label, t.chunks AS chunks"
    )
    assert term == {"label": "Cape Canaveral", "chunks": 3}
    (row,) = connection.read("corpus/show", name="made")
    assert (row["terms"], row["names"]) == (7, 12)


def test_whole_texts_have_the_terms_of_the_pure_function(connection, ingest):
    """Where a chunk is a whole document, the graph is what `find_terms` gives."""
    ingest(TEXTS, options=WHOLE)

    pairs = [
        (title, f"{title.split(' (')[0]}\n{text}") for title, text in TEXTS.items()
    ]
    index = find_terms(pairs, TEXTS)
    expected = {
        name: sorted(title for title, names in index.names.items() if name in names)
        for name in index.terms
    }
    assert links(connection) == expected


@pytest.mark.thorough
def test_new_document_makes_a_term_that_old_chunks_name(connection, ingest):
    """A phrase of one place becomes a term, and is linked where it stood before."""
    ingest(["Moon", "Rocket (vehicle)"])
    before = links(connection)

    report = ingest(["Coast"])

    assert "cape canaveral" not in before
    assert links(connection)["cape canaveral"] == ["Coast", "Rocket (vehicle)"]
    assert links(connection)["moon"] == ["Coast", "Moon"]
    assert report.added == 1
    versions = connection.query(
        "MATCH (d:Document) RETURN d.title AS title, d.corpusVersion AS version"
    )
    assert {row["title"]: row["version"] for row in versions} == {
        "Moon": 2,
        "Rocket (vehicle)": 2,
        "Coast": 2,
    }


@pytest.mark.thorough
def test_deleted_and_replaced_documents_take_terms_with_them(connection, ingest):
    """A phrase that loses its second place is no term any more."""
    ingest(["Moon", "Crew", "Coast"])

    ingest(["Moon", page("Crew", "They came back. They were three.")], cleanup="full")

    assert links(connection) == {"moon": ["Moon"], "crew": ["Crew"]}
    assert sound(connection) == []


def test_second_run_writes_nothing(connection, ingest):
    """The same documents again leave terms and version as they are."""
    ingest(TEXTS)
    before = corpus_digest(connection, "made")

    again = ingest(TEXTS)

    assert not again.written.changed
    assert corpus_digest(connection, "made") == before
    assert stored_corpus(connection, "made").version == 1


def test_redirects_are_terms(connection, ingest):
    """The alias of a document is looked for as its title is."""
    ingest([*TEXTS, RawRedirect(title="Launch site", target="Coast")])

    assert links(connection)["launch site"] == ["Coast"]


@pytest.mark.thorough
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(order=st.permutations(sorted(TEXTS)), cuts=st.sets(st.integers(1, 4)))
def test_order_and_batches_do_not_matter(session_connection, server, order, cuts):
    """Any order, in any number of ingests, ends in the terms of one ingest."""
    connection = session_connection
    delete_data(connection)
    common = {"embedder": EMBEDDER, "settings": server, "options": PLAIN}
    bounds = [0, *sorted(cuts), len(order)]
    for corpus, parts in {
        "made": [order[a:b] for a, b in pairwise(bounds)],
        "whole": [sorted(TEXTS)],
    }.items():
        for part in parts:
            source = ListSource([page(title) for title in part])
            ingest_corpus(connection, [source], corpus=corpus, **common)

    terms = connection.query(
        "MATCH (t:Term) WITH t.corpus AS corpus, t ORDER BY t.name "
        "RETURN corpus, collect([t.name, t.label, t.chunks]) AS terms"
    )
    by_corpus = {row["corpus"]: row["terms"] for row in terms}
    assert by_corpus["made"] == by_corpus["whole"]
    assert links(connection) == links(connection, "whole")
    assert sound(connection) == sound(connection, "whole") == []


def test_interrupted_linking_is_completed(connection, ingest, monkeypatch):
    """Terms without links are linked by the next run."""
    ingest(TEXTS)
    whole = corpus_digest(connection, "made")
    delete_corpus(connection, "made")
    with monkeypatch.context() as broken:
        broken.setattr(text_linking._TextLinker, "_name", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ingest(TEXTS)

    assert not any(links(connection).values())
    assert stored_corpus(connection, "made").status == "unfinished"
    ingest(TEXTS)

    assert sound(connection) == []
    assert corpus_digest(connection, "made") == whole


@pytest.mark.thorough
def test_very_frequent_terms_are_kept_without_links(connection, ingest, monkeypatch):
    """They have their count; when the corpus changes they are linked again."""
    monkeypatch.setattr("knowtrail.ingest.text_index.MOST_LINKED", 2)
    monkeypatch.setattr("knowtrail.ingest.verify.MOST_LINKED", 2)
    ingest(TEXTS)

    assert links(connection)["apollo 11"] == []
    assert sound(connection) == []
    fewer = [*sorted(TEXTS)[:2], "Moon", "Rocket (vehicle)"]
    with monkeypatch.context() as broken:
        broken.setattr(text_linking._TextLinker, "_name", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ingest(fewer, cleanup="full")
    ingest(fewer, cleanup="full")
    assert links(connection)["apollo 11"] == ["Crew", "Moon"]
    assert sound(connection) == []


def test_a_term_that_turns_reaches_documents_that_have_it_as_title_alone(
    connection, ingest, monkeypatch
):
    """Its edge ends as the others do when it has become too frequent."""
    monkeypatch.setattr("knowtrail.ingest.text_index.MOST_LINKED", 3)
    monkeypatch.setattr("knowtrail.ingest.verify.MOST_LINKED", 3)
    texts = {"Berlin": "A city on the Spree.", "Rail": "A line to Berlin."}
    pages = [page(title, text) for title, text in texts.items()]
    ingest(pages)
    assert links(connection)["berlin"] == ["Berlin", "Rail"]
    pages += [page("Air", "Flights to Berlin."), page("Road", "A way to Berlin.")]
    ingest(pages)

    assert links(connection)["berlin"] == []
    assert sound(connection) == []


def test_corpus_without_terms_stays_without_until_they_are_added(connection, ingest):
    """`terms` is recorded; they can be added, also by an ingest of nothing."""
    without = IngestOptions(themes="none", terms=False)
    ingest(TEXTS, options=without)

    ingest(["Moon"], options=None)

    assert links(connection) == {}
    assert sound(connection) == []
    assert stored_corpus(connection, "made").options == without
    with pytest.raises(CorpusDriftError, match="window 3, not 50"):
        ingest([], options=WHOLE)
    assert not stored_corpus(connection, "made").options.terms

    ingest([], options=PLAIN)
    added = corpus_digest(connection, "made")

    assert stored_corpus(connection, "made").version == 2
    with pytest.raises(CorpusDriftError, match="made with terms True, not False"):
        ingest(TEXTS, options=without)
    delete_corpus(connection, "made")
    ingest(TEXTS)
    assert corpus_digest(connection, "made") == added


def test_a_corpus_is_written_by_one_at_a_time(connection, ingest, server):
    """A second ingest into it is refused and changes nothing; others go on."""
    ingest(["Moon"])

    with corpus_lock(server.home, connection, "made"):
        with pytest.raises(InputError, match="being written by another process"):
            ingest(TEXTS)
        ingest(["Coast"], "other")

    assert links(connection) == {"moon": ["Moon"]}
    assert links(connection, "other") == {"coast": ["Coast"]}


@pytest.mark.thorough
def test_links_that_two_processes_wrote_are_mended(connection, server, ingest):
    """The next change leaves one of each, where nothing is known of them."""
    ingest(TEXTS)
    before = links(connection)
    connection.run_schema(
        "MATCH (c:Chunk)-[:NAMES]->(t:Term) WHERE t.name STARTS WITH 'c' "
        "CREATE (c)-[:NAMES]->(t)"
    )
    shutil.rmtree(server.home / "work")

    ingest([page("Empty", "Nothing is here.")])

    assert sound(connection) == []
    assert links(connection) == before | {"empty": ["Empty"]}


@pytest.mark.thorough
@pytest.mark.parametrize("terms", [True, False])
def test_corpus_made_before_there_were_terms(connection, ingest, terms):
    """It has them after the next ingest, also of nothing new, unless told otherwise."""
    ingest(TEXTS)
    whole = links(connection)
    connection.run_schema(
        "MATCH (k:Corpus) REMOVE k.terms, k.termRules, k.linkState "
        "WITH k MATCH (t:Term) DETACH DELETE t"
    )

    without = IngestOptions(themes="none", terms=False)

    report = ingest(TEXTS, options=None if terms else without)

    assert report.skipped == len(TEXTS)
    assert links(connection) == (whole if terms else {})
    stored = stored_corpus(connection, "made")
    assert (stored.options.terms, stored.status) == (terms, "complete")
    assert stored.version == (2 if terms else 1)
    assert not ingest(TEXTS, options=None).written.changed


def test_terms_of_two_corpora_are_apart(connection, ingest):
    """Each has its own; deleting one leaves the other's."""
    ingest(TEXTS)
    ingest(TEXTS, "other")
    both = links(connection), links(connection, "other")

    delete_corpus(connection, "made")

    assert both[0] == both[1]
    assert links(connection) == {}
    assert links(connection, "other") == both[1]
    assert sound(connection, "other") == []


def test_verify_finds_what_is_wrong_with_terms(connection, ingest):
    """Missing and doubled links, and links between corpora, are found."""
    ingest(TEXTS)
    ingest(TEXTS, "other")
    for change in (
        "MATCH (:Chunk)-[r:NAMES]->(:Term {corpus: 'made', name: 'apollo 11'}) "
        "WITH r LIMIT 1 DELETE r",
        "MATCH (c:Chunk)-[:NAMES]->(t:Term {corpus: 'made', name: 'museum'}) "
        "CREATE (c)-[:NAMES]->(t)",
        "MATCH (c:Chunk {corpus: 'other', index: 0}), (t:Term {corpus: 'made'}) "
        "WHERE t.name = 'moon' WITH c, t LIMIT 1 CREATE (c)-[:NAMES]->(t)",
        "MATCH (k:Corpus {name: 'made'}) SET k.chunks = 99",
    ):
        connection.run_schema(change)

    made = {finding.check: finding.examples for finding in sound(connection)}
    other = {finding.check: finding.count for finding in sound(connection, "other")}

    counts = "terms whose count of chunks is not that of their edges"
    outside = "chunks that name a term of another corpus, or one twice"
    assert sorted(made[counts]) == ["apollo 11", "moon", "museum"]
    assert len(made[outside]) == 1
    assert ("99",) in made.values()
    assert other == {outside: 1}


def test_newer_rules_find_the_terms_anew(connection, ingest, monkeypatch):
    """A corpus whose terms come from older rules is linked again, once."""
    ingest(TEXTS)
    monkeypatch.setattr("knowtrail.ingest.corpus.TERM_RULES", 99)

    open_corpus(
        connection, "made", embedder=EMBEDDER, options=None, language_model="none"
    )

    assert stored_corpus(connection, "made").status == "unfinished"
    ingest(TEXTS)
    stored = stored_corpus(connection, "made")
    assert (stored.version, stored.status) == (2, "complete")
