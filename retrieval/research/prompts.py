"""What research asks a language model, and what is taken of its answers.

An answer that cannot be used is None: whoever asked does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.graph.models.prompts import estimated_tokens, marked, whole_characters
from knowtrail.graph.models.requests import object_form
from knowtrail.retrieval.answers import TEXTS, json_object, that_fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.research.records import VerdictWord

_TEXT = {"type": "string", "maxLength": 400}
_TEXTS = {"type": "array", "items": _TEXT, "maxItems": 5}
_ENTAILED: tuple[VerdictWord, ...] = ("supported", "contradicted", "unsupported")
_TOLD = TEXTS["research"]


def _numbered(given: int) -> dict[str, Any]:
    """Return the form of texts that rest on numbers from 1 on."""
    number = {"type": "integer", "minimum": 1, "maximum": given}
    numbers = {"type": "array", "items": number}
    return {"type": "array", "items": object_form(text=_TEXT, numbers=numbers)}


def plan_request(question: str) -> tuple[str, dict[str, Any]]:
    """Ask for sub-questions; return prompt and form."""
    return f"{_TOLD['plan']}\n{marked('question', question)[1]}", object_form(
        questions=_TEXTS
    )


def notes_request(
    question: str, sentences: Sequence[str], tokens: int | None
) -> tuple[str, dict[str, Any], int]:
    """Ask what sentences say, and what is missing; return how many it shows too."""
    prompt, shown = _with_lines(_TOLD["notes"], "question", question, sentences, tokens)
    return prompt, object_form(notes=_numbered(shown), missing=_TEXTS), shown


def draft_request(
    question: str, notes: Sequence[str], tokens: int | None
) -> tuple[str, dict[str, Any], int]:
    """Ask for claims drawn from notes; return how many of these it shows too."""
    prompt, shown = _with_lines(_TOLD["draft"], "question", question, notes, tokens)
    return prompt, object_form(claims=_numbered(shown)), shown


def check_request(
    claim: str, sentences: Sequence[str], tokens: int | None
) -> tuple[str, dict[str, Any]]:
    """Ask whether sentences entail a claim."""
    prompt, _ = _with_lines(_TOLD["check"], "claim", claim, sentences, tokens)
    return prompt, object_form(verdict={"type": "string", "enum": list(_ENTAILED)})


def _with_lines(
    task: str, kind: str, text: str, lines: Sequence[str], tokens: int | None
) -> tuple[str, int]:
    """Return a request with numbered lines, as many as fit, and how many these are."""
    asked = marked(kind, text)[1]
    numbered = [f"[{n}] {' '.join(t.split())}" for n, t in enumerate(lines, start=1)]
    if tokens is not None:
        room = tokens - estimated_tokens(f"{task}\n{asked}") - 100
        numbered = that_fit(numbered, max(room, 1))
    passage = marked("lines", "\n".join(numbered))[1]
    return f"{task}\n{asked}\n{passage}", len(numbered)


def parse_texts(said: str, field: str) -> list[str] | None:
    """Return the texts of a field, each once; None where there is no list of them."""
    rows = (json_object(said) or {}).get(field)
    if not isinstance(rows, list):
        return None
    texts = (whole_characters(t).strip() for t in rows if isinstance(t, str))
    return list(dict.fromkeys(text for text in texts if text))


def parse_numbered(
    said: str, field: str, given: int
) -> list[tuple[str, list[int]]] | None:
    """Return texts with the places, from 0, of what they rest on.

    Texts that rest on nothing they were given are left out; None where the answer has
    no such list, or none of its texts is left.
    """
    rows = (json_object(said) or {}).get(field)
    found = []
    for row in rows if isinstance(rows, list) else []:
        text = row.get("text") if isinstance(row, dict) else None
        numbers = row.get("numbers") if isinstance(row, dict) else None
        if not isinstance(text, str) or not isinstance(numbers, list):
            continue
        places = dict.fromkeys(
            n - 1 for n in numbers if type(n) is int and 1 <= n <= given
        )
        if places and text.strip():
            found.append((whole_characters(text).strip(), list(places)))
    empty = isinstance(rows, list) and not rows
    return found if found or empty else None


def parse_notes(
    said: str, given: int
) -> tuple[list[tuple[str, list[int]]], list[str] | None] | None:
    """Return notes as `parse_numbered` does, and what is missing, None if not said."""
    notes = parse_numbered(said, "notes", given)
    return None if notes is None else (notes, parse_texts(said, "missing"))


def parse_verdict(said: str) -> VerdictWord | None:
    """Return what the model holds of a claim."""
    word = (json_object(said) or {}).get("verdict")
    return next((known for known in _ENTAILED if known == word), None)
