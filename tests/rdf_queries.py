"""Random SPARQL queries about a given graph, the same for the same seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rdflib import XSD, BNode, Literal, URIRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdflib import Graph

NUMBERS = {XSD.integer, XSD.double, XSD.decimal}
FORMS = (
    "pattern",
    "pattern",
    "optional",
    "optional",
    "filter",
    "filter",
    "union",
    "path",
    "path",
    "aggregate",
    "minus",
    "exists",
    "values",
    "bind",
    "subquery",
    "ask",
    "construct",
    "predicate",
)


class Queries:
    """A source of queries that often have answers, for they begin with real triples.

    Args:
        graph: The graph that they are about.
        seed: What makes them the same again.
    """

    def __init__(self, graph: Graph, seed: int) -> None:
        self.random = random.Random(seed)
        self.triples = sorted(
            (t for t in graph if not any(isinstance(x, BNode) for x in t)),
            key=lambda t: [x.n3() for x in t],
        )
        self.links = [t for t in self.triples if isinstance(t[2], URIRef)]
        self.numbers = [
            t
            for t in self.triples
            if isinstance(t[2], Literal) and t[2].datatype in NUMBERS
        ]

    def query(self) -> str:
        """Return one query."""
        return str(getattr(self, self.random.choice(FORMS))())

    def walk(self, length: int, start: object = None) -> list[tuple]:
        """Return triples of which each shares a subject or object with one before."""
        chosen = [self.random.choice(self.triples)]
        if start is not None:
            near = [t for t in self.triples if start in {t[0], t[2]}]
            chosen = [self.random.choice(near or self.triples)]
        while len(chosen) < length:
            known = {t[0] for t in chosen}
            known |= {t[2] for t in chosen if isinstance(t[2], URIRef)}
            near = [t for t in self.triples if t[0] in known or t[2] in known]
            chosen.append(self.random.choice(near))
        return chosen

    def text(self, triples: Sequence[tuple], names: dict, *, keep: float = 0.15) -> str:
        """Write triples as patterns in which most terms are variables."""
        lines = []
        for subject, predicate, found in triples:
            terms = [
                self.term(subject, names, keep),
                predicate.n3(),
                self.term(found, names, keep + 0.2),
            ]
            lines.append(" ".join(terms) + " .")
        return " ".join(lines)

    def term(self, term: object, names: dict, keep: float) -> str:
        """Return a variable for a term, always the same, or the term itself."""
        if term not in names and self.random.random() < keep:
            return term.n3()
        return names.setdefault(term, f"?v{len(names)}")

    def pattern(self) -> str:
        """Return a basic graph pattern."""
        names: dict = {}
        body = self.text(self.walk(self.random.randint(1, 4)), names)
        head = self.random.choice(["*", "DISTINCT *", "*"])
        return f"SELECT {head} {{ {body} }}"

    def optional(self) -> str:
        """Return a pattern with one or two optional ones, one of them conditional."""
        names: dict = {}
        first = self.walk(self.random.randint(1, 2))
        body = self.text(first, names, keep=0.05)
        for _ in range(self.random.randint(1, 2)):
            start = self.random.choice(first)[0]
            extra = self.walk(self.random.randint(1, 2), start)
            condition = ""
            inner = self.text(extra, names, keep=0.05)
            if self.random.random() < 0.3:
                condition = f"FILTER({self.condition(names)})"
            body += f" OPTIONAL {{ {inner} {condition} }}"
        return f"SELECT * {{ {body} }}"

    def condition(self, names: dict) -> str:
        """Return a condition on some of the variables."""
        variable = self.random.choice(list(names.values()) or ["?none"])
        number = self.random.choice(self.numbers)[2].value
        literal = self.random.choice([
            t[2] for t in self.triples if isinstance(t[2], Literal)
        ])
        other = self.random.choice(list(names.values()) or ["?none"])
        return self.random.choice([
            f"{variable} > {number}" if abs(number) < 1e9 else "true",
            f"{variable} <= {abs(number)}" if abs(number) < 1e9 else "true",
            f"{variable} = {literal.n3()}",
            f"{variable} != {other}",
            f"isIRI({variable})",
            f"isLiteral({variable}) && STRLEN(STR({variable})) > 3",
            f"CONTAINS(STR({variable}), 'o')",
            f"REGEX(STR({variable}), '^[a-f]', 'i')",
            f"BOUND({variable})",
            f"{variable} IN ({literal.n3()}, 5, 'Fox')",
            f"DATATYPE({variable}) = <{XSD.integer}>",
            f"{variable} >= 1 && {variable} < 1000 || {other} = 'night'",
        ])

    def filter(self) -> str:
        """Return a pattern with conditions; often about a number."""
        names: dict = {}
        start = self.random.choice(self.numbers)
        body = self.text([start, *self.walk(1, start[0])], names, keep=0.02)
        conditions = " ".join(
            f"FILTER({self.condition(names)})" for _ in range(self.random.randint(1, 2))
        )
        return f"SELECT * {{ {body} {conditions} }}"

    def union(self) -> str:
        """Return a union of two patterns, joined with a third."""
        names: dict = {}
        first = self.walk(1)
        body = self.text(first, names, keep=0.05)
        arms = [
            self.text(self.walk(self.random.randint(1, 2), first[0][0]), names)
            for _ in range(2)
        ]
        order = [body, f"{{ {arms[0]} }} UNION {{ {arms[1]} }}"]
        self.random.shuffle(order)
        return f"SELECT * {{ {' '.join(order)} }}"

    def path(self) -> str:
        """Return a pattern with a property path."""
        names: dict = {}
        first, second = self.walk(2)
        one, two = first[1].n3(), second[1].n3()
        path = self.random.choice([
            f"{one}+",
            f"{one}*",
            f"{one}?",
            f"{one}/{two}",
            f"^{one}",
            f"^{one}/{two}",
            f"{one}|{two}",
            f"({one}|^{two})+",
            f"{one}/{two}?",
            f"!({one}|{two})",
            f"({one}/{two})+",
        ])
        subject = self.term(first[0], names, 0.4)
        found = self.term(first[2], names, 0.2)
        body = f"{subject} {path} {found} ."
        if subject.startswith("?") and self.random.random() < 0.6:
            body += " " + self.text(self.walk(1, first[0]), names, keep=0.3)
        return f"SELECT * {{ {body} }}"

    def aggregate(self) -> str:
        """Return counts and sums of groups."""
        names: dict = {}
        start = self.random.choice(self.numbers)
        body = self.text([start, *self.walk(1, start[0])], names, keep=0.02)
        held = sorted(set(names.values())) or ["?none"]
        key, value = self.random.choice(held), self.random.choice(held)
        head = self.random.choice([
            f"(COUNT(*) AS ?n) (COUNT(DISTINCT {value}) AS ?m)",
            f"(SUM({value}) AS ?n)",
            f"(MIN({value}) AS ?n) (MAX({value}) AS ?m)",
            f"(AVG({value}) AS ?n)",
        ])
        if self.random.random() < 0.3:
            return f"SELECT {head} {{ {body} }}"
        tail = self.random.choice(["", "HAVING (COUNT(*) > 1)"])
        return f"SELECT {key} {head} {{ {body} }} GROUP BY {key} {tail}"

    def minus(self) -> str:
        """Return a pattern less another one."""
        names: dict = {}
        first = self.walk(self.random.randint(1, 2))
        body = self.text(first, names, keep=0.05)
        without = self.text(self.walk(1, first[0][0]), names, keep=0.1)
        return f"SELECT * {{ {body} MINUS {{ {without} }} }}"

    def exists(self) -> str:
        """Return a pattern for which another one is there, or is not."""
        names: dict = {}
        first = self.walk(self.random.randint(1, 2))
        body = self.text(first, names, keep=0.05)
        other = self.text(self.walk(1, first[0][0]), names, keep=0.1)
        word = self.random.choice(["EXISTS", "NOT EXISTS"])
        return f"SELECT * {{ {body} FILTER({word} {{ {other} }}) }}"

    def values(self) -> str:
        """Return a pattern with given values."""
        names: dict = {}
        first = self.walk(self.random.randint(1, 2))
        body = self.text(first, names, keep=0.02)
        term, variable = self.random.choice(
            list(names.items()) or [(first[0][0], "?none")]
        )
        other = self.random.choice(self.triples)[self.random.choice([0, 2])]
        given = f"VALUES {variable} {{ {term.n3()} {other.n3()} }}"
        order = [body, given]
        self.random.shuffle(order)
        return f"SELECT * {{ {' '.join(order)} }}"

    def bind(self) -> str:
        """Return a pattern with a computed value that a second one uses."""
        names: dict = {}
        first = self.walk(1)
        body = self.text(first, names, keep=0.02)
        variable = self.random.choice(list(names.values()) or ["?none"])
        expression = self.random.choice([
            variable,
            f"STR({variable})",
            f"{variable} + 1",
            f"UCASE({variable})",
        ])
        more = self.text(self.walk(1), {}, keep=0.3).replace("?v", "?w")
        more = more.replace("?w0", "?bound") if self.random.random() < 0.5 else ""
        return f"SELECT * {{ {body} BIND({expression} AS ?bound) {more} }}"

    def subquery(self) -> str:
        """Return a pattern joined with a query inside."""
        names: dict = {}
        first = self.walk(self.random.randint(1, 2))
        body = self.text(first, names, keep=0.02)
        variable = self.random.choice(list(names.values()) or ["?none"])
        inner = self.text(self.walk(1, first[0][0]), names, keep=0.05)
        return (
            f"SELECT * {{ {body} {{ SELECT {variable} (COUNT(*) AS ?n) "
            f"{{ {inner} {self.text(first, names)} }} GROUP BY {variable} }} }}"
        )

    def ask(self) -> str:
        """Return a question with yes or no."""
        return f"ASK {{ {self.text(self.walk(self.random.randint(1, 3)), {})} }}"

    def construct(self) -> str:
        """Return a query for triples."""
        names: dict = {}
        body = self.text(self.walk(self.random.randint(1, 2)), names, keep=0.05)
        variable = self.random.choice(list(names.values()) or ["<urn:x>"])
        return f"CONSTRUCT {{ <urn:s> <urn:p> {variable} }} WHERE {{ {body} }}"

    def predicate(self) -> str:
        """Return a pattern whose predicate is to be found, too."""
        names: dict = {}
        subject, _, found = self.random.choice(self.triples)
        one = self.term(subject, names, 0.6)
        two = self.term(found, names, 0.2)
        more = self.text(self.walk(1, subject), names) if one.startswith("?") else ""
        if self.random.random() < 0.5:
            return f"SELECT * {{ {one} ?p {two} . {more} }}"
        other = self.term(self.random.choice(self.triples)[0], names, 0.5)
        tail = f"{other} ?p ?other"
        tail = self.random.choice([f"OPTIONAL {{ {tail} }}", f"MINUS {{ {tail} }}"])
        return f"SELECT * {{ {one} ?p {two} . {more} {tail} }}"
