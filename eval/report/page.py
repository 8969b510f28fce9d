"""A page of HTML with its style inside, no script, no address.

The page forbids the browser to load anything.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from eval.report.text import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["html_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, body: Iterable[str], *, style: str = "") -> str:
    """Return a page.

    Args:
        title: Its title, and its first heading.
        body: HTML below the heading; whatever comes from data in it is escaped.
        style: CSS of this page, after that of all reports.
    """
    common = resources.files("eval.report").joinpath("report.css").read_text("utf-8")
    return "\n".join([
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{shown_text(title)}</title>",
        f"<style>{common}{style}</style></head><body><main>",
        f"<h1>{shown_text(title)}</h1>",
        *body,
        "</main></body></html>",
        "",
    ])
