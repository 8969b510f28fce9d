"""The people and films that the examples of py2neo's handbook are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowtrail.graph.py2neo import Graph

__all__ = ["PEOPLE", "fill_films"]

PEOPLE = [
    ("Keanu Reeves", 1964),
    ("Carrie-Anne Moss", 1967),
    ("Laurence Fishburne", 1961),
    ("Hugo Weaving", 1960),
    ("Andy Wachowski", 1967),
    ("Lana Wachowski", 1965),
    ("Kevin Bacon", 1958),
    ("Kevin Pollak", 1957),
    ("Steve Zahn", 1967),
    ("Kelly Preston", 1962),
    ("Tom Cruise", 1962),
    ("Kiefer Sutherland", 1966),
    ("Rosie O'Donnell", 1962),
    ("Halle Berry", 1966),
    ("Emile Hirsch", 1985),
    ("J.T. Walsh", 1943),
    ("Helen Hunt", 1963),
    ("Howard Deutch", 1950),
]
"""Names with years of birth, in the order in which they are stored."""

_FILL = """\
UNWIND $people AS person
CREATE (p:Person {name: person[0], born: person[1]})
WITH collect(p) AS people
CREATE (m:Movie {title: 'The Matrix', released: 1999})
FOREACH (p IN people[0..4] | CREATE (p)-[:ACTED_IN {since: 1999}]->(m))
FOREACH (p IN people[4..6] | CREATE (p)-[:DIRECTED]->(m))
WITH people
WITH people[0] AS keanu, people[1] AS carrie
CREATE (keanu)-[:KNOWS {since: 1999, weight: 40}]->(carrie)
CREATE (carrie)-[:KNOWS {since: 2001, weight: 20}]->(keanu)
"""


def fill_films(graph: Graph) -> None:
    """Store a few of the people and one of the films of the handbook."""
    graph.run(_FILL, people=PEOPLE)
