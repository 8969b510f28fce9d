"""Questions with known answers, made of a corpus by a language model."""

from knowtrail.eval.generation.contexts import (
    GraphContexts,
    GroupPlan,
    WalkParameters,
    context_groups,
)
from knowtrail.eval.generation.questions import (
    QuestionOptions,
    chain_writer,
    generate_questions,
)

__all__ = [
    "GraphContexts",
    "GroupPlan",
    "QuestionOptions",
    "WalkParameters",
    "chain_writer",
    "context_groups",
    "generate_questions",
]
