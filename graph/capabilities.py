"""What a Neo4j server can do, probed once per connection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Capabilities", "capabilities_from"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The version of a server and what follows from it.

    Attributes:
        version: Version numbers, such as (2026, 8, 1) or (5, 26, 30).
        edition: `community`, `enterprise` or another name.
    """

    version: tuple[int, ...]
    edition: str

    @property
    def cypher25(self) -> bool:
        """Return whether the server understands `CYPHER 25`."""
        return self.version >= (2025, 6)

    @property
    def vector_values(self) -> bool:
        """Return whether vectors travel as single values."""
        return self.version >= (2025, 10)

    @property
    def search(self) -> bool:
        """Return whether the server has the `SEARCH` clause."""
        return self.version >= (2026, 1)

    @property
    def filtered_vector_index(self) -> bool:
        """Return whether a vector index can be filtered inside the search."""
        return self.version >= (2026, 1)

    @property
    def quantization_type(self) -> bool:
        """Return whether `vector.quantization.type` is the option's name."""
        return self.version >= (2026, 6)


def capabilities_from(rows: Sequence[dict[str, Any]]) -> Capabilities:
    """Read capabilities from the rows of `dbms.components`.

    Raises:
        DatabaseError: If the server is older than 5.26 or says no version.
    """
    for row in rows:
        if row["name"] == "Neo4j Kernel":
            text = row["version"]
            version = tuple(int(n) for n in re.findall(r"\d+", text)[:3])
            if version < (5, 26):
                msg = f"Neo4j {text} is too old: use 5.26 or a 2026 release."
                raise DatabaseError(msg)
            return Capabilities(version=version, edition=row["edition"])
    msg = "The server does not say which version of Neo4j it is."
    raise DatabaseError(msg)
