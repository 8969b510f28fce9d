"""Which half of an experiment a session belongs to, the same in every process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from graph.errors import InputError

__all__ = ["Group", "SpecificityExperiment"]

Group: TypeAlias = Literal["control", "treatment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecificityExperiment:
    """An experiment on filtering by specificity: `treatment` filters, `control` not.

    Attributes:
        traffic_split: Share of sessions that are treated, from 0 to 1.
        name: Sessions are dealt anew for another name.

    Raises:
        InputError: If the share is not from 0 to 1.
    """

    traffic_split: float = 0.5
    name: str = "specificity"

    def __post_init__(self) -> None:
        """Check the share."""
        if isinstance(self.traffic_split, bool) or not 0 <= self.traffic_split <= 1:
            msg = f"traffic_split is {self.traffic_split}: give a share from 0 to 1."
            raise InputError(msg)

    def group(self, session_id: str) -> Group:
        """Return the group of a session.

        The first 53 bits of a SHA-256 of name and session are a number from 0 up to 1,
        which the share is compared with: whoever is treated at a share stays treated
        at any larger one.
        """
        text = f"{self.name}\x00{session_id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 11
        return "treatment" if number < self.traffic_split * 2**53 else "control"

    def is_treatment(self, session_id: str) -> bool:
        """Return whether a session is treated."""
        return self.group(session_id) == "treatment"
