"""Procedures of the server, called like functions of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.py2neo.cypher_writing import cypher_escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graph.py2neo.cursors import Cursor
    from graph.py2neo.graph import Graph

__all__ = ["Procedure", "ProcedureLibrary"]


class Procedure:
    """A procedure, or the beginning of the name of some.

    `graph.call.dbms.components` is one, and calling it runs it.

    Args:
        graph: Where it is called.
        name: Its name so far.
    """

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self._name = name

    def __getattr__(self, name: str) -> Procedure:
        """Return the procedure with one more part in its name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Procedure(self._graph, f"{self._name}.{name}")

    def __getitem__(self, name: str) -> Procedure:
        """Return the procedure with one more part in its name."""
        return Procedure(self._graph, f"{self._name}.{name}")

    def __dir__(self) -> list[str]:
        """Return the next parts of the names that begin like this."""
        start = f"{self._name}."
        names = [n for n in ProcedureLibrary(self._graph) if n.startswith(start)]
        return sorted({n.removeprefix(start).split(".")[0] for n in names})

    def __call__(self, *args: Any, keys: Iterable[str] | None = None) -> Cursor:
        """Run the procedure.

        Args:
            *args: Its arguments.
            keys: The columns to keep; all of them without any.

        Raises:
            ClientError: If there is no such procedure, or it fails.
        """
        name = ".".join(map(cypher_escape, self._name.split(".")))
        places = ", ".join(f"$p{place}" for place in range(len(args)))
        text = f"CALL {name}({places})"
        if keys is not None:
            columns = ", ".join(map(cypher_escape, keys))
            text += f" YIELD {columns} RETURN {columns}"
        values = {f"p{place}": value for place, value in enumerate(args)}
        return self._graph.run(text, values)

    def __repr__(self) -> str:
        """Return the class with the name."""
        return f"<Procedure {self._name}>"


class ProcedureLibrary:
    """The procedures of a server: `call.db.labels()`, `call["db.labels"]()`.

    Args:
        graph: Where they are called.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Procedure:
        """Return a procedure, or the beginning of a name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Procedure(self._graph, name)

    def __getitem__(self, name: str) -> Procedure:
        """Return a procedure by its name."""
        return Procedure(self._graph, name)

    def __call__(self, procedure: str, *args: Any) -> Cursor:
        """Run a procedure by its name."""
        return Procedure(self._graph, procedure)(*args)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all procedures."""
        cursor = self._graph.query("SHOW PROCEDURES YIELD name RETURN name")
        return iter([record[0] for record in cursor])

    def __dir__(self) -> list[str]:
        """Return the names of all procedures."""
        return list(self)
