"""Questions with known answers, made of a corpus by a language model."""

from __future__ import annotations

from knowtrail.eval.generation.chain import (
    DEFAULT_EVOLUTIONS,
    EVOLUTIONS,
    GeneratedQuestion,
    QuestionFailure,
    QuestionOptions,
)
from knowtrail.eval.generation.contexts import (
    ContextChunk,
    ContextGroup,
    ContextSentence,
    ContextSource,
    CorpusPassage,
    GraphContexts,
    Neighbour,
    corpus_passages,
)
from knowtrail.eval.generation.generating import (
    GeneratedQuestions,
    Writer,
    chain_writer,
    generate_questions,
)
from knowtrail.eval.generation.walks import (
    DEFAULT_WEIGHTS,
    GROUPINGS,
    Grouped,
    GroupPlan,
    WalkParameters,
    context_groups,
)

__all__ = [
    "DEFAULT_EVOLUTIONS",
    "DEFAULT_WEIGHTS",
    "EVOLUTIONS",
    "GROUPINGS",
    "ContextChunk",
    "ContextGroup",
    "ContextSentence",
    "ContextSource",
    "CorpusPassage",
    "GeneratedQuestion",
    "GeneratedQuestions",
    "GraphContexts",
    "GroupPlan",
    "Grouped",
    "Neighbour",
    "QuestionFailure",
    "QuestionOptions",
    "WalkParameters",
    "Writer",
    "chain_writer",
    "context_groups",
    "corpus_passages",
    "generate_questions",
]
