"""Vectors on their way to and from Neo4j, and their cosines.

Servers from 2025.10 on take and give a vector as one value, several times faster
than a list of numbers; it is stored as a list of 32-bit floats either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from knowtrail.graph.db.connection import Capabilities


def vector_parameter(
    vector: npt.NDArray[np.float32], capabilities: Capabilities
) -> Any:
    """Return a vector as a query parameter, in the server's fastest form."""
    if not capabilities.vector_values:
        return vector.tolist()
    from neo4j.vector import Vector

    return Vector.from_numpy(np.ascontiguousarray(vector, dtype=np.float32))


def vector_array(value: Any) -> npt.NDArray[np.float32]:
    """Return a vector read from the server as a float32 array."""
    to_numpy = getattr(value, "to_numpy", None)
    if to_numpy is not None:
        value = to_numpy()
    return np.asarray(value, dtype=np.float32)


def cosines_between(
    rows: npt.NDArray[np.float64], columns: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the cosine of each row and column; 0 where one is of zeros."""
    one, other = (
        part / np.where(length == 0, 1.0, length)
        for part in (rows, columns)
        for length in (np.linalg.norm(part, axis=1, keepdims=True),)
    )
    found: npt.NDArray[np.float64] = one @ other.T
    return found
