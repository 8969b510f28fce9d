"""The four phases for one sample: search, extraction, reasoning, evaluation.

Judges say of an answer whether it is right, whether it is made up, and how far it rests
on its source. What a judge says is held to a schema strictly, and asked for once more;
then the verdict is missing, and counts as the worst, see `knowtrail.eval.skn.metrics`.

Each takes what is finished from the state; what is new is kept there before it is
used. A result that failed is kept too, and asked for again only on request.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from knowtrail.eval.models import (
    DEFAULT_MODEL,
    TEXTS,
    Answer,
    ModelLike,
    Respondent,
    as_model,
    ask,
    fitted,
    patiently,
)
from knowtrail.eval.skn.options import ABLATION_PIPELINES
from knowtrail.eval.skn.samples import (
    ABSTENTIONS,
    Found,
    Sample,
    recorded_search,
    searched,
)
from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.models.prompts import fitting, marked
from knowtrail.graph.models.requests import object_form
from knowtrail.ingest.extraction import VARIANTS, extract_text, variant_of
from knowtrail.ingest.extraction.variants import prompt_hash
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowtrail.eval.skn.options import BenchmarkOptions
    from knowtrail.graph.files.journal import State

_TOLD = TEXTS["skn"]
_DATA: str = _TOLD["data"]
_FOUND = TypeAdapter(Found)


def _sound_claims(value: dict[str, Any]) -> None:
    made_up, total = len(value["fabricated_claims"]), value["total_claims"]
    if made_up > max(total, 1):
        msg = f"fabricated_claims has {made_up} entries of total_claims {total}."
        raise InputError(msg)
    if made_up and not value["hallucination_detected"]:
        msg = f"{made_up} fabricated_claims, but hallucination_detected is false."
        raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One question about every answer, beside its `truth`, `source` or `question`."""

    name: str
    beside: str
    instructions: str
    schema: Mapping[str, Any]
    check: Callable[[dict[str, Any]], None] | None = None

    @property
    def prompt_hash(self) -> str:
        """Return a key of instructions and schema."""
        return content_key("judge", self.instructions, repr(self.schema))


def _judges(refusal: str) -> dict[str, Judge]:
    """Return the judges by name, told so much about answers that refuse."""
    return {
        name: Judge(
            name=name,
            beside=told["beside"],
            instructions=told["instructions"].replace("{refusal}", refusal),
            schema=object_form(**told["properties"]),
            check=_sound_claims if name == "hallucination" else None,
        )
        for name, told in _TOLD["judges"].items()
    }


JUDGES: Mapping[str, Judge] = _judges(_TOLD["refusal"])
"""Name -> judge."""

PUBLISHED_JUDGES: Mapping[str, Judge] = _judges("")
"""The same, told no more about answers that refuse than the published ones are."""


def _between_marks(first: str, text: str, second: str, other: str) -> str:
    """Return two texts, each between its marks, below what these are."""
    (one, shown), (two, beside) = marked(first, text), marked(second, other)
    return (
        f"The {first} stands between <{one}> and </{one}>, the {second} between "
        f"<{two}> and </{two}>.\n{shown}\n{beside}"
    )


def judge_answer(judge: Judge, who: Respondent, answer: str, beside: str) -> Answer:
    """Ask a model for its verdict."""
    if who.model.prompt_tokens is not None:
        answer = fitting(answer, who.model.prompt_tokens // 3)
    beside = fitted(who, beside, judge.instructions, _DATA, answer)
    system = f"{judge.instructions} {_DATA} Answer with JSON."
    prompt = _between_marks(judge.beside, beside, "answer", answer)
    return ask(who, system, prompt, schema=judge.schema, check=judge.check)


ABSTENTION_PHRASES = tuple(ABSTENTIONS.read_text("utf-8").splitlines())


def abstains(answer: str) -> bool:
    """Return whether an answer has one of the phrases, in any case, anywhere."""
    lowered = answer.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(phrase in lowered for phrase in ABSTENTION_PHRASES)


def normalized_hallucination(fabricated: int, total: int) -> float:
    """Return the share of claims that are made up."""
    return fabricated / max(total, 1)


NOTHING_TO_JUDGE = "the agent gave no answer"


def verdict_of(who: Respondent, name: str, answer: str, beside: str) -> dict[str, Any]:
    """Return a model's verdict."""
    return asdict(judge_answer(JUDGES[name], who, answer, beside))


def is_judged(row: dict[str, Any], variant: str) -> bool:
    """Return whether a row has all verdicts on a variant."""
    return all(
        f"{variant}_{name}" in row
        for name in ("correct", "hallucination", "groundedness", "abstained")
    )


def judge_row(
    row: dict[str, Any],
    variant: str,
    verdict: Callable[[str, str, str], dict[str, Any]],
    *,
    abstention: bool = False,
) -> None:
    """Add the verdicts on an answer to its row, the worst where a judge fails."""
    answer = str(_given(row, f"{variant}_answer"))
    source = str(_given(row, "raw_text"))
    asked: dict[str, dict[str, Any]] = {}

    def ask(name: str, beside: str) -> dict[str, Any] | None:
        nothing = {"value": None, "error": NOTHING_TO_JUDGE}
        asked[name] = verdict(name, answer, beside) if answer.strip() else nothing
        value: dict[str, Any] | None = asked[name]["value"]
        return value

    row[f"{variant}_correct"] = None
    if row.get("answerable", True):
        value = ask("accuracy", str(_given(row, "ground_truth")))
        row[f"{variant}_correct"] = value is not None and value["correct"]
    row[f"{variant}_hallucination"] = _hallucination(ask("hallucination", source))
    row[f"{variant}_groundedness"] = ask("groundedness", source) or {
        "groundedness_score": 0.0,
        "unsupported_fraction": 1.0,
    }
    by_phrase = abstains(answer)
    row[f"{variant}_abstained"] = by_phrase
    if abstention:
        value = ask("abstention", str(_given(row, "question")))
        row[f"{variant}_abstained_by_phrase"] = by_phrase
        # Of a refusal the worst that can be said depends on the question.
        row[f"{variant}_abstained"] = (
            bool(row.get("answerable", True)) if value is None else value["abstained"]
        )
    row[f"{variant}_judges"] = {
        name: {key: said[key] for key in _KEPT if key in said}
        for name, said in asked.items()
    }


_KEPT = ("error", "prompt_tokens", "completion_tokens", "seconds", "attempts")


def _given(row: dict[str, Any], name: str) -> Any:
    if row.get(name) is None:
        msg = f"The row {row.get('id')!r} has no {name!r}: it cannot be judged."
        raise InputError(msg)
    return row[name]


def _hallucination(value: dict[str, Any] | None) -> dict[str, Any]:
    if value is None:
        return {
            "hallucination_detected": True,
            "hallucination_severity": 1.0,
            "total_claims": 1,
            "fabricated_claims": [],
            "normalized_hallucination": 1.0,
        }
    total = max(value["total_claims"], 1)
    share = normalized_hallucination(len(value["fabricated_claims"]), total)
    return {**value, "total_claims": total, "normalized_hallucination": share}


def empty_extraction(variant: str) -> str | dict[str, Any]:
    """Return what stands for an extraction that failed, or of no text."""
    if VARIANTS[variant].form == "skn":
        return ""
    return {"entities": [], "relationships": [], "claims": []}


def _extractor(variant: str) -> Callable[..., Any]:
    def extract(raw_text: str, model: ModelLike = DEFAULT_MODEL) -> Any:
        if not raw_text.strip():
            return empty_extraction(variant)
        extracted = extract_text(raw_text, variant=variant, model=as_model(model))
        if extracted.value is None:
            return empty_extraction(variant)
        return extracted.value if isinstance(extracted.value, dict) else extracted.text

    extract.__name__ = extract.__qualname__ = f"extract_{variant}"
    return extract


EXTRACTORS = {variant: _extractor(variant) for variant in ABLATION_PIPELINES}
"""Name of a format -> its extractor."""

extract_json = EXTRACTORS["json"]
extract_json_conf = EXTRACTORS["json_conf"]
extract_skn = EXTRACTORS["skn"]
extract_skn_no_gaps = EXTRACTORS["skn_no_gaps"]
extract_skn_no_causal = EXTRACTORS["skn_no_causal"]
extract_skn_no_risk = EXTRACTORS["skn_no_risk"]

_LOG = logging.getLogger(__name__)

UNPARSED = "Failed to parse structured response"
NO_REPLY = "error"
_INSTRUCTIONS: str = _TOLD["agent"]
PUBLISHED_INSTRUCTIONS: str = _TOLD["published"]
"""What the published benchmark asks for, in our words: nothing on missing answers."""
_SCHEMA = object_form(
    answer={"type": "string"},
    confidence={"type": "number", "minimum": 0, "maximum": 1},
    reasoning={"type": "string"},
)
AGENT_HASH = content_key("agent", _INSTRUCTIONS, json.dumps(_SCHEMA))
"""Key of what the agent is told, without context and question."""


def agent_reason(
    context: str | dict[str, Any], question: str, model: ModelLike = DEFAULT_MODEL
) -> dict[str, Any]:
    """Answer a question from an extraction, SKN as text or JSON as objects.

    An answer of another form is asked for once more; then it is taken whole, with
    confidence 0 and a reasoning that says so. Where the model gives none at all, the
    answer is empty and the reasoning is "error".
    """
    try:
        who = Respondent(model=as_model(model))
        answer = reason(who, context_text(context), question)
    except ModelError as error:
        _LOG.warning("The agent gives no answer: %s", error)
        return no_reply()
    if answer.value is None and answer.raw.strip():
        return {**no_reply(), "answer": answer.raw.strip(), "reasoning": UNPARSED}
    return answer.value or no_reply()


def no_reply() -> dict[str, Any]:
    """Return what stands for an answer that did not come."""
    return {"answer": "", "confidence": 0.0, "reasoning": NO_REPLY}


def context_text(context: str | dict[str, Any]) -> str:
    """Return an extraction as the agent reads it."""
    if isinstance(context, str):
        return context
    return json.dumps(context, indent=2, ensure_ascii=False, default=str)


def reason(
    who: Respondent, context: str, question: str, instructions: str = _INSTRUCTIONS
) -> Answer:
    """Answer a question from a context, with what that cost."""
    context = fitted(who, context, instructions, question)
    prompt = _between_marks("context", context, "question", question)
    return ask(who, instructions, prompt, schema=_SCHEMA, check=_says_something)


def _says_something(value: dict[str, Any]) -> None:
    if not value["answer"].strip():
        raise InputError("the answer is empty.")


TOKENS = ("prompt_tokens", "completion_tokens")
SPENT = ("calls", *TOKENS)
"""What is counted of the calls that are made."""


@dataclass(slots=True, kw_only=True)
class Phases:
    """Runs the phases of a benchmark, in as many threads as its caller likes.

    Of equal requests the first is asked, and the others wait for its answer. A
    `problem` is raised before a model or the web is asked.
    """

    state: State
    options: BenchmarkOptions
    recorded: Mapping[str, Found]
    problem: ModelError | None = None
    spent: Counter[str] = field(default_factory=Counter)
    _made: set[str] = field(default_factory=set)
    _turns: dict[str, Lock] = field(default_factory=dict)
    _guard: Lock = field(default_factory=Lock)

    def _kept(
        self, key: str, make: Callable[[], dict[str, Any]], **about: Any
    ) -> dict[str, Any]:
        """Return a finished result, or make it and keep it."""
        with self._guard:
            turn = self._turns.setdefault(key, Lock())
        with turn:
            known: dict[str, Any] | None = self.state.get(key)
            again = self.options.retry_failed and key not in self._made
            if known is not None and not (again and known.get("error")):
                return known
            self._refuse_calls()
            made = make()
            self.state.put(key, made, **about)
        with self._guard:
            self._made.add(key)
            self.spent["calls"] += made["attempts"]
            self.spent.update({name: made[name] or 0 for name in TOKENS})
        return made

    def _refuse_calls(self) -> None:
        if self.problem is not None:
            raise self.problem

    def search(self, sample: Sample) -> Found:
        """Return the search results of a sample; where there are none, keep nothing."""
        count, only = self.options.results, self.options.recorded_only
        key = content_key("search", sample.question, count)
        live = not only and recorded_search(sample, self.recorded) is None
        if live and (known := self.state.get(key)) is not None:
            return _FOUND.validate_python(known)
        if live:
            self._refuse_calls()
        found = searched(sample, self.recorded, recorded_only=only, count=count)
        if live and found.error is None:
            self.state.put(key, asdict(found), phase="search", sample=sample.id)
        return found

    def extraction(
        self, who: Respondent, sample: Sample, variant: str, raw_text: str
    ) -> dict[str, Any]:
        """Return an extraction: `context` for the agent, status, tokens and time."""
        question = sample.question if self.options.question_aware else None
        if not raw_text.strip():
            return _as_record(variant, status="empty")
        prompt = prompt_hash(variant_of(variant), question)
        return self._kept(
            content_key("extraction", who.key, prompt, raw_text),
            lambda: _extracted(who, variant, raw_text, question),
            phase="extraction",
            sample=sample.id,
            model=who.name,
            variant=variant,
        )

    def reasoning(
        self, who: Respondent, sample: Sample, context: str | dict[str, Any]
    ) -> dict[str, Any]:
        """Return the agent's answer, `value` None where there is none."""
        text = context_text(context)
        told = (PUBLISHED_INSTRUCTIONS,) if self.options.published else ()
        agent = content_key(AGENT_HASH, *told) if told else AGENT_HASH
        return self._kept(
            content_key("reasoning", who.key, agent, sample.question, text),
            lambda: asdict(reason(who, text, sample.question, *told)),
            phase="reasoning",
            sample=sample.id,
            model=who.name,
        )

    def verdict(
        self, who: Respondent, sample: Sample, name: str, answer: str, beside: str
    ) -> dict[str, Any]:
        """Return a judge's verdict, `value` None where there is none."""
        judge = (PUBLISHED_JUDGES if self.options.published else JUDGES)[name]
        return self._kept(
            content_key("verdict", name, who.key, judge.prompt_hash, answer, beside),
            lambda: asdict(judge_answer(judge, who, answer, beside)),
            phase="evaluation",
            sample=sample.id,
            judge=name,
            model=who.name,
        )


def _extracted(
    who: Respondent, variant: str, raw_text: str, question: str | None
) -> dict[str, Any]:
    extracted = patiently(
        lambda: extract_text(
            raw_text,
            variant=variant,
            model=who.model,
            question=question,
            seconds=who.options.seconds,
            tokens=who.options.tokens,
            temperature=who.options.temperature,
        )
    )
    value = extracted.value
    return _as_record(
        variant,
        context=value if isinstance(value, dict) else extracted.text,
        repairs=[f"{one.code}: {one.message}" for one in extracted.repairs],
        **{name: getattr(extracted, name) for name in KEPT},
    )


KEPT = (
    "status",
    "raw",
    "error",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "attempts",
    "prompt_hash",
    "source_characters",
    "read_characters",
    "answer_tokens",
)
"""What is kept of an extraction beside its value."""


def _as_record(variant: str, **about: Any) -> dict[str, Any]:
    """Return an extraction as JSON values; one that failed has an empty context."""
    if about["status"] in {"failed", "empty"}:
        return {**about, "context": empty_extraction(variant), "tokens_est": None}
    return {**about, "tokens_est": token_estimate(context_text(about["context"]))}


def token_estimate(text: str) -> int:
    """Return the published estimate of tokens: a quarter of the characters."""
    return max(1, len(text) // 4)
