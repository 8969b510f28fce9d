"""Which rerankers may be named by those who call a procedure.

A name can make the server read a file, load a model of gigabytes or pay a service. So
only those without a model of their own are open to everyone, and the one that the
server's settings name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.errors import InputError

if TYPE_CHECKING:
    from graph.settings import Settings

__all__ = ["OPEN", "check_open"]

OPEN = ("bm25", "embedding")


def check_open(name: str, settings: Settings | None) -> None:
    """Refuse a reranker that a caller of a procedure may not name.

    Args:
        name: What the caller wants.
        settings: The server's, whose `reranker` is allowed too.

    Raises:
        InputError: If it is another one.
    """
    own = None if settings is None else settings.reranker
    allowed = [*OPEN, *([own] if own else [])]
    if name not in allowed:
        msg = (
            f"rerank is {name[:80]!r}: use one of {', '.join(allowed)}. Another one "
            "must be named in the server's settings (KNOWTRAIL_RERANKER)."
        )
        raise InputError(msg)
