"""A test class for readers: subclass it, and see whether yours walks as it should.

```python
from tests.conformance import GraphReaderConformance


class TestMyReader(GraphReaderConformance):
    @pytest.fixture
    def open_reader(self):
        return lambda graph, filter: MyReader(store(graph), filter=filter)
```
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.models.language_models import ModelReply
from knowtrail.retrieval.algorithms import ALGORITHMS, PUBLISHED_ALGORITHMS, algorithm
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.protocols import Nearest, StoredSentence, WalkOptions
from knowtrail.retrieval.walk import ChunkText
from tests.memory_reader import MemoryGraph, MemoryReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.protocols import GraphReader, TermsFound, Vector
    from knowtrail.retrieval.walk import Trail

    OpenReader = Callable[[MemoryGraph, Filter | None], GraphReader]

_WINDOW = 3
_TOLERANCE = 1e-9
_THEMES = ("birds", "tides", "lenses", "looms")
_NAMES = ("ada", "blue harbour", "cove", "which way", "delta works", "way")


def random_graph(
    seed: int, *, sentences: Sequence[int] = (12, 9, 7, 1), dimensions: int = 12
) -> MemoryGraph:
    """Return a graph as an ingest would make it, from made-up vectors.

    The same seed gives the same graph; `sentences` is how many each document has.
    """
    generator = np.random.default_rng(seed)
    chunks: list[ChunkText] = []
    vectors: list[Vector] = []
    of_chunk: dict[str, tuple[StoredSentence, ...]] = {}
    documents: dict[str, dict[str, Any]] = {}
    common = generator.standard_normal(dimensions)
    for d, count in enumerate(sentences):
        documents[f"d{seed}-{d}"] = _document(seed, d)
        topic = common + generator.standard_normal(dimensions)
        stored = []
        for i in range(count):
            topic = topic + 0.4 * generator.standard_normal(dimensions)
            stored.append(_sentence(seed, d, i, _single(topic)))
        for first in range(max(1, count - _WINDOW + 1)):
            window = tuple(stored[first : first + _WINDOW])
            chunks.append(_chunk(seed, d, first, window))
            mean = np.mean([s.vector for s in window], axis=0)
            vectors.append(_single(mean + 0.05 * generator.standard_normal(dimensions)))
            of_chunk[chunks[-1].id] = window
    matrix = np.stack(vectors)
    return MemoryGraph(
        chunks=tuple(chunks),
        vectors=matrix,
        sentences=of_chunk,
        edges=_edges(chunks, matrix),
        documents=documents,
        names={
            chunk.id: tuple(_NAMES[i] for i in range(len(_NAMES)) if drawn[i] < 1 / 4)
            for chunk, drawn in zip(
                chunks, generator.random((len(chunks), len(_NAMES))), strict=True
            )
        },
    )


def random_query(seed: int, dimensions: int = 12) -> Vector:
    """Return a question's vector."""
    return _single(np.random.default_rng(seed).standard_normal(dimensions))


def _single(vector: Vector) -> Vector:
    return np.asarray(vector, dtype=np.float32).astype(np.float64)


def _document(seed: int, d: int) -> dict[str, Any]:
    return {
        "title": f"Page {d} of {seed}",
        "url": f"https://example.org/{seed}/{d}",
        "source": "made up",
        "language": ("en", "bg")[d % 2],
        "words": 100 * d,
        "aliases": [f"Alias {d}"],
        "themes": [_THEMES[d % 4], _THEMES[(d + 1) % 4]],
        "categories": [] if d == 1 else [f"Category {d}"],
    }


def _sentence(seed: int, d: int, i: int, vector: Vector) -> StoredSentence:
    """Return a sentence; every fourth text occurs again in other documents."""
    text = f"Said {i} everywhere." if i % 4 == 0 else f"Line {i} of page {d}."
    return StoredSentence(
        id=f"s{seed}-{d}-{i:03}",
        text=text,
        index=i,
        start_char=40 * i,
        end_char=40 * i + len(text),
        vector=vector,
    )


def _chunk(
    seed: int, d: int, first: int, window: tuple[StoredSentence, ...]
) -> ChunkText:
    return ChunkText(
        id=f"c{seed}-{d}-{first:03}",
        text=" ".join(s.text for s in window),
        index=first,
        first_sentence=window[0].index,
        last_sentence=window[-1].index,
        start_char=window[0].start_char,
        end_char=window[-1].end_char,
        document_id=f"d{seed}-{d}",
        title=f"Page {d} of {seed}",
        url=f"https://example.org/{seed}/{d}",
        source="made up",
    )


def _edges(chunks: list[ChunkText], vectors: Vector) -> dict[str, tuple[str, ...]]:
    """Return for each chunk its 4 nearest inside and 2 outside its document."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    edges = {}
    for i, chunk in enumerate(chunks):
        order = np.argsort(-(unit @ unit[i]), kind="stable")
        others = [chunks[j] for j in order if j != i]
        inside = [c.id for c in others if c.document_id == chunk.document_id]
        outside = [c.id for c in others if c.document_id != chunk.document_id]
        edges[chunk.id] = (*inside[:4], *outside[:2])
    return edges


class ScriptedModel:
    """A stand-in for a language model: the same prompt has the same answer.

    One answer in eight is no good, one in eight stops, and the others choose.
    """

    name = "scripted"

    def reply(self, prompt: str, **_: Any) -> ModelReply:
        """Return an answer that hangs on the prompt alone."""
        number = hashlib.blake2b(prompt.encode(), digest_size=1).digest()[0]
        choice = {0: "nonsense", 1: "stop"}.get(number % 8, 1 + number % 3)
        text = f'{{"choice": {json.dumps(choice)}, "reasoning": "By the number."}}'
        return ModelReply(text=text, prompt_tokens=len(prompt), completion_tokens=9)

    async def areply(self, prompt: str, **_: Any) -> ModelReply:
        """Do as `reply` does."""
        return self.reply(prompt)


def close(first: Trail, second: Trail) -> bool:
    """Return whether two walks are the same.

    Axes are sums over the corpus in whatever order it comes, so that scores along them
    may differ in the last digits; all else is the same to the bit.
    """
    one, two = (-1.0 if t.score is None else t.score for t in (first, second))
    bare = [replace(t, score=None, counts={}) for t in (first, second)]
    same_counts = first.counts.keys() == second.counts.keys() and all(
        abs(first.counts[name] - second.counts[name]) < _TOLERANCE
        for name in first.counts
    )
    return bare[0] == bare[1] and same_counts and abs(one - two) < _TOLERANCE


def _starts_again(trail: Trail, seed: int) -> bool:
    """Return whether a walk starts in a document it was in, though others are left."""
    left = {chunk.document_id for chunk in random_graph(seed).chunks}
    for step in trail.steps:
        if left and step.reason == "anchor" and step.chunk.document_id not in left:
            return True
        left.discard(step.chunk.document_id)
    return False


def differing(expected: list[Trail], found: list[Trail]) -> list[tuple[Trail, Trail]]:
    """Return the pairs of walks that are not the same."""
    pairs = zip(expected, found, strict=True)
    return [(one, two) for one, two in pairs if not close(one, two)]


def _sorted(found: TermsFound) -> tuple[Any, ...]:
    named = {chunk_id: sorted(names) for chunk_id, names in found.named.items()}
    counts = {name: found.counts[name] for names in named.values() for name in names}
    return found.chunks, counts, named, dict(found.texts), dict(found.titles)


class GraphReaderConformance:
    """What every reader must do; the memory reader is the measure.

    A subclass has a pytest fixture `open_reader`: a function of a `MemoryGraph` and a
    filter or None, which stores the graph and returns a reader of it.
    """

    def walks(
        self,
        open_reader: OpenReader,
        seed: int,
        given: dict[str, Any] | None = None,
        options: WalkOptions | None = None,
        *,
        published: bool = False,
    ) -> tuple[list[Trail], list[Trail]]:
        """Return the walks of every algorithm from memory and from the reader."""
        graph = random_graph(seed)
        parsed = parse_filter(given)
        readers = (MemoryReader(graph, filter=parsed), open_reader(graph, parsed))
        options = replace(options or WalkOptions(), question="Which way?")
        queries = [random_query(seed + n) for n in (1, 2, 3)]
        model: Any = ScriptedModel()
        first, second = (
            [
                run(reader, walker.walk(query, options), model)
                for walker in (
                    algorithm(name, published=published)
                    for name in (PUBLISHED_ALGORITHMS if published else ALGORITHMS)
                    if name != "hybrid"  # words are ranked by each store's own index
                )
                for query in queries
            ]
            for reader in readers
        )
        return first, second

    def test_walks_are_those_from_memory(self, open_reader: OpenReader) -> None:
        """Every algorithm gives the same steps, scores and stop reason."""
        expected, found = self.walks(open_reader, 7)

        assert differing(expected, found) == []

    def test_published_walks_are_those_from_memory(
        self, open_reader: OpenReader
    ) -> None:
        """The preset walks the same from every reader, where nothing is tied."""
        expected, found = self.walks(open_reader, 13, published=True)

        assert differing(expected, found) == []

    def test_long_walks_are_those_from_memory(self, open_reader: OpenReader) -> None:
        """Without a sentence budget the walks are the same too."""
        options = WalkOptions(max_sentences=None, max_hops=30)
        expected, found = self.walks(open_reader, 8, options=options)

        assert differing(expected, found) == []

    def test_looking_ahead_is_the_same(self, open_reader: OpenReader) -> None:
        """Two steps ahead with a beam of two, every algorithm walks the same."""
        options = WalkOptions(max_sentences=20, lookahead=2, beam=2)
        expected, found = self.walks(open_reader, 14, options=options)

        assert differing(expected, found) == []

    def test_several_anchors_are_the_same(self, open_reader: OpenReader) -> None:
        """Walks from three anchors start in documents that they have not been in."""
        options = WalkOptions(max_sentences=20, anchors=3)
        expected, found = self.walks(open_reader, 15, options=options)

        assert differing(expected, found) == []
        starts = [sum(s.reason == "anchor" for s in trail.steps) for trail in found]
        assert max(starts) == 3
        assert [trail for trail in found if _starts_again(trail, 15)] == []

    def test_a_filter_holds_on_every_hop(self, open_reader: OpenReader) -> None:
        """No step leaves the documents that the filter lets through."""
        given = {"theme": {"$in": ["birds", "lenses"]}, "document.words": {"$lt": 250}}
        options = WalkOptions(lookahead=1, anchors=2)
        expected, found = self.walks(open_reader, 9, given, options)

        assert differing(expected, found) == []
        allowed = {"Page 0 of 9", "Page 1 of 9", "Page 2 of 9"}
        assert {step.chunk.title for t in found for step in t.steps} <= allowed

    def test_a_filter_that_nothing_passes(self, open_reader: OpenReader) -> None:
        """The walk is empty and says that there was no anchor."""
        _, found = self.walks(open_reader, 10, {"title": "nowhere"})

        assert {(t.steps, t.stop_reason) for t in found} == {((), "no_anchor")}

    def test_unknown_chunks_are_missing(self, open_reader: OpenReader) -> None:
        """A chunk that was deleted meanwhile is left out, not an error."""
        graph = random_graph(11)
        known = graph.chunks[0].id

        found = open_reader(graph, None).expand((known, "gone"))

        assert list(found) == [known]

    def test_homes_are_the_first_chunks(self, open_reader: OpenReader) -> None:
        """Each sentence has the first chunk that holds it; unknown ones have none."""
        graph = random_graph(16)
        sentences = [s.id for s in graph.sentences[graph.chunks[2].id]]

        found = open_reader(graph, None).homes(("gone", *sentences))

        expected = MemoryReader(graph).homes(sentences)
        assert dict(zip(found.sentences, found.ids, strict=True)) == dict(
            zip(expected.sentences, expected.ids, strict=True)
        )
        assert found.ids[0] == graph.chunks[0].id
        assert found.vectors.tolist() == expected.vectors.tolist()

    def test_axes_are_those_from_memory(self, open_reader: OpenReader) -> None:
        """Main axes, and those fitted to a question, agree in every component."""
        graph = random_graph(17)
        reader, memory = open_reader(graph, None), MemoryReader(graph)

        pairs = [
            (reader.projection(query), memory.projection(query))
            for query in (None, random_query(1), None)
        ]

        assert [
            bool(
                np.allclose(one.mean, two.mean, rtol=0, atol=_TOLERANCE)
                and np.allclose(one.components, two.components, rtol=0, atol=_TOLERANCE)
                and np.allclose(one.explained, two.explained, rtol=0, atol=_TOLERANCE)
            )
            for one, two in pairs
        ] == [True] * 3

    def test_texts_are_those_from_memory(self, open_reader: OpenReader) -> None:
        """Where texts are asked for, each chunk near has its own, hits a vector too."""
        graph = random_graph(18, sentences=(50, 30, 1))
        for given in (None, parse_filter({"title": {"$ne": "Page 1 of 18"}})):
            readers = MemoryReader(graph, filter=given), open_reader(graph, given)
            for k, texts in ((1, 1), (1, 60), (1, 90), (40, 60)):
                one, two = (
                    reader.anchors(random_query(18), k, documents=True, texts=texts)
                    for reader in readers
                )
                hits = [found.ids[: len(found.vectors)] for found in (one, two)]
                assert set(hits[1]) == set(hits[0])
                assert two.complete <= one.complete
                assert dict(zip(two.ids, two.texts, strict=True)) == dict(
                    zip(one.ids, one.texts, strict=True)
                )
                assert dict(zip(two.ids, two.documents, strict=True)) == dict(
                    zip(one.ids, one.documents, strict=True)
                )

    def test_terms_are_those_from_memory(self, open_reader: OpenReader) -> None:
        """Terms of chunks and names, their counts, and the chunks that name them."""
        graph = random_graph(18)
        given = parse_filter({"title": {"$ne": "Page 1 of 18"}})
        readers = MemoryReader(graph, filter=given), open_reader(graph, given)
        ids = [graph.chunks[0].id, "gone", graph.chunks[3].id]

        (plain, other), (whole, members) = (
            [reader.terms(*asked, members=members) for reader in readers]
            for asked, members in (((ids, ("cove", "x")), False), (((), _NAMES), True))
        )

        for one, two in ((plain, other), (whole, members)):
            assert _sorted(two) == _sorted(one)
        assert set(plain.named) == {ids[0], ids[2]}
        assert "cove" in plain.counts
        query = random_query(18)
        nearest = Nearest(names=("cove", "x"), vector=query, most=2)
        some, same = (
            reader.terms((), (), members=True, nearest=nearest) for reader in readers
        )
        assert _sorted(some) == _sorted(same)
        assert len(some.named) == 2
        assert len(whole.named) > len(graph.chunks) / 3

    def test_names_lead_further(self, open_reader: OpenReader) -> None:
        """What shares a name with a chunk of the question is found through it."""
        graph = random_graph(19)
        options = WalkOptions(max_sentences=60, question="Which way to Blue Harbour?")
        walking = algorithm("auto").walk(random_query(19), options)

        found = run(open_reader(graph, None), walking)

        assert any("too" in step.reason for step in found.steps)
        assert found.counts["questionTerms"] == 2

    def test_neighbours_come_only_when_wanted(self, open_reader: OpenReader) -> None:
        """Opening chunks for their sentences fetches no neighbours."""
        graph = random_graph(12)
        known = graph.chunks[0].id

        found = open_reader(graph, None).expand((known,), neighbours=False)

        assert found[known].neighbours.ids == ()
        vector = found[known].vector
        assert vector is not None
        assert vector.tolist() == graph.vectors[0].tolist()
        assert found[known].chunk == graph.chunks[0]
