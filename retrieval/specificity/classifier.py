"""Which template a question asks for: a trained classifier with a confidence.

The weights are fitted to the example questions of the templates; those of the templates
that come with the product are stored with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from knowtrail.retrieval.specificity.class_scores import check_threshold
from knowtrail.retrieval.specificity.features import (
    PLACES,
    WEIGHTS,
    Weights,
    examples_key,
    family_of,
    features_of,
    log_odds,
)
from knowtrail.retrieval.specificity.mention import named_kind
from knowtrail.retrieval.specificity.query_templates import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.specificity.mention import Mention
    from knowtrail.retrieval.specificity.query_templates import Template

THRESHOLD = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a question was taken for.

    Attributes:
        template_id: The template; `none` where the confidence is below the threshold.
        confidence: How likely the template is the right one, from 0 to 1.
        scores: Likelihood of templates, best first.
        by: What classified: `trained` or `dspy`.
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
            self._families.setdefault(family_of(template), []).append(template)
        self._weights = _weights_of(templates)
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
        """Return how likely each class is."""
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


def _weights_of(templates: Mapping[str, Template]) -> Weights:
    """Return the stored weights, or others fitted to the examples."""
    stored = _stored()
    if stored.key == examples_key(templates):
        return stored
    from knowtrail.retrieval.specificity.training import fitted

    return fitted(templates)


@lru_cache(maxsize=1)
def _stored() -> Weights:
    """Return the weights that come with the product, read once."""
    package = resources.files("knowtrail.retrieval.specificity")
    return Weights.unpacked(package.joinpath("data", WEIGHTS).read_bytes())


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
