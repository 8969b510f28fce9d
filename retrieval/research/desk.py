"""The desk: what every step of research works with, and how it pays for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedders import embed_texts
from knowtrail.graph.vectors import vector_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import CorpusInfo
    from knowtrail.retrieval.protocols import Vector
    from knowtrail.retrieval.research.records import (
        Claim,
        Cost,
        Finding,
        ResearchState,
        SubQuestion,
    )

    T = TypeVar("T")

ANSWER_SECONDS = 120.0
ANSWER_TOKENS = 1_024
LEAST_USELESS = 3
"""Answers of no use after which a model is not asked any more, if that is half."""

LOCKED = 1
"""Properties that a write sets which finds that the run has another owner."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Desk:
    """What the steps share: the context of the graph.

    Attributes:
        begun: What the Research node has from the beginning, its `id` and `owner` too.
        model: The language model; None for an extractive report.
        budget: Walks and calls of the model together.
        approval: Whether the plan waits for a person's approval.
    """

    begun: Mapping[str, Any]
    question: str
    corpus: CorpusInfo
    connection: Connection
    embedder: Embedder
    model: LanguageModel | None
    budget: int
    approval: bool
    settings: Settings | None
    progress: Progress

    @property
    def run(self) -> str:
        """Return the id of the run."""
        return str(self.begun["id"])

    @property
    def held_back(self) -> int:
        """Return the calls that walks leave for a draft and its check."""
        return 0 if self.model is None else 1 + min(8, self.budget // 4)

    def left(self, cost: Cost) -> int:
        """Return what is left of the budget."""
        return self.budget - cost["walks"] - cost["calls"]

    def may_walk(self, cost: Cost) -> bool:
        """Return whether a walk is paid for, with its reading; the first always is."""
        return cost["walks"] == 0 or self.left(cost) > self.held_back

    def store(
        self,
        state: ResearchState,
        *,
        status: str = "running",
        questions: Sequence[SubQuestion] = (),
        dropped: Sequence[str] = (),
        findings: Sequence[Finding] = (),
        claims: Sequence[Claim] = (),
    ) -> None:
        """Store what a step made, and what was spent so far.

        Raises:
            InputError: If another process has taken the run.
        """
        so_far = {
            "status": status,
            "stopReason": state["stop"],
            "unread": state["unread"],
            "updatedAt": datetime.now(UTC),
            **state["cost"],
        }
        done = self.connection.write(
            "research/store",
            corpus=self.corpus.name,
            run={**self.begun, **so_far},
            questions=list(questions),
            dropped=list(dropped),
            findings=list(findings),
            claims=list(claims),
        )
        if done.properties_set == LOCKED:
            msg = "Another process goes on with this research: wait for its end."
            raise InputError(msg)
        spent = self.budget - self.left(state["cost"])
        self.progress("research", min(spent, self.budget), self.budget)

    def asked(
        self, cost: Cost, request: tuple[str, Any], parse: Callable[[str], T | None]
    ) -> tuple[T | None, Cost]:
        """Ask the model and pay; None where there is no call left, or no use in it.

        The first walk is paid for before any call.

        Raises:
            ModelError: If the model's server is down; what is stored so far is kept.
        """
        useless = cost["useless"] >= max(LEAST_USELESS, cost["calls"] / 2)
        first = 1 if cost["walks"] == 0 else 0
        if self.model is None or useless or self.left(cost) <= first:
            return None, cost
        prompt, form = request
        reply = self.model.reply(
            prompt, schema=form, tokens=ANSWER_TOKENS, seconds=ANSWER_SECONDS
        )
        tokens = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
        found = parse(reply.text)
        return found, {
            **cost,
            "calls": cost["calls"] + 1,
            "tokens": cost["tokens"] + tokens,
            "useless": cost["useless"] + (found is None),
        }

    @property
    def prompt_tokens(self) -> int | None:
        """Return the tokens that a prompt may have."""
        return None if self.model is None else self.model.room(ANSWER_TOKENS)[0]

    def vectors(self, texts: Sequence[str]) -> Vector:
        """Embed texts as the corpus's are."""
        return embed_texts(self.embedder, texts).astype(np.float64)

    def stored(self, sentences: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return those sentences that are stored, by id."""
        rows = self.connection.read("research/sentences", ids=list(sentences))
        return {row["id"]: row for row in rows}

    def vectors_of(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Vector]:
        """Return vectors of stored sentences by id; those that lack one get one."""
        rows = list(rows)
        lacking = [row["text"] for row in rows if row["vector"] is None]
        made = iter(self.vectors(lacking) if lacking else ())
        return {
            row["id"]: next(made)
            if row["vector"] is None
            else vector_array(row["vector"]).astype(np.float64)
            for row in rows
        }
