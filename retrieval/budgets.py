"""The numbers that bound a walk: what each is where it is not given, and its range.

From this one table come the defaults of functions, commands and the retriever, what is
checked, and what `--help` and the procedures say.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """An option of walks that is a whole number in a range."""

    default: int
    least: int
    most: int
    meaning: str


BUDGETS = {
    "max_sentences": Budget(10, 1, 100_000, "sentences wanted"),
    "max_hops": Budget(20, 0, 100_000, "edges that may be followed"),
    "anchors": Budget(
        1, 1, 20, "chunks to start from, in different documents, 1 to 20"
    ),
    "lookahead": Budget(0, 0, 3, "further steps looked at before one is taken, 0 to 3"),
    "beam": Budget(3, 1, 10, "paths kept while looking ahead, 1 to 10"),
}
"""Option -> its budget."""

RESEARCH = Budget(40, 1, 1_000, "walks and calls of the language model together")
