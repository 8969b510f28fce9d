"""The exact search of similar vectors, as tests and benchmarks call it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from knowtrail.ingest.similarity import Best, Comparison, vector_number


def top_neighbours(vectors: Any, **wanted: Any) -> Iterator[Best]:
    """Yield the neighbours of each vector, in blocks; `Comparison` has the wishes."""
    numbers = np.array([vector_number(v) for v in vectors], dtype=np.int64)
    yield from Comparison(vectors=vectors, numbers=numbers, **wanted).blocks(0)
