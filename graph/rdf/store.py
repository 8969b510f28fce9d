"""SPARQL over the graph as it is: an rdflib store that reads Neo4j and writes nothing.

Every query asks the database anew, with a time limit for all it does. `Graph.query`
works as on any rdflib graph; what would write, load other data or ask another server is
refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

from rdflib import Graph
from rdflib.store import Store
from rdflib.term import BNode, Literal, URIRef, Variable

from graph.driver import translate_errors
from graph.errors import QueryTimeoutError, RdfError
from graph.rdf.evaluation import register
from graph.rdf.lookup import predicates_of, triples_of
from graph.rdf.mapping import Mapping
from graph.rdf.plan import Plan
from graph.rdf.reading import graph_triples
from graph.rdf.terms import literal_term, node_term
from graph.rdf.vocabulary import DEFAULT_BASE, PREFIXES, Value, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.query import Result

    from graph.connection import Connection
    from graph.rdf.reading import Triple

__all__ = ["LiveStore", "live_graph", "memory_graph"]

_FETCH = 500
_READ_ONLY = "The graph is read-only here: change it with Cypher, ingest or rdf import."
_TIMED_OUT = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)


class LiveStore(Store):
    """An rdflib store over a Neo4j database; safe to share between threads.

    Args:
        connection: The database.
        base: What the IRIs of nodes, properties and relationships begin with.
        seconds: Time that one query, or one iteration over triples, may take.
    """

    context_aware = False
    formula_aware = False
    transaction_aware = False

    def __init__(
        self,
        connection: Connection,
        *,
        base: str = DEFAULT_BASE,
        seconds: float = 30.0,
    ) -> None:
        super().__init__()
        self.connection = connection
        self.vocabulary = Vocabulary(base)
        self.seconds = seconds
        self._namespaces: dict[str, URIRef] = {}
        for prefix, namespace in (PREFIXES | self.vocabulary.prefixes).items():
            self._namespaces[prefix] = URIRef(namespace)

    def query(
        self,
        query: Any,
        initNs: Dictionary[str, Any] | None = None,  # noqa: N803 - rdflib's name
        initBindings: Dictionary[str, Any] | None = None,  # noqa: N803
        queryGraph: Any = None,  # noqa: N803
        **options: Any,
    ) -> Result:
        """Answer a SPARQL query; the rows of a SELECT are found as they are read.

        Args:
            query: Its text, or what rdflib's `prepareQuery` made of it.
            initNs: Prefixes.
            initBindings: Values of variables; each is only ever a term.
            queryGraph: Not used: there is one graph.
            options: `base` for relative IRIs.

        Raises:
            RdfError: If the query cannot be understood, or would write, load data or
                ask another server.
            QueryTimeoutError: If it takes longer than it may.
        """
        from graph.rdf.evaluation import answer

        run = Run(self.connection, self.vocabulary, self.seconds)
        snapshot = _RunStore(run, self._namespaces)
        return answer(
            Graph(store=snapshot, bind_namespaces="none"),
            query,
            namespaces={**self._namespaces, **(initNs or {})},
            bindings=initBindings or {},
            base=options.get("base"),
        )

    def update(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse SPARQL Update.

        Raises:
            RdfError: Always.
        """
        raise RdfError(_READ_ONLY)

    add = addN = remove = update  # noqa: N815 - rdflib's name
    create = destroy = add_graph = remove_graph = update

    def run(self) -> Run:
        """Begin to read, with a time limit of its own."""
        return Run(self.connection, self.vocabulary, self.seconds)

    def triples(
        self, triple_pattern: Any, context: Any = None
    ) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Yield the triples that match a pattern, in which None matches anything."""
        for triple in self.run().triples(*triple_pattern):
            yield triple, iter((context,))

    def __len__(self, context: Any = None) -> int:
        """Count the triples, by reading them all."""
        return sum(1 for _ in self.run().all_triples())

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        """Remember a prefix for queries and files."""
        if override or prefix not in self._namespaces:
            self._namespaces[prefix] = URIRef(namespace)

    def namespace(self, prefix: str) -> URIRef | None:
        """Return the namespace of a prefix."""
        return self._namespaces.get(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        """Return a prefix of a namespace."""
        names = (p for p, n in self._namespaces.items() if n == namespace)
        return next(names, None)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Yield the prefixes with their namespaces."""
        yield from list(self._namespaces.items())


class Run:
    """One reading of the database: its prefixes, and when it must be over.

    Args:
        connection: The database.
        vocabulary: The IRIs of ours.
        seconds: Time that it may take.
    """

    def __init__(
        self, connection: Connection, vocabulary: Vocabulary, seconds: float
    ) -> None:
        self.connection = connection
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.plans: dict[Any, Plan] = {}
        self._vocabulary = vocabulary
        self._mapping: Mapping | None = None

    @property
    def mapping(self) -> Mapping:
        """Return the mapping with the prefixes that the database has now."""
        if self._mapping is None:
            rows = self.connection.read("rdf/prefixes")
            held = {key: value for row in rows for key, value in row["held"].items()}
            foreign = {k: v for k, v in held.items() if isinstance(v, str)}
            self._mapping = Mapping(self._vocabulary, foreign)
        return self._mapping

    def check(self) -> None:
        """Stop where time is up.

        Raises:
            QueryTimeoutError: If it is.
        """
        if time.monotonic() > self.deadline:
            msg = (
                f"The query took longer than {self.seconds:g} s and was stopped: ask "
                "for less, or raise the limit (seconds=, --time-limit)."
            )
            raise QueryTimeoutError(msg)

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
            with (
                translate_errors(),
                self.connection.driver.session(
                    database=self.connection.database,
                    default_access_mode="READ",
                    fetch_size=_FETCH,
                    bookmark_manager=self.connection.driver.execute_query_bookmark_manager,
                ) as session,
            ):
                for record in session.run(timed, params):
                    self.check()
                    yield record.values()
        except Exception as error:
            # The server's own limit and ours mean the same to who asked.
            if getattr(error.__cause__, "code", None) in _TIMED_OUT:
                self.deadline = 0.0
                self.check()
            raise

    def all_triples(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield every triple of the graph."""
        for triple in graph_triples(self, self.mapping):
            self.check()
            yield _terms(triple)

    def triples(
        self, subject: Any, predicate: Any, found: Any
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the triples that match a pattern, in which None matches anything."""
        self.check()
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
        plan = Plan(self.mapping, [pattern])
        for _, bound in plan.solve(self, _nothing, [row]):
            yield (
                bound.get(pattern[0], pattern[0]),
                predicate,
                bound.get(pattern[2], pattern[2]),
            )

    def _any_predicate(
        self, subject: Any, found: Any
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the triples with any predicate."""
        if subject is not None:
            for triple in map(_terms, triples_of(self, self.mapping, subject)):
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


def _terms(triple: Triple) -> tuple[Any, Any, Any]:
    """Return a triple as terms of rdflib."""
    subject, predicate, found = triple
    target = literal_term(found) if isinstance(found, Value) else node_term(found)
    return node_term(subject), URIRef(predicate), target


class _RunStore(LiveStore):
    """The store of one query: all that it asks shares one time limit."""

    def __init__(self, run: Run, namespaces: dict[str, URIRef]) -> None:
        super().__init__(run.connection, base=run._vocabulary.base, seconds=run.seconds)
        self._run = run
        self._namespaces = dict(namespaces)

    def run(self) -> Run:
        """Return the reading that has begun."""
        return self._run

    def query(self, *_: Any, **__: Any) -> NoReturn:
        """Leave the evaluation to rdflib.

        Raises:
            NotImplementedError: Always; rdflib then evaluates the query itself.
        """
        raise NotImplementedError


def live_graph(
    connection: Connection, *, base: str = DEFAULT_BASE, seconds: float = 30.0
) -> Graph:
    """Return the graph in Neo4j as an rdflib graph that always shows what is stored.

    Args:
        connection: The database.
        base: What the IRIs of nodes, properties and relationships begin with.
        seconds: Time that one query may take.
    """
    register()
    store = LiveStore(connection, base=base, seconds=seconds)
    return Graph(store=store, bind_namespaces="none")


def memory_graph(
    connection: Connection,
    *,
    base: str = DEFAULT_BASE,
    corpus: str | None = None,
    embeddings: bool = True,
) -> Graph:
    """Return a copy of the graph in memory, as it is now.

    Args:
        connection: The database.
        base: What the IRIs of nodes, properties and relationships begin with.
        corpus: Copy only what belongs to this corpus; None for everything.
        embeddings: Whether vectors are copied too.
    """
    run = Run(connection, Vocabulary(base), 1e9)
    graph = Graph(bind_namespaces="none")
    names = PREFIXES | run.mapping.vocabulary.prefixes
    for prefix, namespace in names.items():
        graph.bind(prefix, namespace)
    for triple in graph_triples(run, run.mapping, corpus=corpus, embeddings=embeddings):
        graph.add(_terms(triple))
    return graph
