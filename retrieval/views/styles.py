"""How each kind of node and relationship looks, in every viewer.

One table gives the colours, sizes, captions and properties for Bloom, Neo4j Browser
and our own graph pictures, so that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStyle:
    """How nodes of a label look.

    Attributes:
        label: The label.
        color: Fill, as `#rrggbb`.
        ink: Colour of text on it.
        caption: Property that names a node.
        size: 1 is the usual size.
        properties: Property -> type as Bloom names it.
        hidden: Properties that a person has no use for, vectors above all.
    """

    label: str
    color: str
    caption: str
    properties: Mapping[str, str]
    ink: str = "#ffffff"
    size: float = 1.0
    hidden: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipStyle:
    """How relationships of a type look.

    Attributes:
        type: The type.
        start: Label of the first end.
        end: Label of the other end.
        color: As `#rrggbb`.
        width: In pixels.
        caption: Property that is shown; None shows the type.
        properties: Property -> type as Bloom names it.
    """

    type: str
    start: str
    end: str
    color: str = "#8b97a3"
    width: int = 1
    caption: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


_TEXT, _WHOLE, _NUMBER = "string", "bigint", "number"
_VECTOR = frozenset({"embedding"})


def _further(label: str, color: str, caption: str, **more: str) -> NodeStyle:
    """Return the style of what only some commands store."""
    properties = {"id": _TEXT, caption: _TEXT} | more
    return NodeStyle(label=label, color=color, caption=caption, properties=properties)


_OF_CORPUS = {"corpus": _TEXT}

NODES = (
    NodeStyle(
        label="Corpus",
        color="#4a4a4a",
        caption="name",
        size=2.0,
        properties={
            "name": _TEXT,
            "embedder": _TEXT,
            "dimensions": _WHOLE,
            "version": _WHOLE,
            "status": _TEXT,
        },
    ),
    NodeStyle(
        label="Document",
        color="#0072b2",
        caption="title",
        size=1.6,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "title": _TEXT,
            "url": _TEXT,
            "source": _TEXT,
            "revision": _TEXT,
            "language": _TEXT,
            "contentHash": _TEXT,
            "text": _TEXT,
            "status": _TEXT,
            "themeEmbedding": _TEXT,
        },
        hidden=frozenset({"contentHash", "text", "themeEmbedding"}),
    ),
    NodeStyle(
        label="Chunk",
        color="#56b4e9",
        ink="#000000",
        caption="text",
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "index": _WHOLE,
            "text": _TEXT,
            "firstSentence": _WHOLE,
            "lastSentence": _WHOLE,
            "startChar": _WHOLE,
            "endChar": _WHOLE,
            "embedding": _TEXT,
        },
        hidden=_VECTOR,
    ),
    NodeStyle(
        label="Sentence",
        color="#009e73",
        caption="text",
        size=0.75,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "index": _WHOLE,
            "text": _TEXT,
            "startChar": _WHOLE,
            "endChar": _WHOLE,
            "embedding": _TEXT,
        },
        hidden=_VECTOR,
    ),
    NodeStyle(
        label="Theme",
        color="#cc79a7",
        ink="#000000",
        caption="name",
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "name": _TEXT,
            "embedding": _TEXT,
        },
        hidden=_VECTOR,
    ),
    NodeStyle(
        label="Term",
        color="#785ef0",
        caption="label",
        size=0.75,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "name": _TEXT,
            "label": _TEXT,
            "chunks": _WHOLE,
        },
    ),
    NodeStyle(
        label="Category",
        color="#f0e442",
        ink="#000000",
        caption="name",
        properties={"id": _TEXT, "corpus": _TEXT, "name": _TEXT},
    ),
    NodeStyle(
        label="Redirect",
        color="#b4bec8",
        ink="#000000",
        caption="title",
        size=0.75,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "title": _TEXT,
            "target": _TEXT,
        },
    ),
    NodeStyle(
        label="Query",
        color="#d55e00",
        caption="text",
        size=2.0,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "text": _TEXT,
            "embedding": _TEXT,
        },
        hidden=_VECTOR,
    ),
    NodeStyle(
        label="Traversal",
        color="#a63d00",
        caption="algorithm",
        size=1.6,
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "algorithm": _TEXT,
            "parameters": _TEXT,
            "stopReason": _TEXT,
            "hops": _WHOLE,
            "sentences": _WHOLE,
            "milliseconds": _NUMBER,
            "score": _NUMBER,
            "corpusVersion": _WHOLE,
        },
    ),
    NodeStyle(
        label="Step",
        color="#e69f00",
        ink="#000000",
        caption="index",
        properties={
            "id": _TEXT,
            "corpus": _TEXT,
            "index": _WHOLE,
            "hop": _WHOLE,
            "score": _NUMBER,
            "reason": _TEXT,
            "milliseconds": _NUMBER,
            "title": _TEXT,
            "text": _TEXT,
        },
    ),
    _further("Extraction", "#117733", "variant", model=_TEXT, status=_TEXT),
    _further("Fact", "#44803f", "text", index=_WHOLE),
    _further("Gap", "#882255", "text", index=_WHOLE),
    _further("Concept", "#332288", "name", **_OF_CORPUS),
    _further("Entity", "#6b3d99", "name", type=_TEXT, **_OF_CORPUS),
    _further("SearchResult", "#54606c", "title", query=_TEXT, url=_TEXT, text=_TEXT),
    _further("Battle", "#aa4499", "score", reason=_TEXT, score=_NUMBER),
    _further("EvalRun", "#7a4900", "kind", status=_TEXT),
    _further("EvalRecord", "#8c6d31", "id"),
    _further("FieldResult", "#7b6a2b", "path", score=_NUMBER, status=_TEXT),
    _further("Metric", "#5d6d1e", "name", value=_NUMBER),
    _further("Custodian", "#1f5a7a", "name", city=_TEXT, url=_TEXT),
    _further("OntologyClass", "#2b7a78", "name", uri=_TEXT),
    _further("Conversation", "#994f00", "id"),
    _further("Turn", "#b3560b", "question", answer=_TEXT, index=_WHOLE),
    _further("SchemaVersion", "#6e6e6e", "version", version=_WHOLE),
)
"""The labels that are stored, in the order in which a legend lists them."""

_SCORED = {"rank": _WHOLE, "score": _NUMBER}

_FURTHER: tuple[tuple[str, str, str, Mapping[str, str]], ...] = (
    ("EXTRACTED_FROM", "Extraction", "Document", {}),
    ("STATES", "Extraction", "Fact", {}),
    ("LACKS", "Extraction", "Gap", {}),
    ("SUPPORTED_BY", "Fact", "Sentence", {"score": _NUMBER}),
    ("CAUSES", "Concept", "Concept", {"strength": _NUMBER}),
    ("RELATES", "Entity", "Entity", {"relation": _TEXT}),
    ("HAS_RECORD", "EvalRun", "EvalRecord", {}),
    ("HAS_FIELD", "EvalRecord", "FieldResult", {}),
    ("HAS_METRIC", "EvalRun", "Metric", {}),
    ("JUDGES", "EvalRecord", "Traversal", {}),
    ("LEFT", "Battle", "Chunk", {}),
    ("RIGHT", "Battle", "Chunk", {}),
    ("JUDGED", "Query", "Chunk", {"zelo": _NUMBER, "stderr": _NUMBER}),
    ("INSTANCE_OF", "Custodian", "OntologyClass", {}),
    ("ABOUT", "Chunk", "Custodian", {}),
    ("HAS_TURN", "Conversation", "Turn", {}),
    ("NEXT_TURN", "Turn", "Turn", {}),
)
"""Of what only some commands store: type, labels of the ends, and properties, the
first of which is shown; the colour is that of the first end."""

RELATIONSHIPS = (
    RelationshipStyle(type="IN_CORPUS", start="Document", end="Corpus"),
    RelationshipStyle(type="FROM_DOCUMENT", start="Chunk", end="Document"),
    RelationshipStyle(type="NEXT_CHUNK", start="Chunk", end="Chunk"),
    RelationshipStyle(
        type="HAS_SENTENCE",
        start="Chunk",
        end="Sentence",
        properties={"position": _WHOLE},
    ),
    RelationshipStyle(type="NEXT_SENTENCE", start="Sentence", end="Sentence"),
    RelationshipStyle(
        type="SIMILAR_TO",
        start="Chunk",
        end="Chunk",
        color="#56b4e9",
        width=3,
        caption="score",
        properties={**_SCORED, "scope": _TEXT},
    ),
    RelationshipStyle(
        type="HAS_THEME",
        start="Document",
        end="Theme",
        color="#cc79a7",
        properties={"rank": _WHOLE},
    ),
    RelationshipStyle(
        type="THEME_SIMILAR_TO",
        start="Document",
        end="Document",
        color="#cc79a7",
        width=3,
        caption="score",
        properties=_SCORED,
    ),
    RelationshipStyle(
        type="LINKS_TO",
        start="Document",
        end="Document",
        color="#0072b2",
        width=2,
        properties={"anchor": _TEXT},
    ),
    RelationshipStyle(
        type="MENTIONS",
        start="Chunk",
        end="Document",
        color="#0072b2",
        caption="anchor",
        properties={"anchor": _TEXT},
    ),
    RelationshipStyle(type="NAMES", start="Chunk", end="Term", color="#785ef0"),
    RelationshipStyle(type="IN_CATEGORY", start="Document", end="Category"),
    RelationshipStyle(type="FOR_QUERY", start="Traversal", end="Query", width=2),
    RelationshipStyle(
        type="FIRST_STEP", start="Traversal", end="Step", color="#d55e00", width=4
    ),
    RelationshipStyle(
        type="NEXT_STEP", start="Step", end="Step", color="#d55e00", width=4
    ),
    RelationshipStyle(
        type="VISITED", start="Step", end="Chunk", color="#e69f00", width=3
    ),
    RelationshipStyle(
        type="PICKED",
        start="Step",
        end="Sentence",
        color="#009e73",
        width=2,
        caption="score",
        properties=_SCORED,
    ),
    RelationshipStyle(
        type="CONSIDERED",
        start="Step",
        end="Chunk",
        color="#b4bec8",
        caption="score",
        properties=_SCORED,
    ),
    *(
        RelationshipStyle(
            type=kind,
            start=start,
            end=end,
            color=next(style.color for style in NODES if style.label == start),
            caption=next(iter(properties), None),
            properties=properties,
        )
        for kind, start, end, properties in _FURTHER
    ),
)
"""The types that are stored, with the labels of their ends, the usual ones."""
