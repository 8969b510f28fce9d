"""The class diagram of a schema for a kind of question."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from graph.errors import InputError
from retrieval.specificity.lookup import check_threshold, load_lookup
from retrieval.specificity.mapping import ContextTemplate
from retrieval.views.uml import uml_page, uml_svg

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["diagram"]


def diagram(
    schema: Path | None = None,
    *,
    context: str | None = None,
    threshold: float = 0.5,
    only_kept: bool = False,
    suffix: str = ".svg",
) -> str:
    """Return the class diagram of a schema.

    Args:
        schema: Folder of a LinkML schema; None takes that of the product.
        context: Context template; None takes the general scores.
        threshold: Classes with a lower score are faint.
        only_kept: Leave these out.
        suffix: `.svg`, or `.html` for a page that works without network.

    Raises:
        InputError: If context or threshold are no good, or the schema is none.
    """
    check_threshold(threshold)
    names = sorted(str(name) for name in ContextTemplate)
    if context is not None and context not in names:
        near = difflib.get_close_matches(context[:80], names, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}."
        )
        msg = f"No context {context[:80]!r}: {hint}"
        raise InputError(msg)
    lookup = load_lookup(schema)
    title = "Classes of heritage" + (f" for {context}" if context else "")
    svg = uml_svg(
        lookup.classes,
        lookup.get_all_scores(context or "general"),
        title=title,
        threshold=threshold,
        only_kept=only_kept,
    )
    return svg if suffix == ".svg" else uml_page(svg, title)
