"""What an extraction says, as rows of nodes and relationships."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph.prompts import whole_characters
from ingest.extraction.skn.blocks import SknBlock
from ingest.keys import content_key, normalise_name

if TYPE_CHECKING:
    from ingest.extraction.results import Extracted

__all__ = ["Knowledge", "extraction_id", "knowledge_of"]

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What one extraction says, ready to be stored.

    Attributes:
        id: Key of the extraction.
        properties: Properties of its node.
        facts: Rows of facts, in order.
        gaps: Rows of gaps, in order.
        concepts: Rows of concepts.
        causes: Rows of links between concepts.
        entities: Rows of entities.
        relations: Rows of links between entities.
    """

    id: str
    properties: Row
    facts: tuple[Row, ...] = ()
    gaps: tuple[Row, ...] = ()
    concepts: tuple[Row, ...] = ()
    causes: tuple[Row, ...] = ()
    entities: tuple[Row, ...] = ()
    relations: tuple[Row, ...] = ()


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
    """Return the rows of an extraction.

    Args:
        extracted: What a model made of the source.
        corpus: Name of the corpus.
        source: Id of the document, chunk or search.
        content_hash: Key of what was read, to see later whether it has changed.
        question: What the knowledge was wanted for; None for no question.
    """
    key = extraction_id(
        corpus, source, variant=extracted.variant, model=extracted.model
    )
    said: dict[str, Any] = {}
    about: Row = {}
    if isinstance(extracted.value, SknBlock):
        said = _of_block(extracted.value, corpus, key)
        about = _assessment(extracted.value)
    elif extracted.value is not None:
        said = _of_json(extracted.value, corpus, key)
    properties = {
        "id": key,
        "corpus": corpus,
        "sourceId": source,
        "variant": extracted.variant,
        "model": extracted.model,
        "promptHash": extracted.prompt_hash,
        "contentHash": content_hash,
        "question": question,
        "status": extracted.status,
        "error": extracted.error,
        "attempts": extracted.attempts,
        "answerTokens": extracted.answer_tokens,
        "promptTokens": extracted.prompt_tokens,
        "completionTokens": extracted.completion_tokens,
        "seconds": round(extracted.seconds, 3),
        "sourceCharacters": extracted.source_characters,
        "readCharacters": extracted.read_characters,
        "repairs": [_repair(r.line, r.code, r.message) for r in extracted.repairs],
        "raw": extracted.raw,
        "text": extracted.text,
        **about,
    }
    return Knowledge(id=key, properties=_storable(properties), **said)


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


def _repair(line: int, code: str, message: str) -> str:
    """Return a repair in one line."""
    return f"{f'line {line}: ' if line else ''}{message} ({code})"


def _assessment(block: SknBlock) -> Row:
    """Return source and risk as properties."""
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


def _of_block(block: SknBlock, corpus: str, key: str) -> dict[str, tuple[Row, ...]]:
    """Return the rows of an SKN block."""
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
        _fact(
            *(key, corpus, index, fact.text),
            priority=fact.priority,
            symbol=fact.symbol,
            confidence=fact.confidence,
        )
        for index, fact in enumerate(block.facts)
    ]
    gaps = [
        {
            "id": content_key("gap", key, index),
            "corpus": corpus,
            "extraction": key,
            "index": index,
            "text": whole_characters(text),
        }
        for index, text in enumerate(block.gaps)
    ]
    return {
        "facts": tuple(facts),
        "gaps": tuple(gaps),
        "concepts": tuple(concepts.values()),
        "causes": tuple(causes.values()),
    }


def _fact(key: str, corpus: str, index: int, text: str, **more: Any) -> Row:
    """Return the row of a fact."""
    return _storable({
        "id": content_key("fact", key, index),
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


def _of_json(
    value: dict[str, Any], corpus: str, key: str
) -> dict[str, tuple[Row, ...]]:
    """Return the rows of a JSON answer; claims are facts."""
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
        _fact(
            *(key, corpus, index, claim["statement"]),
            category=claim["category"],
            confidence=claim.get("confidence"),
        )
        for index, claim in enumerate(value["claims"])
    ]
    blank = {"type": None, "attributes": None}
    return {
        "facts": tuple(facts),
        "entities": tuple(blank | row for row in entities.values()),
        "relations": tuple(relations.values()),
    }
