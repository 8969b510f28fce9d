"""A perspective for Neo4j Bloom and a style sheet for Neo4j Browser.

Both are made of the tables in `styles`, by templates beside this file; the search
phrases of the perspective are the statements in `cypher/bloom/`. Ids and times are
always the same, so that the files are, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import darker
from knowtrail.retrieval.views.styles import NODES, RELATIONSHIPS

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "2.21.0"
"""The perspective format that is written."""

_SEARCH: dict[str, Any] = json.loads(
    Path(__file__).with_name("phrases.json").read_bytes()
)
"""Phrases, and parameter -> the label and property whose values Bloom suggests."""

PHRASES: Mapping[str, str] = _SEARCH["phrases"]
"""What one types in Bloom -> the statement that answers."""


def perspective_text() -> str:
    """Return the perspective as the text of a JSON file."""
    return json.dumps(perspective(), ensure_ascii=False, indent=2) + "\n"


def perspective() -> dict[str, Any]:
    """Return the perspective as JSON values."""
    text = rendered(
        "perspective.json",
        format=FORMAT,
        nodes=NODES,
        relationships=RELATIONSHIPS,
        statement=statement,
        record=statement_record,
        **_SEARCH,
    )
    found: dict[str, Any] = json.loads(text)
    return found


def grass_text() -> str:
    """Return the style sheet for Neo4j Browser."""
    return rendered(
        "browser.grass", nodes=NODES, relationships=RELATIONSHIPS, darker=darker
    )
