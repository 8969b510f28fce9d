"""SKN blocks of the documents of a walk, as what an answer rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.graph.cli.rows import counted
from knowtrail.retrieval.answers import AnswerRequest, answer_schema, numbered_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowtrail.retrieval.walk import FoundSentence, Walk

AnswerContext: TypeAlias = Literal["sentences", "skn"]
CONTEXTS: tuple[AnswerContext, ...] = ("sentences", "skn")
BLOCKS = "extraction/blocks"
"""The statement that reads the blocks of documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBlock:
    """What was extracted from a document as SKN, with what the walk found of it."""

    document_id: str
    title: str
    extraction_id: str
    text: str
    sentences: tuple[FoundSentence, ...]


def walked_documents(walk: Walk) -> list[str]:
    """Return the ids of the documents of a walk, in the order of its steps."""
    return list(dict.fromkeys(step.chunk.document_id for step in walk.steps))


def knowledge_blocks(
    walk: Walk, rows: Iterable[Mapping[str, Any]]
) -> list[KnowledgeBlock]:
    """Return the blocks of a walk's documents, in the order of the walk.

    A document may have been extracted in several ways. One is taken: of the fullest
    variant, of the whole document before its chunks.
    """
    found: dict[str, list[FoundSentence]] = {}
    for step in walk.steps:
        found.setdefault(step.chunk.document_id, []).extend(step.sentences)
    ways: dict[str, tuple[Any, ...]] = {}
    blocks = []
    for row in rows:
        document = row["document"]
        way = (row["variant"], row["chunk"] < 0, row["model"])
        if ways.setdefault(document, way) != way or document not in found:
            continue
        blocks.append(
            KnowledgeBlock(
                document_id=document,
                title=row["title"],
                extraction_id=row["extraction"],
                text=row["text"],
                sentences=tuple(found[document]),
            )
        )
    return blocks


def knowledge_request(
    walk: Walk, blocks: Sequence[KnowledgeBlock], *, tokens: int | None
) -> AnswerRequest | None:
    """Ask for an answer from SKN blocks, as `numbered_prompt` does; None without."""
    if not blocks:
        return None
    texts = [f"{' '.join(b.title.split())}\n{b.text}" for b in blocks]
    prompt, kept = numbered_prompt(
        walk.question, texts, kind="SKN-blocks", tokens=tokens
    )
    documents = walked_documents(walk)
    read = {block.document_id for block in blocks[:kept]}
    note = ""
    if len(read) < len(documents):
        note = (
            f"Answered from the SKN of {len(read)} of the {len(documents)} documents "
            "of the walk: the others have none, or it did not fit."
        )
    return AnswerRequest(
        prompt=prompt,
        schema=answer_schema(kept),
        blocks=tuple(blocks[:kept]),
        note=note,
    )


def no_blocks_note(walk: Walk) -> str:
    """Say that an answer rests on sentences, as nothing has been extracted."""
    return (
        f"No SKN is stored for the {counted(len(walked_documents(walk)), 'document')} "
        "of the walk, so the answer rests on sentences. Run knowtrail extract --corpus "
        f"{walk.corpus} --variant skn first (with --retry-failed where that failed)."
    )
