"""When an answer counts as a refusal to answer: the phrases of the published code."""

from __future__ import annotations

__all__ = ["ABSTENTION_PHRASES", "abstains"]

ABSTENTION_PHRASES = (
    "insufficient information",
    "not enough information",
    "cannot determine",
    "cannot be determined",
    "unable to determine",
    "not specified",
    "not provided",
    "not enough data",
    "insufficient data",
    "no information",
    "cannot answer",
    "impossible to determine",
    "not available",
    "lack of information",
    "missing information",
    "does not contain",
    "do not contain",
    "cannot provide",
    "unable to provide",
    "cannot identify",
    "unable to identify",
    "no relevant information",
    "no specific information",
    "not contain any information",
    "i cannot",
    "i'm unable",
    "i am unable",
    "no details about",
    "no mention of",
    "does not include",
    "does not reference",
)


def abstains(answer: str) -> bool:
    """Return whether an answer has one of the phrases, in any case.

    A phrase counts wherever it stands, so "the flag is not available by default"
    counts as a refusal too: a judge can be asked instead, see `eval.skn.judges`.

    Args:
        answer: The answer alone, without reasoning; typographic apostrophes count as
            plain ones.
    """
    lowered = answer.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(phrase in lowered for phrase in ABSTENTION_PHRASES)
