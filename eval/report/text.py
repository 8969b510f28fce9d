"""Any text as HTML shows it."""

from __future__ import annotations

import re
from html import escape

from eval.records import sendable

__all__ = ["shown_text"]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def shown_text(text: str) -> str:
    """Return a text as HTML shows it: escaped, control characters made visible.

    Args:
        text: Any text.
    """
    plain = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sendable(text))
    return escape(plain, quote=True)
