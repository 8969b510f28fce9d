"""Data sets of questions with gold, in the formats that others use."""

from knowtrail.eval.datasets.formats import (
    DATASET_KINDS,
    load_dataset,
    read_specification,
)

__all__ = ["DATASET_KINDS", "load_dataset", "read_specification"]
