"""Words and signs of many languages that wikitext is read by, from `words.toml`."""

from __future__ import annotations

from knowtrail.graph.files.packaged import packaged

WORDS = packaged("knowtrail.ingest.wikitext", "words.toml")
"""Lists of words, and tables of what each word stands for."""
LANGUAGE_CODES = frozenset(WORDS["language_codes"])
