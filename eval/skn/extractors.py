"""Extractors: search results in, one of six formats out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.skn.models import DEFAULT_MODEL, as_model
from ingest.extraction import VARIANTS, extract_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models import BaseChatModel

    from graph.language_models import LanguageModel

__all__ = [
    "ABLATION_PIPELINES",
    "DEFAULT_PIPELINES",
    "EXTRACTORS",
    "empty_extraction",
    "extract_json",
    "extract_json_conf",
    "extract_skn",
    "extract_skn_no_causal",
    "extract_skn_no_gaps",
    "extract_skn_no_risk",
]

DEFAULT_PIPELINES = ["json", "skn"]
ABLATION_PIPELINES = [
    "json",
    "json_conf",
    "skn_no_gaps",
    "skn_no_causal",
    "skn_no_risk",
    "skn",
]


def empty_extraction(variant: str) -> str | dict[str, Any]:
    """Return what stands for an extraction that failed, or of no text.

    Args:
        variant: Name of the format.
    """
    if VARIANTS[variant].form == "skn":
        return ""
    return {"entities": [], "relationships": [], "claims": []}


def _extracted(
    raw_text: str, variant: str, model: str | BaseChatModel | LanguageModel
) -> Any:
    """Return an extraction as text or objects, empty where it failed."""
    if not raw_text.strip():
        return empty_extraction(variant)
    extracted = extract_text(raw_text, variant=variant, model=as_model(model))
    if extracted.value is None:
        return empty_extraction(variant)
    return extracted.value if isinstance(extracted.value, dict) else extracted.text


def extract_json(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> dict[str, Any]:
    """Return entities, relationships and claims of a text.

    Args:
        raw_text: Search results, or any text.
        model: Name of an Ollama model, or any LangChain chat model.

    Returns:
        An object that fits the format's schema; its lists are empty where the model
        gave none, after a second attempt.

    Raises:
        ModelError: If the model's server is down or refuses.
    """
    value: dict[str, Any] = _extracted(raw_text, "json", model)
    return value


def extract_json_conf(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> dict[str, Any]:
    """Do as `extract_json` does, with a confidence for each claim."""
    value: dict[str, Any] = _extracted(raw_text, "json_conf", model)
    return value


def extract_skn(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> str:
    """Return what a text says in Structured Knowledge Notation, all sections.

    Args:
        raw_text: Search results, or any text.
        model: Name of an Ollama model, or any LangChain chat model.

    Returns:
        A valid block, repaired where that was possible; empty where it was not.

    Raises:
        ModelError: If the model's server is down or refuses.
    """
    return str(_extracted(raw_text, "skn", model))


def extract_skn_no_gaps(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> str:
    """Do as `extract_skn` does, without what is missing."""
    return str(_extracted(raw_text, "skn_no_gaps", model))


def extract_skn_no_causal(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> str:
    """Do as `extract_skn` does, without causes and effects."""
    return str(_extracted(raw_text, "skn_no_causal", model))


def extract_skn_no_risk(
    raw_text: str, model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL
) -> str:
    """Do as `extract_skn` does, without the risk of being misled."""
    return str(_extracted(raw_text, "skn_no_risk", model))


EXTRACTORS: dict[str, Callable[..., Any]] = {
    "json": extract_json,
    "json_conf": extract_json_conf,
    "skn_no_gaps": extract_skn_no_gaps,
    "skn_no_causal": extract_skn_no_causal,
    "skn_no_risk": extract_skn_no_risk,
    "skn": extract_skn,
}
"""Name of a format -> its extractor."""
