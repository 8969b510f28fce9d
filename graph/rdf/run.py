"""One reading of the database: within a time limit, with the prefixes that it has."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from neo4j import Query, Session
from rdflib.paths import InvPath, MulPath
from rdflib.term import BNode, Literal, URIRef, Variable

from knowtrail.graph.batches import batched
from knowtrail.graph.db.driver import translate_errors
from knowtrail.graph.errors import QueryTimeoutError, RdfError
from knowtrail.graph.rdf.mapping import Mapping
from knowtrail.graph.rdf.plan import Plan
from knowtrail.graph.rdf.triples import Triple, graph_triples, predicates_of, triples_of
from knowtrail.graph.rdf.values import Numbered, literal_term, node_term, xsd_written
from knowtrail.graph.rdf.vocabulary import Value, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from knowtrail.graph.db.connection import Connection

    Terms = tuple[Any, Any, Any]
    Solver = Callable[[Any, Sequence[Any]], Iterable[tuple[int, Any]]]

_MOST_STEPS = 20_000
_ROWS = 500
_NEAR, _FAR = Variable("s"), Variable("o")
_MOST_PLANS = 256
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"
"""How the codes begin of queries that the server ended, by its limit or by ours."""


class Steps:
    """The triples of path steps that one query has read.

    A path then finds them here, where it would ask the database for each. It asks for
    what is not here itself, so that the memory this takes is bounded.
    """

    def __init__(self, solve: Solver) -> None:
        self._solve = solve
        self.known: dict[Terms, list[Terms]] = {}
        self._size = 0

    def prepare(self, path: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Read the steps of a path that repeats one predicate."""
        if not isinstance(path, MulPath):
            return
        predicate, backward = path.path, False
        if isinstance(predicate, InvPath):
            predicate, backward = predicate.arg, True
        if not isinstance(predicate, URIRef):
            return
        ahead = [subject for subject, _ in pairs if subject is not None]
        behind = [found for subject, found in pairs if subject is None]
        for nodes, turned in ((ahead, backward), (behind, not backward)):
            self._walk(predicate, nodes, backward=turned, on=bool(path.more))

    def _walk(
        self, predicate: URIRef, level: Iterable[Any], *, backward: bool, on: bool
    ) -> None:
        """Read the steps from nodes, and on from where they lead."""
        pattern = (_FAR, predicate, _NEAR) if backward else (_NEAR, predicate, _FAR)
        while self._size < _MOST_STEPS:
            asked = {
                (None, predicate, node) if backward else (node, predicate, None): node
                for node in level
                if node is not None
                and not isinstance(node, BNode)
                and (backward or not isinstance(node, Literal))
            }
            new = [one for one in asked if one not in self.known]
            if not new:
                return
            reached: dict[Any, None] = {}
            for some in batched(new, _ROWS):
                rows = [{_NEAR: asked[one]} for one in some]
                steps: list[list[Terms]] = [[] for _ in some]
                for place, row in self._solve(pattern, rows):
                    subject, _, found = some[place]
                    far = row[_FAR]
                    ends = (far, found) if backward else (subject, far)
                    steps[place].append((ends[0], predicate, ends[1]))
                    reached[far] = None
                self.known |= zip(some, steps, strict=True)
                self._size += len(some) + sum(map(len, steps))
                if self._size >= _MOST_STEPS:
                    return
            level = reached if on else ()


class PrefixesChangedError(RdfError):
    """The database has other prefixes than those a statement was made with."""


Prepared = tuple[Mapping, Callable[..., Plan]]
"""A mapping, and the plans made with it, which follow from it and a query's text."""


@dataclass(eq=False)
class Run:
    """One reading of the database: its prefixes, and when it must be over.

    `kept` has the mapping with the prefixes that the database had last, and its plans,
    for the next reading.
    """

    connection: Connection
    _vocabulary: Vocabulary
    seconds: float = 1e9
    kept: list[Prepared] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.seconds
        self._confirmed = False
        self._known = next(iter(self.kept), None)
        self._sessions: set[Session] = set()
        # Rows that nobody reads to the end are closed before the collector finds
        # their session, which would say that it was left open.
        weakref.finalize(self, _close, self._sessions).atexit = False
        self.steps = Steps(self._solve)

    @property
    def mapping(self) -> Mapping:
        """Return the mapping with the prefixes that the database has now."""
        return ((self._known if self._confirmed else None) or self._ask())[0]

    def _ask(self) -> Prepared:
        return self._learn(r["held"] for r in self.connection.read("rdf/prefixes"))

    def _learn(self, held: Iterable[Dictionary[str, Any]]) -> Prepared:
        pairs = [(key, value) for row in held for key, value in row.items()]
        foreign = {key: value for key, value in pairs if isinstance(value, str)}
        if self._known is None or self._known[0].foreign != foreign:
            mapping = Mapping(self._vocabulary, foreign)
            self._known = mapping, lru_cache(_MOST_PLANS)(partial(Plan, mapping))
        self._confirmed = True
        self.kept[:] = [self._known]
        return self._known

    @property
    def confirm(self) -> Callable[[Any], None] | None:
        """Return what has to be told the prefixes, None if they are known."""
        return None if self._confirmed else self._confirm

    def _confirm(self, held: Any) -> None:
        before = self._known
        if self._learn(held) is not before:
            msg = "The prefixes of the database have changed: ask again."
            raise PrefixesChangedError(msg)

    def plan(self, *asked: Any) -> Plan:
        """Return a plan, made with the last known prefixes; see `Plan`."""
        return (self._known or self._ask())[1](*asked)

    def check(self) -> None:
        """Raise `QueryTimeoutError` where time is up."""
        if time.monotonic() > self.deadline:
            raise QueryTimeoutError.after(self.seconds)

    def left(self) -> float:
        """Return the seconds that are left; there are some."""
        self.check()
        return max(0.001, self.deadline - time.monotonic())

    def __call__(self, text: str, params: dict[str, Any]) -> Iterator[Sequence[Any]]:
        """Run a statement and yield the values of its rows."""
        timed = Query(text, timeout=max(0.05, self.left()))
        session = self.connection.session(default_access_mode="READ", fetch_size=500)
        self._sessions.add(session)
        try:
            with translate_errors(), session:
                for record in session.run(timed, params):
                    self.check()
                    yield record.values()
        except Exception as error:
            # The server's own limit and ours mean the same to who asked.
            if str(getattr(error.__cause__, "code", "")).startswith(_TIMED_OUT):
                self.deadline = 0.0
                self.check()
            raise
        finally:
            self._sessions.discard(session)

    def triples(self, subject: Any, predicate: Any, found: Any) -> Iterator[Terms]:
        """Yield the triples that match a pattern, in which None matches anything."""
        self.check()
        found = xsd_written(found)
        steps = self.steps.known.get((subject, predicate, found))
        if steps is not None:
            yield from steps
            return
        if isinstance(subject, Literal) or isinstance(predicate, Literal | BNode):
            return
        if predicate is None:
            yield from self._any_predicate(subject, found)
            return
        # A given blank node is a bound variable: in a pattern it would be any node.
        ends = {_NEAR: subject, _FAR: found}
        row = {name: term for name, term in ends.items() if isinstance(term, BNode)}
        one, other = (
            name if term is None or name in row else term for name, term in ends.items()
        )
        for _, bound in self._solve((one, predicate, other), [row]):
            yield bound.get(one, one), predicate, bound.get(other, other)

    def _solve(self, pattern: Any, rows: Sequence[Any]) -> Numbered:
        """Yield the solutions of one pattern for rows, each with the row's number."""
        self.check()
        return Plan(self.mapping, [pattern]).numbered(self, None, rows)

    def _any_predicate(self, subject: Any, found: Any) -> Iterator[Terms]:
        if subject is not None:
            triples = triples_of(self, self.mapping, subject)
        elif (
            found is None or (known := predicates_of(self, self.mapping, found)) is None
        ):
            triples = graph_triples(self, self.mapping)
        else:
            for predicate in known:
                yield from self.triples(None, predicate, found)
            return
        for one in map(triple_terms, triples):
            self.check()
            if found is None or found == one[2]:
                yield one


def _close(sessions: set[Session]) -> None:
    while sessions:
        sessions.pop().close()


def triple_terms(triple: Triple) -> Terms:
    """Return a triple as terms of rdflib."""
    subject, predicate, found = triple
    target = literal_term(found) if isinstance(found, Value) else node_term(found)
    return node_term(subject), URIRef(predicate), target
