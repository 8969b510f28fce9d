"""Answers to SPARQL whose rows are found as they are read, and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.plugins.sparql.processor import SPARQLResult
from rdflib.query import ResultRow

from graph.errors import KnowtrailError, RdfError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Mapping as Dictionary

__all__ = ["LiveResult", "one_line"]


class LiveResult(SPARQLResult):
    """An rdflib result that keeps no rows while they are read one after the other.

    To read the rows once more asks once more. `bindings`, `len()` and `bool()` need all
    rows and keep them, as rdflib's own results do (`list()` takes the length first);
    what is kept is read then.
    """

    def __init__(self, ask: Callable[[], Dictionary[str, Any]]) -> None:
        """Take a query.

        Args:
            ask: Begins to answer it, as rdflib's `evalQuery`.

        Raises:
            RdfError: If it cannot be answered.
        """
        self._ask = ask
        self._kept = False
        super().__init__(self._asked())

    def __iter__(self) -> Iterator[Any]:
        """Yield rows, or the triples or the truth value of other forms of queries.

        Raises:
            RdfError: If the query cannot be answered after all.
            QueryTimeoutError: If it takes longer than it may.
        """
        if self.type != "SELECT" or self._kept:
            yield from super().__iter__()
            return
        rows, self._genbindings = self._genbindings, None
        for held in rows or self._told(self._asked()["bindings"]):
            if held:
                yield ResultRow(held, self.vars or [])

    @property
    def bindings(self) -> Any:
        """Return all rows, as mappings."""
        if self.type == "SELECT" and not self._kept:
            rows, self._genbindings = self._genbindings, None
            self._bindings = list(rows or self._told(self._asked()["bindings"]))
            self._kept = True
        return self._bindings

    @bindings.setter
    def bindings(self, rows: Any) -> None:
        self._bindings = []
        self._genbindings = None if rows is None else self._told(rows)
        self._kept = False

    def _asked(self) -> Dictionary[str, Any]:
        """Begin to answer.

        Raises:
            RdfError: If that cannot be done.
        """
        try:
            return self._ask()
        except (KnowtrailError, RecursionError):
            raise
        except Exception as error:
            # rdflib raises plain exceptions for what a query may not say.
            raise _unanswered(error) from error

    @staticmethod
    def _told(rows: Any) -> Iterator[Any]:
        """Yield rows; what goes wrong is said in a line.

        Raises:
            RdfError: If rdflib cannot go on.
        """
        try:
            yield from rows
        except (KnowtrailError, RecursionError):
            raise
        except Exception as error:
            # As above: rdflib evaluates a query while its rows are read.
            raise _unanswered(error) from error


def one_line(error: BaseException) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split()).partition(", found")[0].rstrip(".")[:300]


def _unanswered(error: Exception) -> RdfError:
    """Return the error for a query that rdflib cannot answer."""
    return RdfError(f"The query cannot be answered: {one_line(error)}.")
