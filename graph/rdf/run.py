"""One reading of the database: within a time limit, with the prefixes that it has."""

from __future__ import annotations

import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rdflib.paths import InvPath, MulPath
from rdflib.term import BNode, Literal, URIRef, Variable

from knowtrail.graph.db.driver import translate_errors
from knowtrail.graph.errors import QueryTimeoutError, RdfError
from knowtrail.graph.rdf.mapping import Mapping
from knowtrail.graph.rdf.plan import Plan
from knowtrail.graph.rdf.triples import graph_triples, predicates_of, triples_of
from knowtrail.graph.rdf.values import literal_term, node_term, xsd_written
from knowtrail.graph.rdf.vocabulary import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from neo4j import Session

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.rdf.triples import Triple
    from knowtrail.graph.rdf.vocabulary import Vocabulary

    Terms = tuple[Any, Any, Any]
    Solver = Callable[[Any, Sequence[Any]], Iterable[tuple[int, Any]]]

_MOST_STEPS = 20_000
_ROWS = 500
_NEAR, _FAR = Variable("s"), Variable("o")
_FETCH = 500
_MOST_PLANS = 128
_TIMED_OUT = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)


class Steps:
    """The triples of path steps that one query has read.

    A path then finds them here, where it would ask the database for each. It asks for
    what is not here itself, so that the memory this takes is bounded.
    """

    def __init__(self, solve: Solver) -> None:
        self._solve = solve
        self._known: dict[Terms, list[Terms]] = {}
        self._size = 0

    def found(self, asked: Terms) -> list[Terms] | None:
        """Return the triples of a pattern, None where they were not read."""
        return self._known.get(asked)

    def prepare(self, path: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Read the steps of a path that repeats one predicate."""
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
                steps: list[list[Terms]] = [[] for _ in nodes]
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

    def _asked(self, node: Any, predicate: URIRef, backward: bool) -> Terms | None:
        """Return how a path asks for the steps from a node, None if it need not."""
        if isinstance(node, BNode) or (isinstance(node, Literal) and not backward):
            return None
        asked = (None, predicate, node) if backward else (node, predicate, None)
        return None if asked in self._known else asked


class PrefixesChangedError(RdfError):
    """The database has other prefixes than those a statement was made with."""


class Prepared:
    """The mapping with the prefixes that a database had, and plans made with it.

    Only what follows from the prefixes and a query's text is kept, nothing that was
    read. Safe to share between threads.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self._plans: dict[Any, Plan] = {}

    def plan(
        self, patterns: Sequence[Any], bound: frozenset[Any], bounds: Any, optional: Any
    ) -> Plan:
        """Return a plan, made once for the same arguments; see `Plan`."""
        widths = tuple((term, *map(tuple, held)) for term, held in bounds.items())
        key = (patterns, bound, widths, optional)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans = {}
            plan = Plan(
                self.mapping, patterns, bound=bound, bounds=bounds, optional=optional
            )
            self._plans[key] = plan
        return plan


class Run:
    """One reading of the database: its prefixes, and when it must be over.

    Attributes:
        steps: Steps of property paths that were read.
    """

    def __init__(
        self,
        connection: Connection,
        vocabulary: Vocabulary,
        seconds: float,
        prepared: Prepared | None = None,
        keep: Callable[[Prepared], None] = lambda _: None,
    ) -> None:
        self.connection = connection
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self._vocabulary = vocabulary
        self._prepared = prepared
        self._keep = keep
        self._confirmed = False
        self._sessions: set[Session] = set()
        # Rows that nobody reads to the end are closed before the collector finds
        # their session, which would say that it was left open.
        weakref.finalize(self, _close, self._sessions).atexit = False
        self.steps = Steps(self._solve)

    @property
    def mapping(self) -> Mapping:
        """Return the mapping with the prefixes that the database has now."""
        prepared = self._prepared if self._confirmed else None
        return (prepared or self._ask()).mapping

    def _ask(self) -> Prepared:
        """Ask for the prefixes."""
        return self._learn(r["held"] for r in self.connection.read("rdf/prefixes"))

    def _learn(self, held: Iterable[Dictionary[str, Any]]) -> Prepared:
        """Take the prefixes that the database has."""
        pairs = [(key, value) for row in held for key, value in row.items()]
        foreign = {key: value for key, value in pairs if isinstance(value, str)}
        prepared = self._prepared
        if prepared is None or prepared.mapping.foreign != foreign:
            prepared = Prepared(Mapping(self._vocabulary, foreign))
        self._confirmed = True
        self._prepared = prepared
        self._keep(prepared)
        return prepared

    @property
    def confirm(self) -> Callable[[Any], None] | None:
        """Return what has to be told the prefixes, None if they are known."""
        return None if self._confirmed else self._confirm

    def _confirm(self, held: Any) -> None:
        """Take the prefixes that came with the first answer."""
        before = self._prepared
        if self._learn(held) is not before:
            msg = "The prefixes of the database have changed: ask again."
            raise PrefixesChangedError(msg)

    def plan(
        self, patterns: Sequence[Any], bound: frozenset[Any], bounds: Any, optional: Any
    ) -> Plan:
        """Return a plan, made with the last known prefixes; see `Plan`."""
        prepared = self._prepared or self._ask()
        return prepared.plan(patterns, bound, bounds, optional)

    def check(self) -> None:
        """Stop where time is up.

        Raises:
            QueryTimeoutError: If it is.
        """
        if time.monotonic() > self.deadline:
            raise self.overdue()

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            QueryTimeoutError: If there are none.
        """
        self.check()
        return max(0.001, self.deadline - time.monotonic())

    def overdue(self) -> QueryTimeoutError:
        """Return what is raised where time is up."""
        return QueryTimeoutError(
            f"The query took longer than {self.seconds:g} s and was stopped: ask "
            "for less, or raise the limit (seconds=, --time-limit)."
        )

    def __call__(self, text: str, params: dict[str, Any]) -> Iterator[Sequence[Any]]:
        """Run a statement and yield the values of its rows.

        Raises:
            QueryTimeoutError: If time is up.
            DatabaseError: If the server refuses or fails.
        """
        import neo4j

        self.check()
        timed = neo4j.Query(text, timeout=max(0.05, self.deadline - time.monotonic()))
        try:
            with translate_errors(), self._session() as session:
                for record in session.run(timed, params):
                    self.check()
                    yield record.values()
        except Exception as error:
            # The server's own limit and ours mean the same to who asked.
            if getattr(error.__cause__, "code", None) in _TIMED_OUT:
                self.deadline = 0.0
                self.check()
            raise

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """Open a session, known to this reading until it is closed."""
        connection = self.connection
        with connection.driver.session(
            database=connection.database,
            default_access_mode="READ",
            fetch_size=_FETCH,
            bookmark_manager=connection.driver.execute_query_bookmark_manager,
        ) as session:
            self._sessions.add(session)
            try:
                yield session
            finally:
                self._sessions.discard(session)

    def all_triples(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield every triple of the graph."""
        for triple in graph_triples(self, self.mapping):
            self.check()
            yield triple_terms(triple)

    def triples(
        self, subject: Any, predicate: Any, found: Any
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the triples that match a pattern, in which None matches anything."""
        self.check()
        found = xsd_written(found)
        steps = self.steps.found((subject, predicate, found))
        if steps is not None:
            yield from steps
            return
        if isinstance(subject, Literal) or isinstance(predicate, Literal | BNode):
            return
        if predicate is None:
            yield from self._any_predicate(subject, found)
            return
        names = (Variable("s"), predicate, Variable("o"))
        pattern = (
            names[0] if subject is None else subject,
            predicate,
            names[2] if found is None else found,
        )
        row: dict[Any, Any] = {}
        pattern, row = _bnodes_bound(pattern, row)
        for _, bound in self._solve(pattern, [row]):
            yield (
                bound.get(pattern[0], pattern[0]),
                predicate,
                bound.get(pattern[2], pattern[2]),
            )

    def _solve(
        self, pattern: Any, rows: Sequence[Any]
    ) -> Iterator[tuple[int, dict[Any, Any]]]:
        """Yield the solutions of one pattern for rows, each with the row's number."""
        self.check()
        return Plan(self.mapping, [pattern]).numbered(self, _nothing, rows)

    def _any_predicate(
        self, subject: Any, found: Any
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the triples with any predicate."""
        if subject is not None:
            for triple in map(triple_terms, triples_of(self, self.mapping, subject)):
                if found in {None, triple[2]}:
                    yield triple
            return
        predicates = None
        if found is not None:
            predicates = predicates_of(self, self.mapping, found)
        if predicates is not None:
            for predicate in predicates:
                yield from self.triples(None, predicate, found)
            return
        for triple in self.all_triples():
            if found in {None, triple[2]}:
                yield triple


def _close(sessions: set[Session]) -> None:
    """Close the sessions of a reading that is over."""
    while sessions:
        sessions.pop().close()


def _nothing(_: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield no triples: a predicate that is given is never looked up one by one."""
    yield from ()


def _bnodes_bound(
    pattern: tuple[Any, Any, Any], row: dict[Any, Any]
) -> tuple[tuple[Any, Any, Any], dict[Any, Any]]:
    """Replace given blank nodes by bound variables: in a pattern they are variables."""
    subject, predicate, found = pattern
    if isinstance(subject, BNode):
        row[Variable("s")] = subject
        subject = Variable("s")
    if isinstance(found, BNode):
        row[Variable("o")] = found
        found = Variable("o")
    return (subject, predicate, found), row


def triple_terms(triple: Triple) -> tuple[Any, Any, Any]:
    """Return a triple as terms of rdflib."""
    subject, predicate, found = triple
    target = literal_term(found) if isinstance(found, Value) else node_term(found)
    return node_term(subject), URIRef(predicate), target
