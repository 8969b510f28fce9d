"""Questions answered by SPARQL templates, with classes scored for the question."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.experiment import SpecificityExperiment
    from retrieval.specificity.lookup import SpecificityLookup, load_lookup
    from retrieval.specificity.opening import open_pipeline
    from retrieval.specificity.pipeline import TemplatePipeline
    from retrieval.specificity.results import PipelineResult
    from retrieval.specificity.templates import load_templates

__all__ = [
    "Conversation",
    "PipelineResult",
    "SpecificityExperiment",
    "SpecificityLookup",
    "TemplatePipeline",
    "load_lookup",
    "load_templates",
    "open_pipeline",
]

_HOMES = {
    "Conversation": "conversation",
    "PipelineResult": "results",
    "SpecificityExperiment": "experiment",
    "SpecificityLookup": "lookup",
    "TemplatePipeline": "pipeline",
    "load_lookup": "lookup",
    "load_templates": "templates",
    "open_pipeline": "opening",
}


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that the command line starts quickly."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"retrieval.specificity.{_HOMES[name]}"), name)
