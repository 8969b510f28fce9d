"""The benchmark of extraction formats: what does an agent make of each.

The names are those of the published benchmark of Structured Knowledge Notation, with
its signatures; wherever it takes the name of a model, any LangChain chat model will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.eval.models import ModelOptions, call_llm
from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.eval.skn.benchmark import run_benchmark, run_models
    from knowtrail.eval.skn.metrics import bootstrap_ci, calculate_metrics
    from knowtrail.eval.skn.options import (
        ABLATION_PIPELINES,
        DEFAULT_PIPELINES,
        BenchmarkOptions,
    )
    from knowtrail.eval.skn.phases import (
        EXTRACTORS,
        agent_reason,
        extract_json,
        extract_json_conf,
        extract_skn,
        extract_skn_no_causal,
        extract_skn_no_gaps,
        extract_skn_no_risk,
    )
    from knowtrail.eval.skn.samples import search_web

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

__getattr__ = lazy_names(__name__)
