"""Weights of the classifier of templates, fitted to example questions.

Those of the product's own templates are stored in `data/weights.npz`; after a change of
examples, of what questions are told by, or of the classes, `python -m` this module
writes them, and the classes as they are read, again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.retrieval.specificity.class_scores import compile_schema
from knowtrail.retrieval.specificity.features import (
    MASK,
    WEIGHTS,
    Weights,
    examples_key,
    examples_of,
    features_of,
    log_odds,
)
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.mention import MentionFinder
from knowtrail.retrieval.specificity.query_templates import load_templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sklearn.pipeline import Pipeline

    from knowtrail.retrieval.specificity.query_templates import Template

FOLDS = 5
STRENGTH = 10.0
"""Inverse of the penalty on large weights."""

_FILLERS = {
    "en": {
        "institution_type": "museums",
        "place": "Amsterdam",
        "name": "the Museum Zonnehof",
        "identifier": "NL-ZhMz",
        "date": "1900",
        "budget": "500,000 euro",
    },
    "nl": {
        "institution_type": "musea",
        "place": "Amsterdam",
        "name": "het Museum Zonnehof",
        "identifier": "NL-ZhMz",
        "date": "1900",
        "budget": "500.000 euro",
    },
}
"""What stands in an example for the value of a slot."""


def fitted(templates: Mapping[str, Template]) -> Weights:
    """Fit weights to the examples of templates."""
    finder = MentionFinder(build_gazetteer([{"city": "Amsterdam", "country": "NL"}]))
    bags, families = [], []
    for text, family, language in examples_of(templates):
        filled = _filled(text, _FILLERS[language])
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
    """Return a logistic regression over weighted features, not yet fitted."""
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


def _filled(text: str, fillers: Mapping[str, str]) -> str:
    """Return an example with values for its slots."""
    return MASK.sub(lambda found: fillers.get(found[1], found[1]), text)


def write_weights(path: Path | None = None) -> Path:
    """Fit the weights of the product's own templates and write them."""
    path = path or Path(__file__).with_name("data") / WEIGHTS
    path.write_bytes(fitted(load_templates()).packed())
    return path


if __name__ == "__main__":
    write_weights()
    compile_schema()
