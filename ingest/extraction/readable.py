"""Whether there is anything to read: not empty, not the bytes of a picture."""

from __future__ import annotations

__all__ = ["unreadable"]

SAMPLE = 20_000
MOST_STRANGE = 0.1
"""Share of characters that no text has above which it is taken for binary."""


def unreadable(text: str) -> str:
    """Say why a text is not worth a model's time, empty if it is.

    Args:
        text: What was decoded, `U+FFFD` where that failed.
    """
    sample = text[:SAMPLE]
    if not text.strip():
        return "The text is empty: there is nothing to read."
    strange = sum(not c.isprintable() and not c.isspace() for c in sample)
    strange += sample.count("\N{REPLACEMENT CHARACTER}")
    if strange > MOST_STRANGE * len(sample):
        return (
            f"The text is not readable: {strange} of its first {len(sample)} "
            "characters are none. Is it a picture or an archive?"
        )
    return ""
