"""SPARQL over the graph as it is: an rdflib store that reads Neo4j and writes nothing.

Every query asks the database anew, with a time limit for all it does. `Graph.query`
works as on any rdflib graph; what would write, load other data or ask another server is
refused.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn

from rdflib import Graph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import Store
from rdflib.term import URIRef

from knowtrail.graph.errors import RdfError
from knowtrail.graph.rdf.evaluation import READ_ONLY, answer, register
from knowtrail.graph.rdf.run import Prepared, Run, triple_terms
from knowtrail.graph.rdf.triples import graph_triples
from knowtrail.graph.rdf.vocabulary import DEFAULT_BASE, PREFIXES, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as Dictionary

    from rdflib.query import Result

    from knowtrail.graph.db.connection import Connection


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
        self._prepared: Prepared | None = None
        self._run: Run | None = None
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
        if self._run is not None:
            raise NotImplementedError  # It is rdflib that evaluates a query under way.

        def begun() -> Graph:
            snapshot = copy(self)
            snapshot._run = self.run()
            snapshot._namespaces = dict(self._namespaces)
            return Graph(store=snapshot, bind_namespaces="none")

        return answer(
            begun,
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
        raise RdfError(READ_ONLY)

    add = addN = remove = update  # noqa: N815 - rdflib's name
    create = destroy = add_graph = remove_graph = update

    def run(self) -> Run:
        """Begin to read, with a time limit of its own; a query has begun already."""
        return self._run or Run(
            self.connection, self.vocabulary, self.seconds, self._prepared, self._keep
        )

    def _keep(self, prepared: Prepared) -> None:
        """Keep what the next reading can be prepared with."""
        self._prepared = prepared

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


class _CopyStore(Memory):
    """rdflib's store in memory, whose queries mean what those of the live one do."""

    def query(
        self,
        query: Any,
        initNs: Dictionary[str, Any],  # noqa: N803 - rdflib's name
        initBindings: Dictionary[str, Any],  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **options: Any,
    ) -> Result:
        """Answer a query; as `LiveStore.query`, without a limit of time."""
        return answer(
            lambda: Graph(self, queryGraph, bind_namespaces="none"),
            query,
            namespaces=initNs,
            bindings=initBindings,
            base=options.get("base"),
        )


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
    register()
    run = Run(connection, Vocabulary(base), 1e9)
    graph = Graph(store=_CopyStore(), bind_namespaces="none")
    names = PREFIXES | run.mapping.vocabulary.prefixes
    for prefix, namespace in names.items():
        graph.bind(prefix, namespace)
    for triple in graph_triples(run, run.mapping, corpus=corpus, embeddings=embeddings):
        graph.add(triple_terms(triple))
    return graph
