"""Answers in words: fixed ones in Dutch or English, or those of a language model."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import ModelError
from knowtrail.graph.files.templates import templates
from knowtrail.graph.models.prompts import fitting, marked, whole_characters
from knowtrail.graph.models.requests import object_form
from knowtrail.retrieval.answers import json_object, that_fit
from knowtrail.retrieval.specificity.gazetteer import place_name
from knowtrail.retrieval.specificity.query_templates import each_of
from knowtrail.retrieval.specificity.vocabulary import data_file, said_in, type_words
from knowtrail.retrieval.specificity.yaml_lines import DATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Template

    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.specificity.class_scores import RankedChunk
    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.execution import Execution
    from knowtrail.retrieval.specificity.query_templates import SlotValues
    from knowtrail.retrieval.specificity.slots import Doubt


SHOWN = 25
"""Institutions that a list names."""
PASSAGES = 5


def things(slots: SlotValues, language: str, number: int = 2) -> str:
    """Return the words for the types asked for, one or many."""
    form = 0 if number == 1 else 1
    shown, said = type_words().shown, said_in(language)
    letters = each_of(slots, "institution_type")
    words = [shown[letter][language][form] for letter in letters if letter in shown]
    return str(said["and"].join(words) or said["generic"][form])


def joined(places: Sequence[str], language: str, by: str = "or") -> str:
    """Return places with commas and an `or`, or an `and`."""
    *first, last = places or ("",)
    return f"{', '.join(first)}{said_in(language)[by]}{last}" if first else last


def where(slots: SlotValues, language: str) -> str:
    """Return the places asked for, with `in` before them."""
    if distance := slots.get("distance"):
        town = joined(each_of(slots, "city"), language)
        return f" {said_in(language)['near'].format(distance, town)}"
    for name in ("city", "region", "country"):
        if places := [_placed(value, language) for value in each_of(slots, name)]:
            return f" in {joined(places, language)}"
    return ""


def amount(value: str | int | float, language: str) -> str:
    """Return an amount with separators."""
    number = float(value)
    text = f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
    return text if language == "en" else text.translate(str.maketrans(",.", ".,"))


def _placed(value: str, language: str) -> str:
    article = data_file("places.yaml")["articles"][language].get(value, "")
    return f"{article} {place_name(value, language)}".strip()


_CODES = re.compile(r"\b[A-Z]{2}(?:-[A-Z0-9]{1,3})?\b")
_JOINERS = dict.fromkeys(("ambiguous", "several"), "; ") | dict.fromkeys(
    ("longer", "parts", "spelt", "unrecorded"), ", "
)


def doubt_text(doubt: Doubt, language: str) -> str:
    """Return what is doubtful about a slot value, in words."""
    words = said_in(language)
    shown = [_with_names(text, language) for text in doubt.candidates]
    if doubt.slot == "institution_type":
        types = type_words().shown
        shown = [types[t][language][1] if t in types else t for t in shown]
    for english, own in words["kinds"].items():
        shown = [
            own + t.removeprefix(english) if t.startswith(english) else t for t in shown
        ]
    kind = "near" if doubt.kind == "unknown" and shown else doubt.kind
    text = doubt.text
    placed = doubt.slot in {"region", "country"}
    if placed and doubt.kind in {"only", "parts", "unrecorded"}:
        text = _with_names(text, language)
    joiner = _JOINERS.get(kind, words["or"])
    return str(words["doubts"][kind].format(text, joiner.join(shown)))


def _with_names(text: str, language: str) -> str:
    return _CODES.sub(lambda found: place_name(found[0], language), text)


def passages(chunks: Sequence[RankedChunk], language: str) -> str:
    """Return the passages nearest to a question that no template fits, with numbers."""
    if not chunks:
        return fixed_text("none", language)
    lines = [
        f"[{n}] {chunk.title}: {' '.join(chunk.text.split())}"
        for n, chunk in enumerate(chunks[:PASSAGES], start=1)
    ]
    return "\n".join([fixed_text("passages", language), *lines])


def fixed_text(key: str, language: str, *values: object) -> str:
    """Return an answer that says why there is no other."""
    return str(said_in(language)["fixed"][key].format(*values))


def asking_for(missing: Sequence[str], language: str, *, each: bool) -> str:
    """Return a request for slots, by their names; for two places if for each."""
    slots = said_in(language)["slots"]
    wanted = [
        slots["two"]
        if each and name == "city|region|country"
        else joined([slots.get(p, p) for p in name.split("|")], language)
        for name in missing
    ]
    return fixed_text("missing", language, ", ".join(wanted))


def plain_answer(
    found: Execution, slots: SlotValues, language: str, **told: Any
) -> str:
    """Return an answer made of rows, by what `answers.jinja` is told beside them.

    That is the `template_id`; the columns that are `asked` for; `counted` and `total`,
    as `PipelineResult` has them; what tells rows of one name `apart`, by IRI; limits in
    words that are no slots, `beside`; and what of it is `unmeasured`.
    """
    return wording("answers.jinja").render(
        columns=found.columns,
        rows=[dict(zip(found.columns, row, strict=True)) for row in found.rows],
        cut=found.cut,
        slots=slots,
        language=language,
        shown=SHOWN,
        **told,
    )


@cache
def wording(name: str) -> Template:
    """Return a template of this package's data for texts in words."""
    made = templates(DATA, escape=str)
    made.filters["place_name"] = place_name
    known = (amount, each_of, joined, said_in, things, where)
    return made.get_template(name, globals={one.__name__: one for one in known})


def asked_columns(question: str) -> tuple[str, ...]:
    """Return which facts of an institution a question asks for, in either language."""
    text = question.casefold()
    return tuple(
        dict.fromkeys(
            column
            for language in ("en", "nl")
            for column, words in said_in(language)["asks"].items()
            if re.search(rf"\b(?:{words})\b", text)
        )
    )


HISTORY = 3
"""Turns of the conversation that a model is told."""

ROWS = 50
TOKENS = 2_500
_LANGUAGES = {"en": "English", "nl": "Dutch"}
_SCHEMA = object_form(answer={"type": "string", "maxLength": 1_200})


def build_context(found: Execution | None, chunks: Sequence[RankedChunk]) -> str:
    """Return what an answer may rest on: rows of the query first, then chunks."""
    lines: list[str] = []
    if found is not None:
        lines.append(f"Query result, {len(found.rows)} rows:")
        for row in found.rows[:ROWS]:
            pairs = zip(found.columns, row, strict=True)
            shown = [f"{n}={v}" for n, v in pairs if v is not None and n != "custodian"]
            lines.append("- " + "; ".join(shown))
        if len(found.rows) > ROWS:
            lines.append(f"- and {len(found.rows) - ROWS} more")
    for chunk in chunks:
        text = " ".join(chunk.text.split())
        lines.append(f"[{chunk.class_name or '-'}] {chunk.title}: {text}")
    return "\n".join(that_fit(lines, TOKENS)) if lines else ""


def model_answer(
    model: LanguageModel,
    question: str,
    context: str,
    conversation: Conversation,
    *,
    language: str,
    seconds: float,
) -> str:
    """Return a model's answer, which knows the last turns of the conversation.

    What comes from users and documents stands between marks that it cannot close.
    Raises `ModelError` for an answer that cannot be used.
    """
    said = "\n".join(
        f"Q: {turn.question}\nA: {fitting(turn.answer, 150)}"
        for turn in conversation.turns[-HISTORY:]
    )
    prompt = wording("answer.jinja").render(
        asked=marked("question", question),
        known=marked("context", context),
        history=marked("conversation", said) if said else None,
        language=_LANGUAGES[language],
    )
    reply = model.reply(prompt, schema=_SCHEMA, seconds=seconds)
    answer = (json_object(reply.text) or {}).get("answer")
    if not isinstance(answer, str) or not answer.strip():
        msg = f"{model.name} gave no usable answer: {reply.error or reply.text[:80]!r}."
        raise ModelError(msg)
    return whole_characters(answer.strip())
