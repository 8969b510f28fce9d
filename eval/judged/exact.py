"""How near an answer is to the expected one, word by word.

Both are compared as SQuAD and MuSiQue do: in lower case, without punctuation, without
the articles a, an and the, with single spaces.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """Return an answer in the form that answers are compared in.

    Args:
        text: The answer.
    """
    lowered = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def exact_match(answer: str, expected: Iterable[str]) -> float:
    """Return 1 where an answer is one of those expected, else 0.

    Args:
        answer: What was answered.
        expected: The right answer and other ways to write it.
    """
    said = normalised_answer(answer)
    return float(any(said == normalised_answer(one) for one in expected))


def token_f1(answer: str, expected: Iterable[str]) -> float:
    """Return the best F1 of an answer's words with those expected, from 0 to 1.

    Two answers of which one has no words left are worth 1 if both are so, else 0.

    Args:
        answer: What was answered.
        expected: The right answer and other ways to write it.
    """
    said = normalised_answer(answer).split()
    return max(
        (_f1(said, normalised_answer(one).split()) for one in expected), default=0.0
    )


def _f1(said: list[str], right: list[str]) -> float:
    """Return the F1 of two lists of words."""
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))
