"""`llm_guided_traversal`: a language model chooses where to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from graph.errors import InputError
from retrieval.algorithms.asking import ask_elapsed, ask_model
from retrieval.algorithms.guiding import (
    Candidate,
    Verdict,
    answer_schema,
    guiding_prompt,
    verdict,
)
from retrieval.algorithms.hops import Move, Position, dead_end, hop_walk
from retrieval.algorithms.rules import OWN, Rules
from retrieval.protocols import ModelRequest, Vector, Walking
from retrieval.walk import RankedChunk, StopReason

if TYPE_CHECKING:
    from retrieval.algorithms.harvest import Harvest
    from retrieval.protocols import ModelReply, WalkOptions
    from retrieval.walk import Trail

__all__ = ["LlmGuidedTraversal"]


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
    candidates: int = 5
    seconds_per_hop: float = 60.0
    seconds_per_walk: float = 600.0
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk where the model says.

        Raises:
            InputError: If the options do not hold the question's words.
        """
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
        reply = yield from ask_model(
            ModelRequest(
                prompt=guiding_prompt(
                    harvest.options.question,
                    [s.text for s in harvest.sentences],
                    shown,
                ),
                schema=answer_schema(len(shown)),
                seconds=min(self.seconds_per_hop, left),
            )
        )
        said = None
        if reply.error is None:
            said = verdict(reply.text, len(shown), loose=self.rules.loose_choice)
        _count(harvest, reply, said)
        if said is None:
            why = "nearest to the question, as the model's answer was not valid"
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
    """Return candidates with their texts."""
    ids = [position.around.ids[i] for i in rows]
    opened = yield from position.harvest.open(ids)
    return [
        Candidate(
            chunk=RankedChunk(id=chunk_id, score=float(position.scores[row])),
            text=opened[chunk_id].chunk.text,
        )
        for row, chunk_id in zip(rows, ids, strict=True)
    ]


def _count(harvest: Harvest, reply: ModelReply, said: Verdict | None) -> None:
    """Count a call of the model."""
    counts = harvest.counts
    for name, more in (
        ("modelCalls", 1),
        ("invalidAnswers", int(said is None)),
        ("unanswered", int(reply.error is not None)),
        ("promptTokens", reply.prompt_tokens or 0),
        ("completionTokens", reply.completion_tokens or 0),
    ):
        counts[name] = counts.get(name, 0) + more
