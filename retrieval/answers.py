"""Answers of a language model: what it is asked, and what is taken of what it says.

The answer comes as JSON, whose field `answer` is handed on character by character as
it arrives. So one request gives both a text that streams and fields that can be
checked: small models keep to a schema, but not to a habit of putting `[n]` into a text.

Whatever documents and model say, an answer cites only sentences that were given.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from knowtrail.graph.cli.rows import counted
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.models.prompts import (
    estimated_tokens,
    fitting,
    marked,
    whole_characters,
)
from knowtrail.graph.models.requests import object_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowtrail.retrieval.walk import FoundSentence, Walk

AnswerContext: TypeAlias = Literal["sentences", "skn"]
CONTEXTS: tuple[AnswerContext, ...] = ("sentences", "skn")
BLOCKS = "extraction/blocks"
"""The statement that reads the blocks of documents."""

T = TypeVar("T")
TEXTS: dict[str, Any] = packaged(__package__, "texts.toml")
"""What models are told."""
NO_CITATIONS = (
    "The model named no sentence that it was given: compare the answer with the text."
)
CUT = "The answer was cut before its end."
LONGEST_ANSWER = 1_200
LEAST_ROOM = 400
_TURNS = 10
_SPACES = re.compile(r"\s+")
_CITED = re.compile(r"\[(\d{1,6})\]")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:u(.{4})|(.))", re.DOTALL)
_TOKEN = re.compile(
    r'"((?:[^"\\]+|\\u.{4}|\\[^u])*)("|(?:\\(?:u.{0,3})?)?\Z)|[{}\[\],:]', re.DOTALL
)
"""A string, whose end or last escape may be still to come, or a sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBlock:
    """What was extracted from a document as SKN, with what the walk found of it."""

    document_id: str
    title: str
    extraction_id: str
    text: str
    sentences: tuple[FoundSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """What a model is asked: a prompt, and the form of the answer.

    Sentences, or SKN blocks in their place, stand in the order of their numbers, 1
    first; the note is what a reader must know about them.
    """

    prompt: str
    schema: Mapping[str, Any]
    sentences: tuple[FoundSentence, ...] = ()
    blocks: tuple[KnowledgeBlock, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer(Generic[T]):
    """What a model said, as far as it can be used.

    The cited texts are in the order in which the model names them; the confidence is
    from 0 to 1, or None; the note is what a reader must know, empty if nothing.
    """

    text: str
    cited: tuple[T, ...]
    confidence: float | None
    note: str


def answer_request(
    question: str, sentences: Sequence[FoundSentence], *, tokens: int | None
) -> AnswerRequest:
    """Ask for an answer to a question from numbered sentences.

    Question and sentences stand between marks that nothing in them can close, and a
    sentence is one line, so that it cannot pass for another number. See
    `numbered_prompt`.
    """
    lines = [_SPACES.sub(" ", s.text).strip() for s in sentences]
    prompt, kept = numbered_prompt(question, lines, kind="sentences", tokens=tokens)
    return AnswerRequest(
        prompt=prompt, schema=answer_schema(kept), sentences=tuple(sentences[:kept])
    )


def standalone_request(
    question: str, history: Sequence[tuple[str, str]], *, tokens: int | None
) -> AnswerRequest:
    """Ask for a question that can be understood without what was said before it.

    The history is who spoke and what was said, the oldest first; the oldest that do not
    fit are left out, and all but the last `_TURNS`.
    """
    lines = [f"{who}: {_SPACES.sub(' ', said).strip()}" for who, said in history]
    asked = marked("question", question)[1]
    task = TEXTS["standalone"]
    lines = lines[-_TURNS:]
    if tokens is not None:
        room = tokens - estimated_tokens(f"{task}\n{asked}") - 100
        lines = list(reversed(that_fit(lines[::-1], max(room, 1))))
    said = marked("conversation", "\n".join(lines))[1]
    schema = object_form(question={"type": "string"})
    return AnswerRequest(prompt=f"{task}\n{said}\n{asked}", schema=schema)


def parse_standalone(said: str, question: str) -> str:
    """Return the question that a model made of one; that itself where it made none."""
    try:
        found = json.loads(said)["question"]
    except (ValueError, KeyError, TypeError):
        return question
    return found if isinstance(found, str) and found.strip() else question


def numbered_prompt(
    question: str, texts: Sequence[str], *, kind: str, tokens: int | None
) -> tuple[str, int]:
    """Return a request for an answer from numbered texts, and how many it holds.

    The texts stand in their order, the most important first; the caller sees to it that
    none can pass for another number. Raises `InputError` if the question leaves no room
    for them.
    """
    question_mark, asked = marked("question", question)
    instructions = TEXTS["answer"].format(mark=question_mark, kind=kind)
    lines = [f"[{n}] {text}" for n, text in enumerate(texts, start=1)]
    if tokens is not None:
        room = tokens - estimated_tokens(f"{instructions}\n{asked}") - 100
        if room < LEAST_ROOM:
            raise InputError(
                f"The question has {len(question)} characters and leaves no room for "
                f"{kind} in the language model's context: shorten it."
            )
        lines = that_fit(lines, room)
    passage = marked(kind, "\n".join(lines))[1]
    return f"{instructions}\n{passage}\n{asked}", len(lines)


def that_fit(lines: list[str], room: int) -> list[str]:
    """Return the first lines that fit, the first one cut if it alone does not."""
    kept: list[str] = []
    for line in lines:
        room -= estimated_tokens(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept or [fitting(lines[0], room + estimated_tokens(lines[0]))]


def answer_schema(given: int) -> dict[str, Any]:
    """Return the form of an answer; the text comes first, so that it can stream."""
    number = {"type": "integer", "enum": list(range(1, given + 1))}
    return object_form(
        answer={"type": "string", "maxLength": LONGEST_ANSWER},
        citations={"type": "array", "items": number, "maxItems": min(given, 10)},
        confidence={"type": "number"},
    )


def parse_answer(raw: str, given: Sequence[T]) -> ParsedAnswer[T]:
    """Take what can be used of a model's answer, or raise `ModelError` for none.

    A model that was only told the schema may wrap the JSON in other text, or answer
    without JSON, citing by `[n]`; that is taken too.
    """
    found = json_object(raw)
    if found is not None:
        answer, named = found.get("answer"), found.get("citations")
        confidence = known_share(found.get("confidence"))
        text = answer if isinstance(answer, str) else ""
        whole = True
    else:
        text = AnswerText().feed(raw)
        whole = "{" not in raw
        text = text or (raw if whole else "")
        named, confidence = [int(n) for n in _CITED.findall(text)], None
    text = whole_characters(text).strip()
    if not text:
        raise ModelError(
            f"The language model gave no answer but {raw[:80]!r}: ask again, or use a "
            "larger model."
        )
    cited = _cited(named, given)
    notes = [*([] if whole else [CUT]), *([] if cited else [NO_CITATIONS])]
    return ParsedAnswer(
        text=text, cited=cited, confidence=confidence, note=" ".join(notes)
    )


def json_object(raw: str) -> dict[str, Any] | None:
    """Return the JSON object in a text, None where there is none."""
    try:
        found = json.loads(raw[raw.index("{") : raw.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _cited(named: object, given: Sequence[T]) -> tuple[T, ...]:
    """Return the texts of those numbers that were given, each once."""
    numbers = [
        n
        for n in (named if isinstance(named, list) else [])
        if isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= len(given)
    ]
    return tuple(given[n - 1] for n in dict.fromkeys(numbers))


def known_share(value: object) -> float | None:
    """Return what a model says is a number from 0 to 1, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


class AnswerText:
    """Reads the string field `answer` of a JSON object while it arrives.

    What is not JSON gives no text and no error: the whole is parsed at the end.
    """

    def __init__(self) -> None:
        self._raw = ""
        self._told = 0

    def feed(self, piece: str) -> str:
        """Return the characters of the answer that a piece brings."""
        self._raw += piece
        text = _answer_so_far(self._raw)
        new, self._told = text[self._told :], len(text)
        return new


def _answer_so_far(raw: str) -> str:
    depth, key, last = 0, "", ""
    for token in _TOKEN.finditer(raw, max(raw.find("{"), 0)):
        sign, text = token[0], token[1]
        if text is None:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0)
            last = sign
        elif depth == 1 and last == ":" and key == "answer":
            return _decoded(text, whole=token[2] == '"')
        else:
            key = text if depth == 1 and last in "{," else key
            last = '"'
    return ""


def _decoded(text: str, *, whole: bool) -> str:
    """Return the text of a JSON string; what may go on at its end is kept back."""
    text = _ESCAPE.sub(_character, text)
    if not whole and "\ud800" <= text[-1:] <= "\udbff":
        text = text[:-1]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return _ESCAPES.get(escape[2], escape[2])
    try:
        return chr(int(escape[1], 16))
    except ValueError:
        return "\ufffd"


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
