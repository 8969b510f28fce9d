"""`llm_guided_traversal`: a language model chooses where to go."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from knowtrail.graph.errors import InputError
from knowtrail.graph.models.prompts import fitting, marked, whole_characters
from knowtrail.graph.models.requests import object_form
from knowtrail.retrieval.algorithms.asking import ask_elapsed, ask_model
from knowtrail.retrieval.algorithms.hops import Move, Position, dead_end, hop_walk
from knowtrail.retrieval.algorithms.rules import OWN, Rules
from knowtrail.retrieval.answers import TEXTS
from knowtrail.retrieval.protocols import ModelRequest, Vector, Walking
from knowtrail.retrieval.walk import RankedChunk, StopReason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.graph.models.language_models import ModelReply
    from knowtrail.retrieval.algorithms.harvest import Harvest
    from knowtrail.retrieval.protocols import WalkOptions
    from knowtrail.retrieval.walk import Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmGuidedTraversal:
    """Let a language model choose among the neighbours nearest to the question.

    At each hop the model sees the question, the beginning of what was found and the
    `candidates` unvisited neighbours nearest to the question, with the beginning of
    their texts, and names one of them or says stop. An answer that is not valid, late
    or missing counts as a choice of the nearest candidate, and is counted. Only the
    field `choice` of an answer steers the walk. There is no early stop: the walk ends
    when the model says so, at a budget, a dead end, the hop cap or the time limit. The
    score of the walk is the mean cosine of its sentences; `counts` tells how often the
    model was asked, how often in vain, and the tokens as far as it counted them.

    A model may answer differently each time, so that walks are not reproducible;
    `lookahead` and `beam` do nothing here.

    Description and published code agree on the prompt's parts; its words here are our
    own. The code, and the preset `published`, take true for 1, read chunks one hop
    late and count sentences by text; ties go by the stored order. The code knows no
    time limits, and estimates tokens from characters.
    """

    name: ClassVar[str] = "llm_guided_traversal"
    asks_model: ClassVar[bool] = True
    candidates: int = 5
    seconds_per_hop: float = 60.0
    seconds_per_walk: float = 600.0
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk where the model says; the options hold the question's words."""
        if not options.question.strip():
            msg = f"{self.name} needs the question's words: set WalkOptions.question."
            raise InputError(msg)
        return hop_walk(query, options, self._choose, rules=self.rules)

    def _choose(self, position: Position) -> Walking[Move | StopReason]:
        """Ask the model, and take the nearest candidate where it is of no use."""
        harvest = position.harvest
        rows = yield from self._shown(position)
        if not rows:
            return dead_end(position)
        left = self.seconds_per_walk - (yield from ask_elapsed())
        if left <= 0:
            return "time_limit"
        shown = yield from _texts(position, rows)
        seconds = min(self.seconds_per_hop, left)
        reply = yield from ask_model(
            ModelRequest(
                prompt=guiding_prompt(
                    harvest.options.question, [s.text for s in harvest.sentences], shown
                ),
                schema=answer_schema(len(shown)),
                seconds=seconds,
            )
        )
        said = None
        if reply.error is None:
            said = verdict(reply.text, len(shown), loose=self.rules.loose_choice)
        _count(harvest, reply, said)
        if said is None:
            why = f"nearest to the question, as {_excuse(reply, seconds)}"
        elif said.row is None:
            return "model_stopped"
        else:
            why = f"chosen by the model: {said.reasoning}".rstrip(": ")
        row = rows[0 if said is None or said.row is None else said.row]
        return Move(row=row, measure=float(position.scores[row]), reason=why)

    def _shown(self, position: Position) -> Walking[list[int]]:
        """Return the rows of the candidates, nearest first, that are still there."""
        open_rows = position.open
        while open_rows:
            ids = [position.around.ids[i] for i in open_rows]
            order = self.rules.rank(ids, position.scores[open_rows])
            rows = [open_rows[i] for i in order[: self.candidates]]
            opened = yield from position.harvest.open([
                position.around.ids[i] for i in rows
            ])
            if len(opened) == len(rows):
                return rows
            open_rows = [
                i
                for i in open_rows
                if position.around.ids[i] not in position.harvest.visited
            ]
        return []


def _texts(position: Position, rows: list[int]) -> Walking[list[Candidate]]:
    ids = [position.around.ids[i] for i in rows]
    opened = yield from position.harvest.open(ids)
    return [
        Candidate(
            chunk=RankedChunk(id=chunk_id, score=float(position.scores[row])),
            text=opened[chunk_id].chunk.text,
        )
        for row, chunk_id in zip(rows, ids, strict=True)
    ]


def _excuse(reply: ModelReply, seconds: float) -> str:
    """Say why an answer is of no use."""
    if reply.late:
        return f"the model did not answer in {seconds:.3g} s"
    if reply.error is not None:
        return "the model gave no answer" if not reply.cut else "its answer was cut"
    return "the model's answer was not valid"


def _count(harvest: Harvest, reply: ModelReply, said: Verdict | None) -> None:
    counts = harvest.counts
    for name, more in (
        ("modelCalls", 1),
        ("invalidAnswers", int(said is None)),
        ("unanswered", int(reply.error is not None)),
        ("promptTokens", reply.prompt_tokens or 0),
        ("completionTokens", reply.completion_tokens or 0),
    ):
        counts[name] = counts.get(name, 0) + more


STOP = "stop"
_QUESTION_TOKENS = 800
_SUMMARY_SENTENCES = 5
_SUMMARY_TOKENS = 400
_SUMMARY_CHARACTERS = 500
_PREVIEW_TOKENS = 200
_PREVIEW_CHARACTERS = 200
_REASONING = 200
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that the model may choose, of whose text it sees the beginning."""

    chunk: RankedChunk
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a valid answer says: a row of the candidates, None to stop, and why."""

    row: int | None
    reasoning: str


def guiding_prompt(
    question: str, extracted: Sequence[str], candidates: Sequence[Candidate]
) -> str:
    """Return what the model is asked, of the first five sentences found.

    The question, what was found and the candidates, numbered from 1, stand between
    marks that hold a hash of each of them, so that nothing in a document can end its
    part of the prompt. A very long question is cut.
    """
    asked_mark, asked = marked("question", fitting(question, _QUESTION_TOKENS))
    summary = " ".join(extracted[:_SUMMARY_SENTENCES])
    found_mark, found = marked(
        "found", _cut(summary, _SUMMARY_CHARACTERS, _SUMMARY_TOKENS)
    )
    chunks_mark, chunks = marked(
        "candidates",
        "\n\n".join(
            f"{number}. [{candidate.chunk.id}] similarity "
            f"{candidate.chunk.score:.3f}\n"
            f"{_cut(candidate.text, _PREVIEW_CHARACTERS, _PREVIEW_TOKENS)}"
            for number, candidate in enumerate(candidates, 1)
        ),
    )
    return str(TEXTS["guide"]).format(
        asked=asked_mark,
        found=found_mark,
        chunks=chunks_mark,
        gathered=len(extracted),
        texts=f"{asked}\n{found}\n{chunks}",
        most=len(candidates),
    )


def answer_schema(candidates: int) -> Mapping[str, Any]:
    """Return the JSON schema of an answer about a number of candidates."""
    return object_form(
        choice={"enum": [*range(1, candidates + 1), STOP]},
        reasoning={"type": "string", "maxLength": _REASONING},
    )


def verdict(text: str, candidates: int, *, loose: bool = False) -> Verdict | None:
    """Return what an answer says; None where it is not valid.

    Only `choice` counts: a whole number from 1 to the number of candidates, or the
    word stop. Nothing else in an answer steers a walk.
    """
    fenced = _FENCE.search(text)
    try:
        answer = json.loads((fenced.group(1) if fenced else text).strip())
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    choice = answer.get("choice")
    reasoning = answer.get("reasoning")
    said = ""
    if isinstance(reasoning, str):
        said = whole_characters(" ".join(reasoning.split()))[:_REASONING]
    if isinstance(choice, str) and choice.lower() == STOP:
        return Verdict(row=None, reasoning=said)
    if not isinstance(choice, int) or (isinstance(choice, bool) and not loose):
        return None
    if not 1 <= choice <= candidates:
        return None
    return Verdict(row=int(choice) - 1, reasoning=said)


def _cut(text: str, characters: int, tokens: int) -> str:
    short = fitting(text[:characters], tokens)
    return short if len(short) == len(text) else f"{short}..."
