"""Questions with known answers, made of a corpus by a language model."""

from __future__ import annotations

from eval.generation.contexts import (
    ContextChunk,
    ContextGroup,
    ContextSentence,
    ContextSource,
    MemoryContexts,
    Neighbour,
)
from eval.generation.generating import (
    GeneratedQuestions,
    Writer,
    chain_writer,
    generate_questions,
)
from eval.generation.grouping import (
    DEFAULT_WEIGHTS,
    Grouped,
    GroupPlan,
    context_groups,
)
from eval.generation.options import (
    DEFAULT_EVOLUTIONS,
    EVOLUTIONS,
    GeneratedQuestion,
    QuestionFailure,
    QuestionOptions,
)
from eval.generation.reading import CorpusPassage, GraphContexts, corpus_passages
from eval.generation.walks import GROUPINGS, WalkParameters

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
    "MemoryContexts",
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
