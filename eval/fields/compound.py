"""Fields that are right only together, such as the parts of a name."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from eval.fields.comparators import same
from eval.fields.paths import child_path, last_key, parent_path
from eval.fields.specs import ComparatorResult
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.fields.specs import BatchItem

__all__ = ["CompoundComparator"]

_LOG = logging.getLogger(__name__)


class CompoundComparator:
    """Scores sibling fields as one: the primary has the score, others are skipped.

    Register an instance under a name and give that name to each of the fields. Derive
    from the class and override `compare` for another notion of equality.

    A group that lacks a field scores 0 in every field it has. A group whose `compare`
    raises is a batch error, and the other groups of the record stay; in the library
    that this follows they fail with it.
    """

    is_batch = True

    def __init__(
        self, fields: Sequence[str], primary: str, name: str = "compound"
    ) -> None:
        """Name the fields.

        Args:
            fields: Keys of one object.
            primary: The one of them that has the score.
            name: What results say they were made by.

        Raises:
            InputError: If the primary field is none of them.
        """
        self.fields = list(fields)
        self.primary = primary
        self.name = name
        if primary not in self.fields:
            msg = f"The primary field {primary!r} is none of {self.fields}."
            raise InputError(msg)

    def compare(
        self, gold_dict: dict[str, Any], extracted_dict: dict[str, Any]
    ) -> float:
        """Return the score of one group: 1 if all fields are equal, by default.

        Args:
            gold_dict: Key to value as it should be, after the transforms.
            extracted_dict: The same of the extraction.
        """
        equal = all(same(gold_dict[key], extracted_dict[key]) for key in gold_dict)
        return 1.0 if equal else 0.0

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Score the groups of a record.

        Args:
            items: Its fields that name this comparator.
        """
        results: list[ComparatorResult | None] = [None] * len(items)
        for parent, members in _groups(items):
            self._score(parent, members, items, results)
        return results

    def _score(
        self,
        parent: str,
        members: dict[str, int],
        items: list[BatchItem],
        results: list[ComparatorResult | None],
    ) -> None:
        """Put the results of one group in their places."""
        lacking = [key for key in self.fields if key not in members]
        if lacking:
            reason = f"incomplete compound (missing {lacking})"
            for index in members.values():
                results[index] = ComparatorResult(0.0, self.name, reason)
            return
        try:
            score = self.compare(
                {key: items[members[key]].gold_compared for key in self.fields},
                {key: items[members[key]].extracted_compared for key in self.fields},
            )
        except Exception as error:  # a custom comparison may raise what it likes
            _LOG.warning("Compound %r failed at %r: %s.", self.name, parent, error)
            return
        primary = child_path(parent, self.primary)
        for key, index in members.items():
            if key == self.primary:
                verdict = "match" if score >= 1.0 else "mismatch"
                result = ComparatorResult(score, self.name, f"compound: {verdict}")
            else:
                reason = f"compound with {primary}"
                result = ComparatorResult(0.0, self.name, reason, skip=True)
            results[index] = result


def _groups(items: list[BatchItem]) -> list[tuple[str, dict[str, int]]]:
    """Return path and members, key to position, of every object among the fields.

    Where arrays are aligned by content paths have no indices: there a field that the
    object has already begins the next object.
    """
    groups: list[tuple[str, dict[str, int]]] = []
    latest: dict[str, dict[str, int]] = {}
    for index, item in enumerate(items):
        parent, key = parent_path(item.path), last_key(item.path)
        if parent not in latest or key in latest[parent]:
            latest[parent] = {}
            groups.append((parent, latest[parent]))
        latest[parent][key] = index
    return groups
