"""An ingest on a real server: the same graph by whatever way it came about."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.db.schema import delete_data, drop_schema
from knowtrail.graph.errors import CorpusDriftError, InputError, UnknownCorpusError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest import forgetting, neighbour_index
from knowtrail.ingest.corpus import (
    delete_corpus,
    list_corpora,
    open_corpus,
    stored_corpus,
)
from knowtrail.ingest.forgetting import forget_documents
from knowtrail.ingest.keys import title_keys
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import (
    Damage,
    Failure,
    LeftOut,
    Link,
    RawDocument,
    RawRedirect,
)
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from knowtrail.retrieval.search import search
from tests.corpora import ListSource, article, redirect, title_of
from tests.databases import drop_vector_indexes
from tests.tiers import amount

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
PLAIN = IngestOptions(themes="none")


@pytest.fixture
def ingest(connection, server):
    """Return a function that ingests items into a corpus of the empty database."""

    def run(items, corpus="made", *, embedder=EMBEDDER, options=PLAIN, **more):
        return ingest_corpus(
            connection,
            [ListSource(items)],
            corpus=corpus,
            embedder=embedder,
            settings=server,
            options=options,
            **more,
        )

    return run


def sound(connection, corpus="made"):
    """Return what is wrong with a corpus."""
    return [finding for finding in verify_corpus(connection, corpus) if finding.count]


def test_corpus_is_sound_and_has_every_kind_of_edge(connection, ingest):
    """Documents, windows, sentences, links, mentions and similarities are stored."""
    linked = RawDocument(
        source_id="linked",
        title="Linked",
        raw="See the old name here. It is far away. It is also cold.",
        links=(Link(start=8, end=16, target="alias 3"),),
    )

    ingest([*map(article, range(8)), redirect(3, target=3), linked])

    (row,) = connection.read("corpus/show", name="made")
    assert sound(connection) == []
    assert row["documents"] == 9
    assert row["chunks"] == 8 * 4 + 1
    assert row["sentences"] == 8 * 6 + 3
    assert row["links"] == 1
    assert min(row["mentions"], row["similarIntra"], row["similarInter"]) > 0
    (edge,) = connection.query(
        "MATCH (:Document {title: 'Linked'})-[r:LINKS_TO]->(d:Document) "
        "RETURN d.title AS title, d.aliases AS aliases, r.anchor AS anchor"
    )
    assert edge == {"title": title_of(3), "aliases": ["Alias 3"], "anchor": "old name"}


def test_offsets_point_into_the_stored_text(connection, ingest):
    """Chunks and sentences are the pieces of the document text that they say."""
    text = "Ünïcode 😀 first. “Quoted” second!\n\nRight to left: שלום. Fourth one."
    ingest([RawDocument(source_id="x", title="`\"'😀 title", raw=text)])

    rows = connection.query(
        "MATCH (d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)-[:HAS_SENTENCE]->(s:Sentence) "
        "UNWIND [c, s] AS n RETURN d.text AS whole, n.text AS text, "
        "n.startChar AS start, n.endChar AS end"
    )

    assert len(rows) > 4
    assert [r["whole"][r["start"] : r["end"]] for r in rows] == [
        r["text"] for r in rows
    ]


def test_second_run_writes_nothing(connection, ingest):
    """The same input again changes nothing, by the server's own count."""
    items = [*map(article, range(6)), redirect(1, target=1), redirect(9, target=99)]
    first = ingest(items, options=None)
    before = corpus_digest(connection, "made")

    second = ingest(items, options=None)

    assert first.added == 6
    assert (first.redirects_resolved, first.redirects_waiting) == (1, 1)
    assert second.skipped == 6
    assert not second.written.changed
    assert corpus_digest(connection, "made") == before
    assert stored_corpus(connection, "made").version == 1


_STATES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 9), st.integers(0, 2), max_size=8),
        st.dictionaries(st.integers(0, 3), st.integers(0, 9), max_size=3),
        st.sampled_from(["incremental", "full"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(
    max_examples=amount(2, 12),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(states=_STATES)
def test_any_history_ends_in_the_graph_of_one_ingest(
    session_connection, server, states
):
    """After additions, changes and deletions the digest is that of the final set."""
    connection = session_connection
    delete_data(connection)
    common = {"embedder": EMBEDDER, "settings": server, "options": PLAIN}
    documents, redirects = {}, {}
    for pages, aliases, cleanup in states:
        if cleanup == "full":
            documents, redirects = {}, {}
        documents |= pages
        redirects |= aliases
        items = [article(n, version=v) for n, v in pages.items()]
        items += [redirect(n, target=t) for n, t in aliases.items()]
        ingest_corpus(
            connection, [ListSource(items)], corpus="made", cleanup=cleanup, **common
        )
    after = corpus_digest(connection, "made")
    findings = sound(connection)
    delete_data(connection)
    final = [article(n, version=v) for n, v in sorted(documents.items())]
    final += [redirect(n, target=t) for n, t in sorted(redirects.items())]
    ingest_corpus(connection, [ListSource(final)], corpus="made", **common)

    assert findings == []
    assert after == corpus_digest(connection, "made")


def test_ranks_close_up_where_a_target_is_deleted(connection, ingest):
    """Edges that lost a nearer neighbour, and gained none, are ranked anew."""
    options = IngestOptions(inter_threshold=-1.0, theme_top=5, theme_threshold=-1.0)
    items = [article(n, sentences=3) for n in range(4)]
    ingest(items, options=options)

    ingest(items[1:], options=options, cleanup="full")

    after = corpus_digest(connection, "made")
    findings = sound(connection)
    delete_corpus(connection, "made")
    ingest(items[1:], options=options)
    assert findings == []
    assert after == corpus_digest(connection, "made")


def test_forgotten_documents_were_never_there(connection, server, ingest, monkeypatch):
    """All that led to them is gone, even if the first try is cut off, the rest mended.

    The graph is then that of an ingest without them and the redirects to them.
    """
    options = IngestOptions(inter_threshold=-1.0, theme_top=5, theme_threshold=-1.0)
    items = [article(n) for n in range(12)]
    redirects = [redirect(n, target=n) for n in (3, 4, 5, 40)]
    ingest([*items, *redirects], options=options)
    forget = partial(
        forget_documents, connection, "made", [title_of(3), "Alias 4"], settings=server
    )
    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "link_corpus", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget()

    forget()

    stored = stored_corpus(connection, "made")
    after = corpus_digest(connection, "made")
    findings = sound(connection)
    delete_corpus(connection, "made")
    ingest([*items[:3], *items[5:], *redirects[2:]], options=options)
    assert (stored.status, stored.version, findings) == ("complete", 2, [])
    assert after == corpus_digest(connection, "made")


def test_forgetting_cut_off_at_its_start_loses_no_redirect(
    connection, server, ingest, monkeypatch
):
    """Redirects go with their documents; an ingest after it finds both, or neither."""
    items = [article(0), article(1), redirect(0, target=0)]
    ingest(items)
    before = corpus_digest(connection, "made")
    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "losses", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget_documents(connection, "made", [title_of(0)], settings=server)

    ingest([article(1)])

    assert corpus_digest(connection, "made") == before


def test_forgetting_in_an_unfinished_corpus_leaves_it_so(connection, server, ingest):
    """What an ingest did not read to its end is not called complete, even if empty."""
    ingest([article(0), article(1), Damage(message="broke off")], options=None)
    titles = [title_of(0), title_of(1)]

    forget_documents(connection, "made", titles, settings=server)

    (listed,) = list_corpora(connection)
    assert (listed["status"], listed["version"]) == ("unfinished", 1)
    assert set(corpus_digest(connection, "made").counts.values()) == {0}


def test_changed_document_replaces_all_derived_from_it(connection, ingest):
    """Old chunks and sentences are gone, edges of other documents are mended."""
    ingest(map(article, range(5)))

    report = ingest([article(2, version=1, sentences=4)])

    assert (report.added, report.updated, report.deleted) == (0, 1, 0)
    assert sound(connection) == []
    (row,) = connection.query(
        "MATCH (d:Document {sourceId: 'page-2'})<-[:FROM_DOCUMENT]-(c) "
        "RETURN count(c) AS chunks"
    )
    assert row["chunks"] == 2


def test_one_small_change_among_many_costs_a_tenth_of_the_whole(connection, ingest):
    """Only its texts are embedded, and little besides what hangs on it is written."""
    counted = []

    class Counting(HashEmbedder):
        def embed_array(self, texts):
            counted.extend(texts)
            return super().embed_array(texts)

    embedder = Counting(32)
    items = [article(number) for number in range(46)]
    first = ingest(items, embedder=embedder, options=IngestOptions())
    whole, counted[:] = len(counted), []
    items[7] = article(7, version=1)

    again = ingest(items, embedder=embedder, options=None)

    assert (first.added, again.updated, again.skipped) == (46, 1, 45)
    assert 0 < len(counted) <= whole / 10
    assert _effort(again.written) <= _effort(first.written) / 10


def _effort(written):
    """Return how many nodes and relationships were created and deleted."""
    return (
        written.nodes_created
        + written.nodes_deleted
        + written.relationships_created
        + written.relationships_deleted
    )


def test_cleanup_none_keeps_changed_documents(connection, ingest):
    """With `none` a changed document stays as it is stored."""
    ingest(map(article, range(3)))
    before = corpus_digest(connection, "made")

    report = ingest([article(1, version=2)], cleanup="none")

    assert (report.updated, report.skipped) == (0, 1)
    assert corpus_digest(connection, "made") == before


def test_full_cleanup_spares_what_a_damaged_source_did_not_show(connection, ingest):
    """Nothing is deleted when the source breaks off, and the report says so."""
    ingest(map(article, range(4)))

    report = ingest([article(0), Damage(message="broke off")], cleanup="full")

    assert report.deleted == 0
    assert report.damage == ["broke off"]
    assert not report.complete
    assert list_corpora(connection)[0]["documents"] == 4


def test_article_that_became_a_redirect_is_replaced(connection, ingest):
    """A page whose article became a redirect leaves only the redirect."""
    ingest([article(0), article(1)])

    ingest([RawRedirect(title=title_of(1), target=title_of(0), source_id="page-1")])

    (row,) = connection.query("MATCH (d:Document) RETURN collect(d.aliases) AS aliases")
    assert row["aliases"] == [[title_of(1)]]
    assert sound(connection) == []


def test_article_that_is_one_no_longer_is_deleted(connection, ingest):
    """A page that is now left out takes the document of its id with it."""
    ingest([article(0), article(1)])
    left_out = LeftOut(title="Now dab", reason="disambiguation", source_id="page-1")

    kept = ingest([left_out], cleanup="none")
    gone = ingest([left_out])

    assert (kept.deleted, gone.deleted, gone.left_out["disambiguation"]) == (0, 1, 1)
    assert list_corpora(connection)[0]["documents"] == 1
    assert sound(connection) == []


def test_page_that_comes_as_article_and_as_redirect_counts_once(connection, ingest):
    """The second of two states of one page is refused, in every run."""
    again = RawRedirect(title=title_of(2), target=title_of(0), source_id="page-1")
    items = [again, article(0), article(1)]

    first, second = ingest(items), ingest(items)

    assert (first.added, first.failed) == (1, 1)
    assert (second.skipped, second.failed) == (1, 1)
    assert not second.written.changed


def test_redirect_that_is_spelt_anew_is_renamed(connection, ingest):
    """The stored title of a redirect, and the alias, are those of the last run."""
    ingest([article(0), RawRedirect(title="old name", target=title_of(0))])

    ingest([RawRedirect(title="Old name", target=title_of(0))])

    (row,) = connection.query(
        "MATCH (d:Document), (r:Redirect) RETURN d.aliases AS aliases, r.title AS title"
    )
    assert row == {"aliases": ["Old name"], "title": "Old name"}


def test_redirect_that_became_an_article_is_gone(connection, ingest):
    """The redirect of a title goes when an article of that title arrives."""
    ingest([article(0), RawRedirect(title=title_of(1), target=title_of(0))])

    ingest([article(1)])

    (row,) = connection.query(
        "MATCH (d:Document) OPTIONAL MATCH (r:Redirect) "
        "RETURN count(DISTINCT r) AS redirects, collect(d.aliases) AS aliases"
    )
    assert row == {"redirects": 0, "aliases": [[], []]}


@pytest.mark.parametrize(
    "first", ["article", pytest.param("redirect", marks=pytest.mark.thorough)]
)
def test_article_and_redirect_of_one_title_on_two_pages_are_both_kept(
    connection, ingest, first
):
    """Two pages of one title are both stored; a second run writes nothing."""
    other = RawRedirect(title=title_of(1), target=title_of(0), source_id="page-9")
    items = [article(0), article(1), other]
    if first == "redirect":
        items.reverse()

    ingest(items)
    again = ingest(items)

    (row,) = connection.query("MATCH (r:Redirect) RETURN collect(r.title) AS titles")
    assert row["titles"] == [title_of(1)]
    assert not again.written.changed
    assert sound(connection) == []


def test_redirect_whose_page_became_an_article_is_gone(connection, ingest):
    """An article takes the place of the redirect that its page was."""
    page = RawRedirect(title=title_of(1), target=title_of(0), source_id="page-1")
    ingest([article(0), page])

    ingest([article(1)])

    (row,) = connection.query("MATCH (r:Redirect) RETURN count(r) AS redirects")
    assert row["redirects"] == 0


@pytest.mark.parametrize("empty", [False, True])
def test_redirect_whose_page_is_left_out_now_is_gone(connection, ingest, empty):
    """A disambiguation page, or a page without a sentence, is no redirect any more."""
    page = RawRedirect(title="Other name", target=title_of(0), source_id="page-1")
    ingest([article(0), page])
    now = LeftOut(title="Other name", reason="disambiguation", source_id="page-1")
    if empty:
        now = RawDocument(source_id="page-1", title="Other name", raw=" ")

    kept = ingest([article(0), now], cleanup="none")
    gone = ingest([article(0), now])

    assert (kept.redirects_resolved, gone.redirects_resolved) == (1, 0)
    (row,) = connection.query("MATCH (r:Redirect) RETURN count(r) AS redirects")
    assert row["redirects"] == 0
    assert sound(connection) == []


def test_equal_titles_are_kept_apart_and_not_linked(connection, ingest):
    """Two documents of one title are both stored; the title stands for neither."""
    one = RawDocument(source_id="1", title="Same title", raw="One text here.")
    two = replace(one, source_id="2", raw="Another text there.")
    third = replace(one, source_id="3", title="Third", raw="Of Same title it speaks.")

    ingest([one, two, third])

    (row,) = connection.read("corpus/show", name="made")
    assert (row["documents"], row["mentions"]) == (3, 0)


def test_title_of_any_length_is_stored(connection, ingest):
    """No index refuses a title or a redirect's target for its length."""
    long = "word " * 20_000
    items = [replace(article(0), title=long), RawRedirect(title="Short", target=long)]

    report = ingest(items)

    assert (report.added, report.redirects_resolved) == (1, 1)
    assert sound(connection) == []


def test_titles_and_categories_are_those_that_were_given(connection, ingest):
    """What is no wiki's may have a `#`, an underscore and a small letter."""
    one = RawDocument(
        source_id="1", title="C", raw="It is older.", categories=("big_data",)
    )
    two = replace(
        one, source_id="2", title="C#", raw="It is newer.", categories=("C#",)
    )
    links = (Link(start=0, end=2, target="C#"), Link(start=3, end=5, target="Tide#Sea"))
    three = replace(one, source_id="3", title="#1", raw="It is a list.", links=links)
    tide = replace(one, source_id="4", title="Tide", raw="It is high.")
    ingest([one, two, three])

    of_basic = partial(search, algorithm="basic_retrieval", embedder=EMBEDDER, k=5)
    found = [
        {hit.chunk.title for hit in of_basic(connection, "newer", filter=asked).hits}
        for asked in (
            {"title": "C"},
            {"title": {"$in": ["C#", "#1"]}},
            {"category": "big_data"},
            {"category": {"$in": ["C#"]}},
        )
    ]
    ingest([tide])
    linked = connection.query(
        "MATCH (:Document {title: '#1'})-[:LINKS_TO]->(d) RETURN d.title AS title"
        " ORDER BY title"
    )

    places = [
        connection.read("mcp/places", corpus="made", name=name, keys=title_keys(name))
        for name in ("c#", "C", "#1", "Tide#Sea")
    ]

    assert found == [{"C"}, {"C#", "#1"}, {"C", "#1"}, {"C#"}]
    assert [rows[0]["title"] for rows in places] == ["C#", "C", "#1", "Tide"]
    assert [row["title"] for row in linked] == ["C#", "Tide"]
    assert sound(connection) == []


def test_an_id_that_occurs_twice_is_reported_once_stored(connection, ingest):
    """The first document of an id wins, in every run."""
    items = [article(1), replace(article(2), source_id="page-1")]

    first, second = ingest(items), ingest(items)

    assert (first.added, first.failed, second.skipped, second.failed) == (1, 1, 1, 1)
    assert "twice" in first.failures[0]
    assert not second.written.changed


class _BrokenEmbedder(HashEmbedder):
    """An embedder whose vector of some texts cannot be used."""

    def embed_array(self, texts):
        """Spoil the vectors of texts that name a poison."""
        vectors = super().embed_array(texts)
        for row, text in enumerate(texts):
            for name, value in POISONS.items():
                if f"poison {name}" in text:
                    vectors[row] = value
        return vectors


POISONS = {"nan": np.nan, "zero": 0.0, "inf": np.inf}


def test_vectors_that_cannot_be_used_cost_only_their_document(connection, ingest):
    """A NaN, infinite or zero vector fails its document with one clear line."""
    bad = [
        RawDocument(source_id=name, title=name, raw=f"A poison {name}. And more.")
        for name in POISONS
    ]

    report = ingest([article(0), *bad, article(1)], embedder=_BrokenEmbedder(32))

    assert (report.added, report.failed) == (2, 3)
    assert [
        name
        for name, failure in zip(POISONS, report.failures, strict=True)
        if not failure.startswith(f"{name}: The embedder hash:32 gave a")
    ] == []
    assert sound(connection) == []


def test_failed_pages_are_counted_and_the_rest_is_stored(connection, ingest):
    """A failure in the source does not stop the documents after it."""
    report = ingest([Failure(title="Huge", message="too long"), article(0)])

    assert (report.added, report.failures) == (1, ["Huge: too long"])


def test_document_that_cannot_be_taken_apart_fails_alone(connection, ingest):
    """Whatever goes wrong with one text, the others are stored."""
    broken = replace(article(1), sentences=(5,))
    unhashable = replace(article(2), metadata={"when": object()})

    report = ingest([article(0), broken, unhashable, article(3)])

    assert (report.added, report.failed, report.complete) == (2, 2, False)
    assert [line.partition(":")[0] for line in report.failures] == [
        title_of(1),
        title_of(2),
    ]


def test_name_longer_than_an_index_holds_is_no_term(connection, ingest):
    """Two texts with a name of 12,001 characters are linked by their other names."""
    long = "X" + "y" * 12_000
    texts = [f"We saw {long} and Mount Ararat. It was day {n}." for n in range(2)]

    report = ingest([
        RawDocument(source_id=str(n), title=f"Doc {n}", raw=text)
        for n, text in enumerate(texts)
    ])

    names = connection.query("MATCH (t:Term) RETURN t.name AS name")
    assert (report.added, report.complete) == (2, True)
    assert "mount ararat" in {row["name"] for row in names}


def test_pages_without_sentences_are_left_out(connection, ingest):
    """A text of nothing but white space and marks is counted as empty."""
    empty = RawDocument(source_id="e", title="Empty", raw=" \n\n ")

    report = ingest([empty, article(0)])

    assert (report.added, report.left_out["empty"]) == (1, 1)


def test_other_settings_or_another_embedder_are_refused(connection, ingest):
    """What must not drift is compared before anything is written."""
    ingest([article(0)])
    before = corpus_digest(connection, "made")

    with pytest.raises(CorpusDriftError, match="inter-top-x 5, not 7"):
        ingest([article(1)], options=IngestOptions(themes="none", inter_top_x=7))
    with pytest.raises(CorpusDriftError, match="hash:32"):
        ingest([article(1)], embedder=HashEmbedder(48))
    with pytest.raises(CorpusDriftError, match="another database"):
        ingest([article(1)], corpus="other", embedder=HashEmbedder(48))
    longer = HashEmbedder(48)
    longer.name = EMBEDDER.name
    with pytest.raises(CorpusDriftError, match="48 dimensions, those of corpus"):
        ingest([article(1)], embedder=longer)
    assert corpus_digest(connection, "made") == before


@pytest.mark.thorough
@pytest.mark.forgets
def test_another_embedder_is_refused_without_a_schema_too(connection, ingest):
    """Dropping constraints and indexes does not let vectors of two models mix."""
    ingest([article(0)])
    drop_schema(connection)
    other = HashEmbedder(32)
    other.name = "other"

    with pytest.raises(CorpusDriftError, match="another database"):
        ingest([article(1)], corpus="second", embedder=other)

    assert [row["name"] for row in list_corpora(connection)] == ["made"]


def test_another_language_model_is_refused(connection):
    """The model that names the themes is stored, and must stay the same."""
    common = {"embedder": EMBEDDER, "options": IngestOptions(themes="llm")}
    open_corpus(connection, "made", language_model="one", **common)

    with pytest.raises(CorpusDriftError, match="named by one, not by two"):
        open_corpus(connection, "made", language_model="two", **common)

    assert stored_corpus(connection, "made").theme_model == "one"


def test_corpus_names_that_cannot_be_used_are_refused(ingest):
    """An empty, endless or unprintable name is an input error."""
    for name in ("", " ", "a ", "x" * 201, "a\nb"):
        with pytest.raises(InputError, match="Corpus name"):
            ingest([article(0)], corpus=name)


def test_corpora_in_one_database_do_not_touch_each_other(connection, ingest):
    """Edges stay inside a corpus; deleting one leaves the other as it was."""
    ingest(map(article, range(5)), corpus="a")
    ingest([article(n, version=1) for n in range(5)], corpus="b")
    before = corpus_digest(connection, "a")

    delete_corpus(connection, "b")

    assert sound(connection, "a") == []
    assert corpus_digest(connection, "a") == before
    (row,) = connection.query(
        "MATCH (n) WHERE n.corpus = 'b' OR n.name = 'b' RETURN count(n) AS left"
    )
    assert row["left"] == 0
    with pytest.raises(UnknownCorpusError, match="'a'"):
        stored_corpus(connection, "b")


def test_verify_finds_what_is_broken(connection, ingest):
    """Each kind of damage to a corpus is found."""
    ingest(map(article, range(4)))
    with connection.driver.session(database=connection.database) as session:
        session.run("MATCH (d:Document {number: 3}) DETACH DELETE d").consume()
        session.run(
            "MATCH (:Document {number: 0})<-[:FROM_DOCUMENT]-(c:Chunk {index: 0}) "
            "REMOVE c.embedding"
        ).consume()
        session.run(
            "MATCH (:Document {number: 1})<-[:FROM_DOCUMENT]-(:Chunk)"
            "-[r:SIMILAR_TO {scope: 'inter'}]->(:Chunk) SET r.score = -0.5"
        ).consume()

    found = {finding.check for finding in sound(connection)}

    assert any("vector" in check for check in found)
    assert any("without a document" in check for check in found)
    assert any("weak edges" in check for check in found)


@pytest.mark.thorough
def test_large_corpus_tells_how_its_neighbours_were_searched(
    connection, ingest, monkeypatch
):
    """An inexact search is stored and checked; the same graph comes of it here."""
    documents = [article(n) for n in range(30)]
    ingest(documents)
    exact = corpus_digest(connection, "made")
    delete_corpus(connection, "made")
    monkeypatch.setattr(neighbour_index, "EXACT_VECTORS", 10)

    ingest(documents)

    (row,) = connection.read("corpus/show", name="made")
    assert row["settings"]["similarMethod"].endswith(" compared")
    assert row["settings"]["similarRecall"] >= neighbour_index.LEAST_RECALL
    assert corpus_digest(connection, "made") == exact
    assert not sound(connection)
    with connection.driver.session(database=connection.database) as session:
        session.run("MATCH (k:Corpus) SET k.similarRecall = 0.5").consume()
    assert [finding.examples for finding in sound(connection)] == [("0.5",)]


@pytest.mark.thorough
def test_real_embedder_gives_equal_edges_in_another_order(connection, ingest):
    """With the default model and key phrases a corpus does not hang on its order."""
    from knowtrail.graph.models.embedders import load_embedder

    drop_vector_indexes(connection)
    model = load_embedder("sentence-transformers/all-MiniLM-L6-v2")
    documents = [article(n, sentences=12) for n in range(6)]
    options = IngestOptions()

    ingest(documents, corpus="one", embedder=model, options=options)
    ingest(documents[::-1], corpus="two", embedder=model, options=options)

    one, two = (edges(connection, name) for name in ("one", "two"))
    shared = one.keys() & two.keys()
    assert len(shared) >= 0.99 * max(len(one), len(two))
    assert max(abs(one[pair] - two[pair]) for pair in shared) < 1e-4
    first, second = (vectors(connection, name) for name in ("one", "two"))
    assert first.keys() == second.keys()
    assert min(float(first[key] @ second[key]) for key in first) > 1 - 1e-5


def vectors(connection, corpus):
    """Return {(kind, document, place): unit vector} of chunks and sentences."""
    rows = connection.query(
        "MATCH (d:Document {corpus: $corpus})<-[:FROM_DOCUMENT]-(c:Chunk) "
        "MATCH (c)-[:HAS_SENTENCE]->(s:Sentence) UNWIND [c, s] AS n "
        "RETURN DISTINCT labels(n)[0] AS kind, d.sourceId AS document, "
        "n.index AS place, n.embedding AS vector",
        {"corpus": corpus},
    )
    found = {}
    for row in rows:
        vector = np.asarray(row["vector"], dtype=np.float64)
        key = (row["kind"], row["document"], row["place"])
        found[key] = vector / np.linalg.norm(vector)
    return found


def edges(connection, corpus):
    """Return {(source, target): score} of a corpus, ends named by their place."""
    rows = connection.query(
        "MATCH (a:Chunk {corpus: $corpus})-[r:SIMILAR_TO]->(b:Chunk), "
        "(a)-[:FROM_DOCUMENT]->(d), (b)-[:FROM_DOCUMENT]->(e) "
        "RETURN d.sourceId + a.index AS a, e.sourceId + b.index AS b, r.score AS score",
        {"corpus": corpus},
    )
    return {(row["a"], row["b"]): row["score"] for row in rows}
