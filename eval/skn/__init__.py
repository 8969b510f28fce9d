"""The benchmark of extraction formats: what does an agent make of each.

The names are those of the published benchmark of Structured Knowledge Notation, with
its signatures; wherever it takes the name of a model, any LangChain chat model will do.
"""

from eval.skn.agent import agent_reason
from eval.skn.benchmark import run_benchmark, run_models
from eval.skn.extractors import (
    ABLATION_PIPELINES,
    DEFAULT_PIPELINES,
    EXTRACTORS,
    extract_json,
    extract_json_conf,
    extract_skn,
    extract_skn_no_causal,
    extract_skn_no_gaps,
    extract_skn_no_risk,
)
from eval.skn.metrics import bootstrap_ci
from eval.skn.models import ModelOptions, call_llm
from eval.skn.options import BenchmarkOptions
from eval.skn.scoring import calculate_metrics
from eval.skn.searching import search_web

__all__ = [
    "ABLATION_PIPELINES",
    "DEFAULT_PIPELINES",
    "EXTRACTORS",
    "BenchmarkOptions",
    "ModelOptions",
    "agent_reason",
    "bootstrap_ci",
    "calculate_metrics",
    "call_llm",
    "extract_json",
    "extract_json_conf",
    "extract_skn",
    "extract_skn_no_causal",
    "extract_skn_no_gaps",
    "extract_skn_no_risk",
    "run_benchmark",
    "run_models",
    "search_web",
]
