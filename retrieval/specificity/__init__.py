"""Questions answered by SPARQL templates, with classes scored for the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.retrieval.specificity.class_scores import (
        SpecificityLookup,
        load_lookup,
    )
    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.live_pipeline import open_pipeline
    from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment
    from knowtrail.retrieval.specificity.query_templates import load_templates
    from knowtrail.retrieval.specificity.template_pipeline import (
        PipelineResult,
        TemplatePipeline,
    )

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

__getattr__ = lazy_names(__name__)
