"""Steps of property paths, read for many rows at once and level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.paths import InvPath, MulPath
from rdflib.term import BNode, Literal, URIRef, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Triple = tuple[Any, Any, Any]
    Solver = Callable[[Any, Sequence[Any]], Iterable[tuple[int, Any]]]

__all__ = ["Steps"]

_MOST_STEPS = 20_000
_ROWS = 500
_NEAR, _FAR = Variable("s"), Variable("o")


class Steps:
    """The triples of path steps that one query has read.

    A path then finds them here, where it would ask the database for each. It asks for
    what is not here itself, so that the memory this takes is bounded.

    Args:
        solve: Yields number and solution for a pattern and the rows before it.
    """

    def __init__(self, solve: Solver) -> None:
        self._solve = solve
        self._known: dict[Triple, list[Triple]] = {}
        self._size = 0

    def found(self, asked: Triple) -> list[Triple] | None:
        """Return the triples of a pattern, None where they were not read.

        Args:
            asked: Subject, predicate and object; what is not given is None.
        """
        return self._known.get(asked)

    def prepare(self, path: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Read the steps of a path that repeats one predicate.

        Args:
            path: Any path; others than these are left alone.
            pairs: Subject and object of each row, None where they are not known.
        """
        if not isinstance(path, MulPath):
            return
        predicate, backward = path.path, False
        if isinstance(predicate, InvPath):
            predicate, backward = predicate.arg, True
        if not isinstance(predicate, URIRef):
            return
        ahead: dict[Any, None] = {}
        behind: dict[Any, None] = {}
        for subject, found in pairs:
            if subject is not None:
                ahead[subject] = None
            elif found is not None:
                behind[found] = None
        for nodes, turned in ((ahead, backward), (behind, not backward)):
            self._walk(predicate, nodes, backward=turned, on=bool(path.more))

    def _walk(
        self, predicate: URIRef, level: Iterable[Any], *, backward: bool, on: bool
    ) -> None:
        """Read the steps from nodes, and on from where they lead."""
        pattern = (_FAR, predicate, _NEAR) if backward else (_NEAR, predicate, _FAR)
        while self._size < _MOST_STEPS:
            new = [n for n in level if self._asked(n, predicate, backward) is not None]
            if not new:
                return
            reached: dict[Any, None] = {}
            for start in range(0, len(new), _ROWS):
                nodes = new[start : start + _ROWS]
                steps: list[list[Triple]] = [[] for _ in nodes]
                for place, row in self._solve(pattern, [{_NEAR: n} for n in nodes]):
                    near, far = nodes[place], row[_FAR]
                    ends = (far, near) if backward else (near, far)
                    steps[place].append((ends[0], predicate, ends[1]))
                    reached[far] = None
                for node, found in zip(nodes, steps, strict=True):
                    asked = self._asked(node, predicate, backward)
                    if asked is not None:
                        self._known[asked] = found
                    self._size += 1 + len(found)
                if self._size >= _MOST_STEPS:
                    return
            level = reached if on else ()

    def _asked(self, node: Any, predicate: URIRef, backward: bool) -> Triple | None:
        """Return how a path asks for the steps from a node, None if it need not."""
        if isinstance(node, BNode) or (isinstance(node, Literal) and not backward):
            return None
        asked = (None, predicate, node) if backward else (node, predicate, None)
        return None if asked in self._known else asked
