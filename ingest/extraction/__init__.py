"""Structured extraction: what a text says, as SKN or JSON, by a language model."""

from __future__ import annotations

from ingest.extraction.extracting import extract_text
from ingest.extraction.results import Extracted
from ingest.extraction.variants import VARIANTS, Variant, variant_of

__all__ = ["VARIANTS", "Extracted", "Variant", "extract_text", "variant_of"]
