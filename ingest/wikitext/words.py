"""Words and signs of many languages that wikitext is read by, from `words.toml`."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

_FILE = resources.files("knowtrail.ingest.wikitext").joinpath("words.toml")
WORDS: dict[str, Any] = tomllib.loads(_FILE.read_text("utf-8"))
"""Lists of words, and tables of what each word stands for."""
LANGUAGE_CODES = frozenset(WORDS["language_codes"])
