"""Pages made of templates: what is put in is escaped, and nothing may be missing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jinja2 import Environment

__all__ = ["templates"]


@cache
def templates(
    folder: Path, *, escape: Callable[[str], str] | None = None
) -> Environment:
    """Return the templates of a folder, made once a process.

    Values are escaped for HTML, or as `escape` does it, where lines stay as they are
    written; what is marked safe is not.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def shown(value: Any) -> Any:
        safe = escape is None or hasattr(value, "__html__")
        return value if safe or escape is None else escape(str(value))

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=escape is None,  # noqa: S701  (`shown` does it otherwise)
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=escape is None,
        lstrip_blocks=escape is None,
        keep_trailing_newline=True,
    )
