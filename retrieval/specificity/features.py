"""What questions are told apart by, and the weights that were learned of it.

What a question names is masked: `Which archives are in Utrecht?` and `Which museums are
in Ghent?` are one question. What counts are words, pairs of words, parts of words, and
which kinds of things are named.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.specificity.cues import (
    compares,
    counts,
    residue,
    unanswerable,
)
from knowtrail.retrieval.specificity.quantities import asked_aggregate, asked_order
from knowtrail.retrieval.specificity.query_templates import LANGUAGES
from knowtrail.retrieval.specificity.vocabulary import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.specificity.mention import Mention
    from knowtrail.retrieval.specificity.query_templates import Template

    Array = npt.NDArray[np.float32]

MASK = re.compile(r"\{([a-z_]+)\}")
"""What stands in an example for a value: the name of its slot in braces."""

PLACES = frozenset({"city", "region", "country"})
WEIGHTS = "weights.npz"
_LIMIT = re.compile(r"(?<!\S)\d{1,3}\s")
"""A number such as that of `the 5 oldest`, which says nothing about the template."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """What a logistic regression over weighted features has learned.

    Attributes:
        key: Of the examples that it was fitted to.
        classes: Families of templates, in the order of the columns.
        features: Names of the features, in the order of the rows.
        idf: How much a feature counts; the less, the more examples have it.
        coefficients: A row for each feature, a column for each class.
        constants: Of each class.
        calibration: Constant and slope of the confidence over the log-odds, fitted to
            examples that were held out.
    """

    key: str
    classes: tuple[str, ...]
    features: tuple[str, ...]
    idf: Array
    coefficients: Array
    constants: Array
    calibration: tuple[float, float]

    def packed(self) -> bytes:
        """Return the weights as a file of numpy, without pickles."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            key=np.array(self.key),
            classes=np.array(self.classes),
            features=np.frombuffer("\n".join(self.features).encode(), dtype=np.uint8),
            idf=self.idf.astype(np.float16),
            coefficients=self.coefficients.astype(np.float16),
            constants=self.constants,
            calibration=np.array(self.calibration),
        )
        return file.getvalue()

    @classmethod
    def unpacked(cls, data: bytes) -> Weights:
        """Return the weights of a file."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            constant, slope = found["calibration"].tolist()
            return cls(
                key=str(found["key"]),
                classes=tuple(found["classes"].tolist()),
                features=tuple(found["features"].tobytes().decode().split("\n")),
                idf=found["idf"].astype(np.float32),
                coefficients=found["coefficients"].astype(np.float32),
                constants=found["constants"].astype(np.float32),
                calibration=(constant, slope),
            )


def log_odds(share: float) -> float:
    """Return the log-odds of a share, which is never quite 0 or 1."""
    inside = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(inside / (1 - inside))


def examples_key(templates: Mapping[str, Template]) -> str:
    """Return a key of the examples of templates, and of what they are for."""
    return content_key(*(part for row in examples_of(templates) for part in row))


def examples_of(templates: Mapping[str, Template]) -> list[tuple[str, str, str]]:
    """Return the examples of templates with their families and languages.

    Templates that differ only in the kind of place that they take are one family, and
    share their examples: which of them is meant, the place itself decides.
    """
    rows = [
        (_of_place(text), family_of(template), language)
        for template in templates.values()
        for language in LANGUAGES
        for text in template.examples[language]
    ]
    return list(dict.fromkeys(rows))


def family_of(template: Template) -> str:
    """Return what a template has in common with those for other kinds of place."""
    if template.intent is None:
        return template.id
    types = {_kind(slot.type) for slot in template.slots.values()}
    return " ".join([template.intent, *sorted(types)])


def _of_place(text: str) -> str:
    """Return an example that speaks of any kind of place."""
    return MASK.sub(lambda found: f"{{{_kind(found[1])}}}", text)


def _kind(name: str) -> str:
    """Return a kind of mention, one for all places."""
    return "place" if name in PLACES else name


def features_of(question: str, mentions: Sequence[Mention]) -> dict[str, float]:
    """Return what a question is told by, with weights."""
    found: dict[str, float] = {}
    for name, weight in _features(question, mentions):
        found[name] = found.get(name, 0.0) + weight
    return found


def _features(
    question: str, mentions: Sequence[Mention]
) -> Iterator[tuple[str, float]]:
    """Yield words, pairs and parts of words, and what is known of the whole."""
    words = _masked_words(question, mentions)
    for a, b in pairwise(["^", *words, "$"]):
        yield f"{a} {b}", 0.6
    for word in words:
        yield word, 1.0
        marked = f"^{word}$"
        for n in range(len(marked) - 3) if word[0] != "<" else ():
            yield f"#{marked[n : n + 4]}", 0.35
    kinds = sorted(_kind(m.kind) for m in mentions)
    yield f"={' '.join(kinds[:4])}", 1.0
    for kind in sorted(set(kinds)):
        yield f"=has {kind}", 1.0
    for name, holds in (("count", counts), ("compare", compares)):
        if holds(question, mentions):
            yield f"=after {name}", 1.0
    yield f"=left {min(3, len(residue(question, mentions)))}", 1.0
    order = asked_order(question, mentions)
    if order is not None:
        yield f"=order {'age' if order.by in {'oldest', 'newest'} else 'budget'}", 1.5
    if asked_aggregate(question):
        yield "=aggregate", 2.0
    if unanswerable(question, mentions):
        yield "=beyond", 2.0


def _masked_words(question: str, mentions: Sequence[Mention]) -> list[str]:
    """Return the words of a question, with `<kind>` for what it names."""
    words: list[str] = []
    at = 0
    for mention in mentions:
        words += _words(question[at : mention.start])
        words.append(f"<{_kind(mention.kind)}>")
        at = mention.end
    return words + _words(question[at:])


def _words(text: str) -> list[str]:
    """Return the words of a part of a question."""
    return [token.form for token in tokens_of(_LIMIT.sub(" ", text))]
