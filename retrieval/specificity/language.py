"""Whether a question is Dutch or English, by its small words."""

from __future__ import annotations

from retrieval.specificity.words import tokens_of, word_list

__all__ = ["language_of"]

_DUTCH = word_list("dutch")
_ENGLISH = word_list("english")


def language_of(question: str, default: str = "en") -> str:
    """Return `nl` or `en`.

    Args:
        question: What is asked.
        default: What it is where its words say nothing or as much for both.
    """
    forms = [token.form for token in tokens_of(question)]
    dutch = sum(f in _DUTCH for f in forms)
    english = sum(f in _ENGLISH for f in forms)
    if dutch == english:
        return default
    return "nl" if dutch > english else "en"
