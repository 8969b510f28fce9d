"""How each kind of node and relationship looks, in every viewer.

One table gives the colours, sizes, captions and properties for Bloom, Neo4j Browser
and our own graph pictures, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStyle:
    """How nodes of a label look.

    `ink` is the colour of text on `color`, `caption` the property that names a node;
    of `properties`, with their types as Bloom names them, a person has no use for the
    hidden ones.
    """

    label: str
    color: str
    caption: str
    properties: Mapping[str, str]
    ink: str
    size: float
    hidden: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipStyle:
    """How relationships of a type look, with the labels of their usual ends.

    The width is in pixels; a caption is the property that is shown, None shows the
    type; `properties` are as those of nodes.
    """

    type: str
    start: str
    end: str
    color: str
    width: int
    caption: str | None
    properties: Mapping[str, str]


_PLACES = frozenset({
    "endChar",
    "firstSentence",
    "index",
    "lastSentence",
    "position",
    "startChar",
})
_COUNTS = frozenset({
    "chunks",
    "corpusVersion",
    "dimensions",
    "hop",
    "hops",
    "sentences",
    "version",
})
_WHOLE = _PLACES | _COUNTS | {"rank"}
_NUMBERS = frozenset({"milliseconds", "score", "stderr", "strength", "value", "zelo"})


def _typed(names: str) -> dict[str, str]:
    """Return properties with their types as Bloom names them."""
    return {
        name: "bigint" if name in _WHOLE else "number" if name in _NUMBERS else "string"
        for name in names.split()
    }


def _node(
    label: str,
    color: str,
    caption: str,
    properties: str,
    *,
    ink: str = "#ffffff",
    size: float = 1.0,
    hidden: str = "",
) -> NodeStyle:
    typed = _typed(properties)
    return NodeStyle(
        label=label,
        color=color,
        caption=caption,
        properties=typed,
        ink=ink,
        size=size,
        hidden=frozenset([*hidden.split(), "embedding"]) & set(typed),
    )


def _edge(
    kind: str,
    start: str,
    end: str,
    properties: str = "",
    *,
    color: str = "#8b97a3",
    width: int = 1,
    caption: str | None = None,
) -> RelationshipStyle:
    return RelationshipStyle(
        type=kind,
        start=start,
        end=end,
        color=color,
        width=width,
        caption=caption,
        properties=_typed(properties),
    )


def _further(
    kind: str, start: str, end: str, properties: str = ""
) -> RelationshipStyle:
    """Return the style of what some commands store, in the colour of its start."""
    color = next(style.color for style in NODES if style.label == start)
    caption = next(iter(properties.split()), None)
    return _edge(kind, start, end, properties, color=color, caption=caption)


NODES = (
    _node("Corpus", "#4a4a4a", "name", "name embedder dimensions version status",
          size=2.0),
    _node("Document", "#0072b2", "title",
          "id corpus title url source revision language contentHash text status "
          "themeEmbedding", size=1.6, hidden="contentHash text themeEmbedding"),
    _node("Chunk", "#56b4e9", "text",
          "id corpus index text firstSentence lastSentence startChar endChar embedding",
          ink="#000000"),
    _node("Sentence", "#009e73", "text",
          "id corpus index text startChar endChar embedding", size=0.75),
    _node("Theme", "#cc79a7", "name", "id corpus name embedding", ink="#000000"),
    _node("Term", "#785ef0", "label", "id corpus name label chunks", size=0.75),
    _node("Category", "#f0e442", "name", "id corpus name", ink="#000000"),
    _node("Redirect", "#b4bec8", "title", "id corpus title target", ink="#000000",
          size=0.75),
    _node("Query", "#d55e00", "text", "id corpus text embedding", size=2.0),
    _node("Traversal", "#a63d00", "algorithm",
          "id corpus algorithm parameters stopReason hops sentences milliseconds score "
          "corpusVersion", size=1.6),
    _node("Step", "#e69f00", "index",
          "id corpus index hop score reason milliseconds title text", ink="#000000"),
    _node("Extraction", "#117733", "variant", "id variant model status"),
    _node("Fact", "#44803f", "text", "id text index"),
    _node("Gap", "#882255", "text", "id text index"),
    _node("Concept", "#332288", "name", "id name corpus"),
    _node("Entity", "#6b3d99", "name", "id name type corpus"),
    _node("SearchResult", "#54606c", "title", "id title query url text"),
    _node("Research", "#2f4b7c", "question", "id question status stopReason", size=1.6),
    _node("SubQuestion", "#4a6fa5", "text", "id text reason"),
    _node("Finding", "#5b7f3a", "text", "id text score"),
    _node("Claim", "#665191", "text", "id text"),
    _node("Verdict", "#a05195", "verdict", "id verdict by score"),
    _node("Battle", "#aa4499", "score", "id score reason"),
    _node("EvalRun", "#7a4900", "kind", "id kind status"),
    _node("EvalRecord", "#8c6d31", "id", "id"),
    _node("FieldResult", "#7b6a2b", "path", "id path score status"),
    _node("Metric", "#5d6d1e", "name", "id name value"),
    _node("Custodian", "#1f5a7a", "name", "id name city url"),
    _node("OntologyClass", "#2b7a78", "name", "id name uri"),
    _node("Conversation", "#994f00", "id", "id"),
    _node("Turn", "#b3560b", "question", "id question answer index"),
    _node("SchemaVersion", "#6e6e6e", "version", "id version"),
)  # fmt: skip
"""The labels that are stored, in the order in which a legend lists them."""

RELATIONSHIPS = (
    _edge("IN_CORPUS", "Document", "Corpus"),
    _edge("FROM_DOCUMENT", "Chunk", "Document"),
    _edge("NEXT_CHUNK", "Chunk", "Chunk"),
    _edge("HAS_SENTENCE", "Chunk", "Sentence", "position"),
    _edge("NEXT_SENTENCE", "Sentence", "Sentence"),
    _edge("SIMILAR_TO", "Chunk", "Chunk", "rank score scope", color="#56b4e9", width=3,
          caption="score"),
    _edge("HAS_THEME", "Document", "Theme", "rank", color="#cc79a7"),
    _edge("THEME_SIMILAR_TO", "Document", "Document", "rank score", color="#cc79a7",
          width=3, caption="score"),
    _edge("LINKS_TO", "Document", "Document", "anchor", color="#0072b2", width=2),
    _edge("MENTIONS", "Chunk", "Document", "anchor", color="#0072b2", caption="anchor"),
    _edge("NAMES", "Chunk", "Term", color="#785ef0"),
    _edge("IN_CATEGORY", "Document", "Category"),
    _edge("FOR_QUERY", "Traversal", "Query", width=2),
    _edge("FIRST_STEP", "Traversal", "Step", color="#d55e00", width=4),
    _edge("NEXT_STEP", "Step", "Step", color="#d55e00", width=4),
    _edge("VISITED", "Step", "Chunk", color="#e69f00", width=3),
    _edge("PICKED", "Step", "Sentence", "rank score", color="#009e73", width=2,
          caption="score"),
    _edge("CONSIDERED", "Step", "Chunk", "rank score", color="#b4bec8",
          caption="score"),
    _further("EXTRACTED_FROM", "Extraction", "Document"),
    _further("STATES", "Extraction", "Fact"),
    _further("IDENTIFIES", "Extraction", "Entity"),
    _further("LACKS", "Extraction", "Gap"),
    _further("SUPPORTED_BY", "Fact", "Sentence", "score"),
    _further("ASKS", "Research", "SubQuestion"),
    _further("LED_TO", "SubQuestion", "SubQuestion"),
    _further("WALKED", "SubQuestion", "Traversal"),
    _further("FOUND", "SubQuestion", "Finding"),
    _further("CLAIMS", "Research", "Claim"),
    _further("DRAWN_FROM", "Claim", "Finding"),
    _further("HAS_VERDICT", "Claim", "Verdict"),
    _further("CAUSES", "Concept", "Concept", "strength"),
    _further("RELATES", "Entity", "Entity", "relation"),
    _further("HAS_RECORD", "EvalRun", "EvalRecord"),
    _further("HAS_FIELD", "EvalRecord", "FieldResult"),
    _further("HAS_METRIC", "EvalRun", "Metric"),
    _further("JUDGES", "EvalRecord", "Traversal"),
    _further("LEFT", "Battle", "Chunk"),
    _further("RIGHT", "Battle", "Chunk"),
    _further("JUDGED", "Query", "Chunk", "zelo stderr"),
    _further("INSTANCE_OF", "Custodian", "OntologyClass"),
    _further("ABOUT", "Chunk", "Custodian"),
    _further("HAS_TURN", "Conversation", "Turn"),
    _further("NEXT_TURN", "Turn", "Turn"),
)  # fmt: skip
"""The types that are stored."""
