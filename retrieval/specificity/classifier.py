"""Which template a question asks for: a trained classifier with a confidence.

What a question names is masked: `Which archives are in Utrecht?` and `Which museums are
in Ghent?` are one question. What counts are words, pairs of words, parts of words, and
which kinds of things are named. The weights are fitted to the example questions of the
templates; those of the templates that come with the product are stored with it.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.specificity.class_scores import check_threshold
from knowtrail.retrieval.specificity.cues import compares, counts, residue, unanswerable
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.mention import MentionFinder, named_kind
from knowtrail.retrieval.specificity.quantities import asked_aggregate, asked_order
from knowtrail.retrieval.specificity.query_templates import LANGUAGES, NONE, Template
from knowtrail.retrieval.specificity.vocabulary import (
    PLACES,
    Mention,
    data_file,
    tokens_of,
)
from knowtrail.retrieval.specificity.yaml_lines import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt
    from sklearn.pipeline import Pipeline

    Array = npt.NDArray[np.float32]

MASK = re.compile(r"\{([a-z_]+)\}")
"""What stands in an example for a value: the name of its slot in braces."""

WEIGHTS = "weights.npz"
_LIMIT = re.compile(r"(?<!\S)\d{1,3}\s")
"""A number such as that of `the 5 oldest`, which says nothing about the template."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """What a logistic regression over weighted features has learned.

    The key is of the examples that it was fitted to; classes are families of templates.
    A feature counts the less, by `idf`, the more examples have it. Coefficients have a
    row for each feature, a column for each class. The calibration is constant and slope
    of the confidence over the log-odds, fitted to examples that were held out.
    """

    key: str
    classes: tuple[str, ...]
    features: tuple[str, ...]
    idf: Array
    coefficients: Array
    constants: Array
    calibration: tuple[float, float]

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
        if template.variants or template.id == NONE
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
    return MASK.sub(lambda found: f"{{{_kind(found[1])}}}", text)


def _kind(name: str) -> str:
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
    words: list[str] = []
    at = 0
    for mention in mentions:
        words += _words(question[at : mention.start])
        words.append(f"<{_kind(mention.kind)}>")
        at = mention.end
    return words + _words(question[at:])


def _words(text: str) -> list[str]:
    return [token.form for token in tokens_of(_LIMIT.sub(" ", text))]


THRESHOLD = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a question was taken for, with likelihoods of templates, best first.

    The template is `none` where the confidence, from 0 to 1, is below the threshold.
    """

    template_id: str
    confidence: float
    scores: tuple[tuple[str, float], ...] = ()
    by: str = "trained"


@runtime_checkable
class TemplateClassifier(Protocol):
    """Tells which template a question asks for."""

    def classify(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Classification:
        """Return the template of a question."""
        ...


class TrainedTemplateClassifier:
    """Tells templates by weights that were fitted to their example questions."""

    def __init__(
        self, templates: Mapping[str, Template], *, threshold: float = THRESHOLD
    ) -> None:
        """Take templates; weights are fitted now unless they are stored."""
        check_threshold(threshold)
        self.threshold = threshold
        self._families: dict[str, list[Template]] = {}
        for template in templates.values():
            if template.intent == "near":  # told by a distance, not by what is learned
                continue
            self._families.setdefault(family_of(template), []).append(template)
        stored = _stored().key == examples_key(templates)
        self._weights = _stored() if stored else fitted(templates)
        self._row = {name: row for row, name in enumerate(self._weights.features)}

    def classify(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Classification:
        """Return the template of a question; see `TemplateClassifier`."""
        shares = self._shares(features_of(question, mentions))
        order = sorted(range(len(shares)), key=lambda n: -shares[n])
        classes = self._weights.classes
        scores = tuple(
            (_suited(self._families[classes[n]], question, mentions), shares[n])
            for n in order
        )
        confidence = calibrated(scores[0][1], self._weights.calibration)
        sure = confidence >= self.threshold
        return Classification(
            template_id=scores[0][0] if sure else NONE,
            confidence=confidence,
            scores=tuple((name, round(share, 6)) for name, share in scores),
        )

    def _shares(self, features: Mapping[str, float]) -> list[float]:
        weights = self._weights
        known = {self._row[n]: c for n, c in features.items() if n in self._row}
        rows = np.fromiter(known, dtype=np.intp, count=len(known))
        values = np.fromiter(known.values(), dtype=np.float32, count=len(known))
        values = values * weights.idf[rows]
        norm = float(np.linalg.norm(values)) or 1.0
        scores = values @ weights.coefficients[rows] / norm + weights.constants
        shares = np.exp(scores - scores.max())
        return [float(share) for share in shares / shares.sum()]


def calibrated(share: float, calibration: tuple[float, float]) -> float:
    """Return how likely a class is right, by the share that was learned for it."""
    constant, slope = calibration
    return 1 / (1 + math.exp(-(constant + slope * log_odds(share))))


@lru_cache(maxsize=1)
def _stored() -> Weights:
    return Weights.unpacked((DATA / WEIGHTS).read_bytes())


def _suited(
    family: Sequence[Template], question: str, mentions: Sequence[Mention]
) -> str:
    """Return the template of a family whose places are those that are named."""
    places = [m for m in mentions if m.kind in PLACES]
    kind = None if places else named_kind(question)

    def unsuited(template: Template) -> int:
        types = {slot.type for slot in template.slots.values()} & PLACES
        if kind is not None:
            return int(kind not in types)
        others = [m for m in places if m.kind not in types]
        apart = sum(not any(o.kind in types for o in m.options) for m in others)
        return len(others) + apart

    return min(family, key=unsuited).id


FOLDS = 5
STRENGTH = 10.0
"""Inverse of the penalty on large weights."""


def fitted(templates: Mapping[str, Template]) -> Weights:
    """Fit weights to the examples of templates."""
    finder = MentionFinder(build_gazetteer([{"city": "Amsterdam", "country": "NL"}]))
    bags, families = [], []
    for text, family, language in examples_of(templates):
        fillers = data_file("fillers.yaml")[language]
        filled = MASK.sub(lambda slot: fillers.get(slot[1], slot[1]), text)  # noqa: B023
        bags.append(features_of(filled, finder.find(filled)))
        families.append(family)
    names, counts, model = (step for _, step in _model().fit(bags, families).steps)
    coefficients, constants = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # one row tells two classes
        coefficients = np.vstack([-coefficients, coefficients]) / 2
        constants = np.hstack([-constants, constants]) / 2
    return Weights(
        key=examples_key(templates),
        classes=tuple(str(name) for name in model.classes_),
        features=tuple(names.get_feature_names_out().tolist()),
        idf=counts.idf_.astype(np.float32),
        coefficients=coefficients.T.astype(np.float32),
        constants=constants.astype(np.float32),
        calibration=_calibration(bags, families),
    )


def _model() -> Pipeline:
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    regression = LogisticRegression(C=STRENGTH, max_iter=1_000)
    return make_pipeline(DictVectorizer(), TfidfTransformer(), regression)


def _calibration(
    bags: Sequence[Mapping[str, float]], families: Sequence[str]
) -> tuple[float, float]:
    """Return the confidence over the log-odds, by examples that are held out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(min(FOLDS, len(bags)), shuffle=True, random_state=0)
    shares = cross_val_predict(
        _model(), bags, families, cv=folds, method="predict_proba"
    )
    classes = sorted(set(families))
    right = [
        classes[best] == family
        for best, family in zip(shares.argmax(axis=1), families, strict=True)
    ]
    if len(set(right)) == 1:
        return 0.0, 1.0
    odds = np.array([[log_odds(float(share))] for share in shares.max(axis=1)])
    line = LogisticRegression().fit(odds, right)
    return float(line.intercept_[0]), float(line.coef_[0, 0])
