"""Measurement of answers from templates over a graph of heritage institutions."""

from eval.specificity.experiments import (
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
from eval.specificity.storing import store_experiment, store_outcomes

__all__ = [
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
    "read_results",
    "store_experiment",
    "store_outcomes",
]
