"""Writes what is made from the product's own files when they change.

The weights of the classifier of templates, fitted to the example questions, are stored
in `data/weights.npz`; after a change of examples, of what questions are told by, or of
the classes, `python -m` this module writes them, and the classes as they are read,
again.
"""

from __future__ import annotations

from pathlib import Path

from knowtrail.retrieval.specificity.class_scores import compile_schema
from knowtrail.retrieval.specificity.classifier import WEIGHTS, fitted
from knowtrail.retrieval.specificity.query_templates import load_templates


def write_weights(path: Path | None = None) -> Path:
    """Fit the weights of the product's own templates and write them."""
    path = path or Path(__file__).with_name("data") / WEIGHTS
    path.write_bytes(fitted(load_templates()).packed())
    return path


if __name__ == "__main__":
    write_weights()
    compile_schema()
