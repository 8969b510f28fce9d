"""What an extraction says, as nodes and relationships, stored whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import VectorError
from knowtrail.graph.models.embedders import embed_texts
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.graph.vectors import cosines_between
from knowtrail.ingest.extraction.skn.notation import SknBlock
from knowtrail.ingest.keys import camel_cased, content_key, normalise_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.db.connection import Connection, Counters
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.extraction.text_extraction import Extracted
    from knowtrail.ingest.extraction.web import WebResult

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What one extraction says: its key, its properties, and rows of the rest."""

    id: str
    properties: Row
    rows: Mapping[str, Sequence[Row]]

    @property
    def facts(self) -> Sequence[Row]:
        """Return the rows of its facts."""
        return self.rows.get("facts", ())


def extraction_id(corpus: str, source: str, *, variant: str, model: str) -> str:
    """Return the key of the extraction from a source by a variant and a model."""
    return content_key("extraction", corpus, source, variant, model)


def knowledge_of(
    extracted: Extracted,
    *,
    corpus: str,
    source: str,
    content_hash: str,
    question: str | None = None,
) -> Knowledge:
    """Return the rows of an extraction."""
    key = extraction_id(
        corpus, source, variant=extracted.variant, model=extracted.model
    )
    said: dict[str, list[Row]] = {}
    about: Row = {}
    if isinstance(extracted.value, SknBlock):
        said = _of_block(extracted.value, corpus, key)
        about = _assessment(extracted.value)
    elif extracted.value is not None:
        said = _of_json(extracted.value, corpus, key)
    names = (one.name for one in fields(extracted) if one.name != "value")
    properties = camel_cased(extracted, *names) | {
        "id": key,
        "corpus": corpus,
        "sourceId": source,
        "contentHash": content_hash,
        "question": question,
        "seconds": round(extracted.seconds, 3),
        "repairs": [str(repair) for repair in extracted.repairs],
        "notUnderstood": extracted.not_understood,
        "text": extracted.text,
        **about,
    }
    return Knowledge(id=key, properties=_storable(properties), rows=said)


def _storable(row: Row) -> Row:
    """Return a row whose texts are whole characters, without nulls."""
    stored: Row = {}
    for name, value in row.items():
        if isinstance(value, str):
            stored[name] = whole_characters(value)
        elif isinstance(value, list):
            stored[name] = [whole_characters(text) for text in value]
        elif value is not None:
            stored[name] = value
    return stored


def _assessment(block: SknBlock) -> Row:
    about: Row = {}
    if block.source is not None:
        about |= {
            "domain": block.source.domain,
            "freshness": block.source.freshness,
            "reliability": block.source.reliability,
        }
    if block.risk is not None:
        about |= {
            "misdirection": block.risk.misdirection,
            "missingContext": block.risk.missing_context,
        }
    return about


def _of_block(block: SknBlock, corpus: str, key: str) -> dict[str, list[Row]]:
    names = [name for link in block.causal for name in (link.cause, link.effect)]
    concepts = _named("concept", corpus, names)
    causes: dict[tuple[str, str], Row] = {}
    for link in block.causal:
        cause, effect = (
            concepts[normalise_name(whole_characters(name))]["id"]
            for name in (link.cause, link.effect)
        )
        if cause != effect:
            row = {"cause": cause, "effect": effect, "strength": link.strength}
            causes.setdefault((cause, effect), row)
    facts = [
        _said(
            *("fact", key, corpus, index, fact.text),
            priority=fact.priority,
            symbol=fact.symbol,
            confidence=fact.confidence,
        )
        for index, fact in enumerate(block.facts)
    ]
    gaps = [
        _said("gap", key, corpus, index, text) for index, text in enumerate(block.gaps)
    ]
    return {
        "facts": facts,
        "gaps": gaps,
        "concepts": list(concepts.values()),
        "causes": list(causes.values()),
    }


def _said(kind: str, key: str, corpus: str, index: int, text: str, **more: Any) -> Row:
    return _storable({
        "id": content_key(kind, key, index),
        "corpus": corpus,
        "extraction": key,
        "index": index,
        "text": text,
        **more,
    })


def _named(kind: str, corpus: str, names: list[str]) -> dict[str, Row]:
    """Return rows of shared nodes by normalised name, with the first spelling."""
    rows: dict[str, Row] = {}
    for name in map(whole_characters, names):
        same = normalise_name(name)
        rows.setdefault(
            same,
            {"id": content_key(kind, corpus, same), "corpus": corpus, "name": name},
        )
    return rows


def _of_json(value: dict[str, Any], corpus: str, key: str) -> dict[str, list[Row]]:
    names = [entity["name"] for entity in value["entities"]]
    for relation in value["relationships"]:
        names += [relation["source"], relation["target"]]
    entities = _named("entity", corpus, names)
    for entity in value["entities"]:
        row = entities[normalise_name(whole_characters(entity["name"]))]
        row.setdefault("type", whole_characters(entity["type"]))
        attributes = json.dumps(entity["attributes"], ensure_ascii=False)
        row.setdefault("attributes", whole_characters(attributes))
    relations: dict[tuple[str, str, str], Row] = {}
    for relation in value["relationships"]:
        source, target = (
            entities[normalise_name(whole_characters(relation[end]))]["id"]
            for end in ("source", "target")
        )
        word = whole_characters(relation["relation"])
        row = {"source": source, "target": target, "relation": word}
        relations.setdefault((source, word, target), row)
    facts = [
        _said(
            *("fact", key, corpus, index, claim["statement"]),
            category=claim["category"],
            confidence=claim.get("confidence"),
        )
        for index, claim in enumerate(value["claims"])
    ]
    blank = {"type": None, "attributes": None}
    return {
        "facts": facts,
        "entities": [blank | row for row in entities.values()],
        "relations": list(relations.values()),
    }


SUPPORT = 0.6
"""Least cosine of a fact and a sentence that supports it."""

MOST_SUPPORTS = 3
"""Sentences that a fact is linked to at most, the nearest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSource:
    """What a model is given to read.

    Attributes:
        id: Key of the document, chunk or search.
        document: Id of the document whose sentences may support its facts; None for
            a search.
        text: The text; None where it is still to be read from the graph.
    """

    id: str
    title: str
    content_hash: str
    document: str | None = None
    results: tuple[WebResult, ...] = ()
    text: str | None = None


def _search_result_rows(source: ExtractionSource, corpus: str) -> list[dict[str, Any]]:
    return [
        {
            "id": content_key("result", source.id, rank),
            "corpus": corpus,
            "query": source.title,
            "rank": rank,
            "title": result.title,
            "url": result.url,
            "text": result.content,
        }
        for rank, result in enumerate(source.results, start=1)
    ]


def supports(
    connection: Connection,
    embedder: Embedder,
    knowledge: Knowledge,
    document: str | None,
) -> list[dict[str, Any]]:
    """Return which sentences of its document support each fact.

    Up to three a fact, at cosine 0.6 or above.
    """
    if document is None or not knowledge.facts:
        return []
    rows = connection.read("extraction/sentences", document=document)
    rows = [row for row in rows if row["vector"] is not None]
    if not rows:
        return []
    try:
        facts = embed_texts(embedder, [fact["text"] for fact in knowledge.facts])
    except VectorError:
        return []
    sentences = np.asarray([row["vector"] for row in rows], dtype=np.float64)
    scores = cosines_between(facts.astype(np.float64), sentences)
    found = []
    for index, fact in enumerate(knowledge.facts):
        best = np.argsort(-scores[index], kind="stable")[:MOST_SUPPORTS]
        found += [
            {
                "fact": fact["id"],
                "sentence": rows[place]["id"],
                "score": round(min(float(scores[index, place]), 1.0), 6),
                "rank": rank,
            }
            for rank, place in enumerate(best, start=1)
            if scores[index, place] >= SUPPORT
        ]
    return found


def store(
    connection: Connection,
    knowledge: Knowledge,
    source: ExtractionSource,
    *,
    corpus: str,
    supported: Sequence[Mapping[str, Any]],
) -> Counters:
    """Store an extraction in the place of the one of the same source and kind.

    Concepts and entities that nothing names any more go.
    """
    key = knowledge.id
    results = _search_result_rows(source, corpus)
    steps: list[tuple[str, Mapping[str, Any]]] = [
        ("extraction/remove", {"ids": [key]}),
        ("extraction/search_results", {"rows": results}),
        (
            "extraction/extraction",
            {
                "id": key,
                "properties": knowledge.properties,
                "sources": [row["id"] for row in results] or [source.id],
            },
        ),
    ]
    steps += [
        (f"extraction/{name}", {"extraction": key, "rows": rows})
        for name, rows in knowledge.rows.items()
    ]
    steps.append(("extraction/supports", {"rows": list(supported)}))
    return connection.write_all([
        (name, params) for name, params in steps if params.get("rows") != []
    ])
