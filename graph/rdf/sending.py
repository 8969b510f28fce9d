"""Several statements sent as one: one trip to the database for all that is asked.

Statements become arms of one UNION ALL, told apart by a number. The first one of a
query also brings the prefixes of the database, so that nobody has to ask for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graph.rdf.terms import Runner, Solution
    from graph.rdf.translation import Translation

__all__ = ["Message", "confirmed", "prefixes_text", "send"]

Message = tuple["Translation", list[int], list[dict[str, Any]]]
"""A statement, the numbers of the rows it is about, and what it is told of each."""

_MOST_ARMS = 6


def send(
    run: Runner, messages: Sequence[Message], rows: Sequence[Solution]
) -> Iterator[tuple[int, int, Solution]]:
    """Yield what statements find, in their order.

    Args:
        run: Runs a statement.
        messages: The statements, numbered from 0.
        rows: The rows that they are about.

    Yields:
        Number of the statement, number of the row, and what is added to it.
    """
    for place in range(0, len(messages), _MOST_ARMS):
        some = messages[place : place + _MOST_ARMS]
        confirm = getattr(run, "confirm", None)
        if len(some) == 1 and confirm is None:
            for record in run(some[0][0].text(), _params(some)):
                yield from _decoded(place, some[0], record, rows)
            continue
        found = run(_text(some, checked=confirm is not None), _params(some))
        for number, *record in confirmed(found, confirm):
            yield from _decoded(number, messages[number], record, rows)


def confirmed(
    records: Iterable[Sequence[Any]], confirm: Callable[[Any], None] | None
) -> Iterator[Sequence[Any]]:
    """Yield the records, none before the prefixes have been confirmed.

    Args:
        records: What was found, with that of `prefixes_text` among it.
        confirm: What has to be told the prefixes, None if they are known.
    """
    waiting: list[Sequence[Any]] = []
    for record in records:
        if confirm is None:
            yield record
        elif record[0] >= 0:
            waiting.append(record)
        else:
            confirm(record[1])
            confirm = None
            yield from waiting


def _text(messages: Sequence[Message], *, checked: bool) -> str:
    """Return the statement that has some as its arms."""
    width = max(1, *(query.width for query, _, _ in messages))
    arms = [query.text(width=width, numbered=True) for query, _, _ in messages]
    if checked:
        arms.insert(0, prefixes_text(width))
    return "\nUNION ALL\n".join(arms)


def prefixes_text(width: int) -> str:
    """Return the arm that brings the prefixes of the database.

    Args:
        width: Columns that the arms have.
    """
    rest = "".join(f", null AS c{i}" for i in range(1, width))
    return (
        "RETURN -1 AS i, COLLECT { MATCH (x:`_NsPrefDef`) RETURN properties(x) } "
        f"AS c0{rest}"
    )


def _params(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the parameters of some statements."""
    params: dict[str, Any] = {}
    for query, _, sent in messages:
        params |= query.params
        if query.takes_rows:
            params[query.rows] = sent
    return params


def _decoded(
    number: int, message: Message, record: Sequence[Any], rows: Sequence[Solution]
) -> Iterator[tuple[int, int, Solution]]:
    """Yield what a row of the answer means for each row that it is about."""
    query, numbers, _ = message
    about = [numbers[record[0]]] if query.takes_rows else numbers
    for row in about:
        for solution in query.decode(record, rows[row]):
            yield number, row, solution
