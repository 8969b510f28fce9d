"""Words that questions are made of, apart from what they name and what they are about.

Whatever is left of a question is what it is about, or a name that nobody knows.
"""

from __future__ import annotations

from functools import lru_cache

from retrieval.specificity.templates import NONE, load_templates
from retrieval.specificity.words import data_file, tokens_of, type_words

__all__ = ["asking_words", "is_asking", "spelling_of"]

NEAR = 88.0
"""How near a misspelt word must be, of 100."""


@lru_cache(maxsize=1)
def asking_words() -> frozenset[str]:
    """Return the words of the examples that a query answers, and small words."""
    found: set[str] = set()
    for template in load_templates().values():
        for texts in template.examples.values() if template.id != NONE else ():
            for text in texts:
                found |= {token.form for token in tokens_of(_bare(text))}
    for name, words in data_file("words.yaml").items():
        if name not in {"beginnings", "beyond"}:
            found |= {str(word) for word in words}
    types = type_words()
    for form in (*types.letters, *types.generic):
        found |= set(form.split())
    return frozenset(found)


def is_asking(form: str) -> bool:
    """Return whether a word, in its normal form, is one that questions are made of."""
    return form in asking_words() or form.isdigit()


@lru_cache(maxsize=4096)
def spelling_of(form: str) -> str | None:
    """Return the asking word that a misspelt one stands for, None without one."""
    if form in asking_words():
        return form
    if len(form) < 5 or any(c.isdigit() for c in form):
        return None
    from rapidfuzz import fuzz, process

    near = process.extractOne(
        form,
        [w for w in asking_words() if len(w) > 3 and w[0] == form[0]],
        scorer=fuzz.ratio,
        score_cutoff=NEAR,
    )
    return None if near is None else str(near[0])


def _bare(text: str) -> str:
    """Return an example without its slots."""
    parts = [
        piece.partition("}")[2] if "}" in piece else piece for piece in text.split("{")
    ]
    return " ".join(parts)
