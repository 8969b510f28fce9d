"""SPARQL over the graph as it is: an rdflib store that reads Neo4j and writes nothing.

Every query asks the database anew, with a time limit for all it does. `Graph.query`
works as on any rdflib graph; what would write, load other data or ask another server is
refused.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from rdflib import Graph
from rdflib.paths import Path
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.term import Literal, URIRef

from knowtrail.graph.errors import RdfError
from knowtrail.graph.rdf.evaluation import (
    READ_ONLY,
    LiveResult,
    begin,
    parsed,
    register,
)
from knowtrail.graph.rdf.run import Prepared, Run, triple_terms
from knowtrail.graph.rdf.triples import graph_triples
from knowtrail.graph.rdf.values import xsd_written
from knowtrail.graph.rdf.vocabulary import DEFAULT_BASE, PREFIXES, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Mapping as Dictionary

    from rdflib.query import Result

    from knowtrail.graph.db.connection import Connection


class _End(Literal):
    """A literal that rdflib's paths do not take for anything, as they do 0 and ""."""

    def __bool__(self) -> bool:
        return True


class _PathGraph(Graph):
    """A graph whose paths may end at every literal."""

    def triples(self, triple: Any) -> Any:
        """Yield the triples that match, as `rdflib.Graph.triples`."""
        s, path, o = triple
        if not isinstance(path, Path) or ((s or s is None) and (o or o is None)):
            return super().triples(triple)
        own = {term: term for term in (s, o) if isinstance(term, Literal)}
        ends = {term: _End(term) for term in own}
        found = super().triples((ends.get(s, s), path, ends.get(o, o)))
        return (tuple(own.get(term, term) for term in one) for one in found)


class _Answering:
    """A store whose queries mean the same, whichever it is."""

    def query(
        self,
        query: Any,
        initNs: Dictionary[str, Any] | None = None,  # noqa: N803 - rdflib's name
        initBindings: Dictionary[str, Any] | None = None,  # noqa: N803
        queryGraph: Any = None,  # noqa: N803
        **options: Any,
    ) -> Result:
        """Answer a SPARQL query; the rows of a SELECT are found as they are read.

        `initBindings` are only ever terms; `options` has `base` for relative IRIs.

        Raises:
            RdfError: If the query cannot be understood, or would write, load data or
                ask another server.
            QueryTimeoutError: If it takes longer than it may, over the live store.
        """
        store: Any = self
        opened, base = store.reader(queryGraph), options.get("base")
        found = parsed(query, {**dict(store.namespaces()), **(initNs or {})}, base)
        held = {name: xsd_written(term) for name, term in (initBindings or {}).items()}
        return LiveResult(
            lambda: begin(opened(), found, held, base),
            found.prologue.namespace_manager.namespaces,
        )


class LiveStore(_Answering, SimpleMemory):
    """An rdflib store over a Neo4j database; safe to share between threads.

    One query, or one iteration over triples, may take so long; see `live_graph`.
    """

    def __init__(
        self, connection: Connection, *, base: str = DEFAULT_BASE, seconds: float = 30.0
    ) -> None:
        super().__init__()
        self.connection = connection
        self.vocabulary = Vocabulary(base)
        self.seconds = seconds
        self._kept: list[Prepared] = []
        self._run: Run | None = None
        for prefix, namespace in (PREFIXES | self.vocabulary.prefixes).items():
            self.bind(prefix, URIRef(namespace))

    def reader(self, _: Any) -> Callable[[], Graph]:
        """Return what begins to read; a query under way is rdflib's to evaluate."""
        if self._run is not None:
            raise NotImplementedError

        def opened() -> Graph:
            snapshot = copy(self)
            snapshot._run = self.run()
            return _PathGraph(store=snapshot, bind_namespaces="none")

        return opened

    def update(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse with `RdfError`."""
        raise RdfError(READ_ONLY)

    add = addN = remove = update  # noqa: N815 - rdflib's name
    create = destroy = add_graph = remove_graph = update

    def run(self) -> Run:
        """Begin to read, with a time limit of its own; a query has begun already."""
        given = self.connection, self.vocabulary, self.seconds
        return self._run or Run(*given, self._kept)

    def triples(
        self, triple_pattern: Any, context: Any = None
    ) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Yield the triples that match a pattern, in which None matches anything."""
        for triple in self.run().triples(*triple_pattern):
            yield triple, iter((context,))

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Yield the prefixes with their namespaces, those that there are now."""
        yield from list(super().namespaces())


class _CopyStore(_Answering, Memory):
    """rdflib's store in memory; a query over it has no limit of time."""

    def reader(self, graph: Any) -> Callable[[], Graph]:
        """Return what begins to read."""
        return partial(_PathGraph, self, graph, bind_namespaces="none")


def live_graph(
    connection: Connection, *, base: str = DEFAULT_BASE, seconds: float = 30.0
) -> Graph:
    """Return the graph in Neo4j as an rdflib graph that always shows what is stored.

    IRIs of nodes, properties and relationships begin with `base`; one query may take
    so many seconds.
    """
    register()
    store = LiveStore(connection, base=base, seconds=seconds)
    return _PathGraph(store=store, bind_namespaces="none")


def memory_graph(
    connection: Connection,
    *,
    base: str = DEFAULT_BASE,
    corpus: str | None = None,
    embeddings: bool = True,
) -> Graph:
    """Return a copy of the graph in memory, as it is now, see `live_graph`.

    It is of all corpora, unless one is named, and with vectors unless told otherwise.
    """
    register()
    run = Run(connection, Vocabulary(base))
    graph = _PathGraph(store=_CopyStore(), bind_namespaces="none")
    for prefix, namespace in (PREFIXES | run.mapping.vocabulary.prefixes).items():
        graph.bind(prefix, namespace)
    for triple in graph_triples(run, run.mapping, corpus=corpus, embeddings=embeddings):
        graph.add(triple_terms(triple))
    return graph
