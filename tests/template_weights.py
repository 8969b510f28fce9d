"""What is made from the product's own files on heritage, by `python -m` this module.

The weights of the classifier of templates, fitted to the example questions, are stored
in `data/weights.npz` of `retrieval/specificity`, the classes of its schema as they are
read in `data/classes.json`. Both are written again after a change of examples, of what
questions are told by, or of the schema.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from knowtrail.retrieval.specificity import load_lookup, load_templates
from knowtrail.retrieval.specificity.class_scores import COMPILED
from knowtrail.retrieval.specificity.classifier import WEIGHTS, Weights, fitted

DATA = Path(__file__).parents[1] / "retrieval" / "specificity" / "data"


def packed(weights: Weights) -> bytes:
    """Return weights as a file of numpy, without pickles; see `Weights.unpacked`."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        key=np.array(weights.key),
        classes=np.array(weights.classes),
        features=np.frombuffer("\n".join(weights.features).encode(), dtype=np.uint8),
        idf=weights.idf.astype(np.float16),
        coefficients=weights.coefficients.astype(np.float16),
        constants=weights.constants,
        calibration=np.array(weights.calibration),
    )
    return file.getvalue()


def main() -> None:
    """Write both."""
    (DATA / WEIGHTS).write_bytes(packed(fitted(load_templates())))
    classes = list(map(asdict, load_lookup(DATA / "schema").classes.values()))
    (DATA / COMPILED).write_text(json.dumps(classes, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
