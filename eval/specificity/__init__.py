"""Measurement of answers from templates over a graph of heritage institutions."""

from eval.specificity.experiments import (
    FEWEST,
    ExperimentTable,
    SpecificityResults,
    difference_interval,
    read_results,
)
from eval.specificity.fixture import (
    custodians_of,
    graph_of,
    key_of,
    memory_pipeline,
)
from eval.specificity.judging import Key, Outcome, judge
from eval.specificity.measures import FILTER_METRICS, METRICS, class_scores, measure
from eval.specificity.questions import (
    HALVES,
    Answer,
    Question,
    bundled_questions,
    load_questions,
)
from eval.specificity.running import ask_questions
from eval.specificity.storing import (
    outcomes_key,
    store_experiment,
    store_outcomes,
    stored_groups,
)
from eval.specificity.telling import asked_facts, says

__all__ = [
    "FEWEST",
    "FILTER_METRICS",
    "HALVES",
    "METRICS",
    "Answer",
    "ExperimentTable",
    "Key",
    "Outcome",
    "Question",
    "SpecificityResults",
    "ask_questions",
    "asked_facts",
    "bundled_questions",
    "class_scores",
    "custodians_of",
    "difference_interval",
    "graph_of",
    "judge",
    "key_of",
    "load_questions",
    "measure",
    "memory_pipeline",
    "outcomes_key",
    "read_results",
    "says",
    "store_experiment",
    "store_outcomes",
    "stored_groups",
]
