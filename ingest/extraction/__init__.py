"""Structured extraction: what a text says, as SKN or JSON, by a language model."""

from __future__ import annotations

from knowtrail.ingest.extraction.text_extraction import Extracted, extract_text
from knowtrail.ingest.extraction.variants import VARIANTS, Variant, variant_of

__all__ = ["VARIANTS", "Extracted", "Variant", "extract_text", "variant_of"]
