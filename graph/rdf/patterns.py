"""What a triple pattern can mean in the graph.

A predicate of ours means one thing; one of others may be a property or a relationship,
and `BASE/property/NAME` may be that of a node or of a relationship that is a statement.
Each meaning is a `Reading`; a basic graph pattern is answered for every choice of
readings in which each of its terms is of one kind.

A block is a part of a query that one statement can answer: patterns, UNION and OPTIONAL
of them. It means alternatives of one basic graph pattern each, with patterns that need
not match. Joins are spread over the alternatives of a UNION, which gives the same
solutions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rdflib.term import BNode, Literal, Node, URIRef, Variable

from knowtrail.graph.rdf.mapping import LABELS, TERMS, Mapping
from knowtrail.graph.rdf.vocabulary import RDF

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdflib.plugins.sparql.parserutils import CompValue

    Pattern = tuple[Node, Node, Node]

NODE = "node"
STATEMENT = "statement"
VALUE = "value"

TYPE = f"{RDF}type"
SUBJECT = f"{RDF}subject"
PREDICATE = f"{RDF}predicate"
OBJECT = f"{RDF}object"
STATEMENT_CLASS = f"{RDF}Statement"

_MOST = 8
"""Alternatives that a block has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One meaning of a pattern.

    Attributes:
        form: `type`, `class` (a type that is a node of the ontology), `property`,
            `relationship`, `subject`, `predicate`, `object`.
        subject: Kind of its subject: `node` or `statement`.
        object: Kind of its object: `node`, `value` (a literal, type or predicate).
        names: Names of the properties or relationship types, of labels for `type`.
        labels: For `property`: the labels whose nodes can have it, None for all.
    """

    form: str
    pattern: Pattern
    subject: str = NODE
    object: str = VALUE
    names: tuple[str, ...] = ()
    labels: frozenset[str] | None = None


def is_variable(term: Any) -> bool:
    """Return whether a term of a pattern is to be found."""
    return isinstance(term, Variable | BNode)


def readings(mapping: Mapping, pattern: Pattern) -> list[Reading]:
    """Return what a pattern with a given predicate can mean."""
    subject, predicate, found = pattern
    if isinstance(subject, Literal) or not isinstance(predicate, URIRef):
        return []
    name = str(predicate)
    parts = {SUBJECT: "subject", PREDICATE: "predicate", OBJECT: "object"}
    result: list[Reading] = []
    if name == TYPE:
        result = _type_readings(mapping, pattern)
    elif name in parts:
        form = parts[name]
        kind = VALUE if form == "predicate" else NODE
        result = [Reading(form=form, pattern=pattern, subject=STATEMENT, object=kind)]
    result += _property_readings(mapping, pattern)
    if name != TYPE:
        types = tuple(
            n for n in mapping.names(name, "rel") if mapping.relationship(n) == name
        )
        if types:
            result.append(
                Reading(form="relationship", pattern=pattern, object=NODE, names=types)
            )
    return [reading for reading in result if _object_fits(reading, found)]


def _object_fits(reading: Reading, found: Node) -> bool:
    if is_variable(found):
        return True
    if reading.form in {"type", "class", "predicate"}:
        return isinstance(found, URIRef)
    return isinstance(found, Literal) == (reading.object == VALUE)


def _property_readings(mapping: Mapping, pattern: Pattern) -> list[Reading]:
    predicate = str(pattern[1])
    ruled = [rule for rule in TERMS if mapping.term(rule) == predicate]
    general = mapping.names(predicate, "property", "list")
    if not ruled and not general:
        return []
    labels = None if general else frozenset(rule.label for rule in ruled)
    names = dict.fromkeys([*(rule.name for rule in ruled), *general])
    of_node = Reading(
        form="property", pattern=pattern, names=tuple(names), labels=labels
    )
    names = dict.fromkeys(general)
    of_statement = replace(of_node, subject=STATEMENT, names=tuple(names), labels=None)
    return [of_node, of_statement] if general else [of_node]


def _type_readings(mapping: Mapping, pattern: Pattern) -> list[Reading]:
    found = pattern[2]
    of_node = Reading(form="type", pattern=pattern)
    of_statement = Reading(form="type", pattern=pattern, subject=STATEMENT)
    if is_variable(found):
        return [of_node, of_statement]
    kind = str(found)
    if kind == STATEMENT_CLASS and not mapping.short_names(kind):
        return [of_statement]
    names = [
        label
        for label, rule in LABELS.items()
        if label != "Resource"
        and (kind in rule.types or mapping.own_type(label) == kind)
    ]
    others = [n for n in mapping.names(kind, "class") if n not in {*names, "Resource"}]
    names += [n for n in others if (mapping.expand(n) or mapping.own_type(n)) == kind]
    result = [of_statement] if kind == STATEMENT_CLASS else []
    if names:
        result.append(Reading(form="type", pattern=pattern, names=tuple(names)))
    if kind not in mapping.table_types:
        result.append(Reading(form="class", pattern=pattern, object=NODE))
    return result


@dataclass(frozen=True, slots=True)
class Alternative:
    """One basic graph pattern with what need not match.

    Attributes:
        patterns: Triple patterns; a predicate may be a variable or a path.
        optional: Those of each OPTIONAL: of one variable that the others have, whose
            objects are variables that no other pattern has, or literals.
    """

    patterns: tuple[Pattern, ...]
    optional: tuple[tuple[Pattern, ...], ...] = ()

    @property
    def unbound(self) -> set[Variable]:
        """Return the variables that may stay unbound."""
        return _variables(found for one in self.optional for _, _, found in one)


Block = tuple[Alternative, ...]
"""The alternatives of a block."""


def block_of(part: CompValue) -> Block | None:
    """Return the alternatives that a part of a query means, None if it is no block."""
    found: Block | None = None
    if part.name == "BGP":
        triples = tuple((s, p, o) for s, p, o in part.triples)
        found = (Alternative(patterns=triples),) if triples else None
    elif part.name == "Join" and _is_nothing(part.p1):
        found = block_of(part.p2)
    elif part.name == "Join" and _is_nothing(part.p2):
        found = block_of(part.p1)
    elif part.name in {"Union", "Join", "LeftJoin"}:
        left, right = block_of(part.p1), block_of(part.p2)
        if left is None or right is None:
            return None
        if part.name == "Union":
            found = left + right
        elif part.name == "Join":
            found = _joined(left, right)
        elif getattr(part.expr, "name", "") == "TrueFilter":
            found = _extended(left, right)
    return None if found is None or len(found) > _MOST else found


def _is_nothing(part: CompValue) -> bool:
    return bool(part.name == "BGP" and not part.triples)


def _joined(left: Block, right: Block) -> Block | None:
    """Return the join of alternatives, None where one side may leave a term unbound."""
    if any(one.optional for one in right):
        return None
    made = []
    for one in left:
        for other in right:
            if one.unbound & _terms(other.patterns):
                return None
            made.append(Alternative(one.patterns + other.patterns, one.optional))
    return tuple(made)


def _extended(left: Block, right: Block) -> Block | None:
    """Return alternatives with one more OPTIONAL, None where it is not simple."""
    if len(right) != 1 or right[0].optional:
        return None
    patterns = right[0].patterns
    subjects = {subject for subject, _, _ in patterns}
    objects = [found for _, _, found in patterns if isinstance(found, Variable)]
    simple = (
        len(subjects) == 1
        and all(isinstance(one, Variable) for one in subjects)
        and all(isinstance(p, URIRef) for _, p, _ in patterns)
        and all(isinstance(o, Variable | Literal) for _, _, o in patterns)
        and len(objects) == len(set(objects))
        and not subjects & set(objects)
    )
    if not simple:
        return None
    for one in left:
        known = _terms(one.patterns)
        if not subjects <= known or (known | one.unbound) & set(objects):
            return None
    return tuple(Alternative(one.patterns, (*one.optional, patterns)) for one in left)


def _terms(patterns: Iterable[Pattern]) -> set[Variable]:
    """Return the variables of patterns, those of predicates included."""
    return _variables(term for pattern in patterns for term in pattern)


def _variables(terms: Iterable[Any]) -> set[Variable]:
    return {term for term in terms if isinstance(term, Variable)}
