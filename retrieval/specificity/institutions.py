"""Institutions that queries find: of one corpus, how many, and which of one name."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, QueryTimeoutError
from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.retrieval.specificity.execution import (
    DEFAULT_BASE,
    SECONDS,
    execute,
    variables_found,
)
from knowtrail.retrieval.specificity.features import PLACES
from knowtrail.retrieval.specificity.gazetteer import place_name
from knowtrail.retrieval.specificity.query_templates import (
    Binding,
    Instantiated,
    Run,
    year_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rdflib import Graph

    from knowtrail.retrieval.specificity.execution import Execution
    from knowtrail.retrieval.specificity.mention import Mention

CORPUS = "in_corpus"
"""The variable that the name of the corpus is bound to."""

SUBJECT = "custodian"
"""The variable of what a query finds."""

_MARK = re.compile(
    r"<[^<>\"{}|^`\\\s]*>"
    r'|"""(?:[^\\]|\\.)*?"""'
    r"|'''(?:[^\\]|\\.)*?'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|\#[^\n]*"
    r"|[{}]",
    re.DOTALL,
)
"""What may hold a brace that ends nothing, and braces."""


def limited(
    query: Instantiated, corpus: str, *, base: str = DEFAULT_BASE
) -> Instantiated:
    """Return queries that find only institutions of a corpus.

    To each query the pattern is added that its `?custodian` belongs to `?in_corpus`,
    which is bound to the name as every other value is.

    Raises:
        InputError: If a query does not find a `?custodian`; names the template.
    """
    predicate = Vocabulary(base).property("corpus")
    pattern = f"\n  ?{SUBJECT} <{predicate}> ?{CORPUS} .\n"
    needed = frozenset({SUBJECT, CORPUS})
    runs = []
    for run in query.runs:
        sparql = _extended(run.sparql, pattern, needed, base)
        if sparql is None:
            msg = (
                f"Template {query.template_id!r} cannot be limited to corpus "
                f"{corpus!r}, because its query finds no ?custodian: leave the corpus "
                "out, or name what it finds so."
            )
            raise InputError(msg)
        bound = {**run.bindings, CORPUS: Binding(value=corpus)}
        runs.append(replace(run, sparql=sparql, bindings=bound))
    return replace(query, runs=tuple(runs))


def pairs_of(mentions: Sequence[Mention]) -> set[tuple[str, str]]:
    """Return types and their own places, where each type has one; none otherwise.

    `Archives from Rotterdam and museums from Leiden` asks for no archives from Leiden.
    """
    named = [m for m in mentions if m.kind == "institution_type" or m.kind in PLACES]
    types, places = named[::2], named[1::2]
    apart = len(types) == len(places) > 1 and all(
        one.kind == "institution_type" and other.kind in PLACES
        for one, other in zip(types, places, strict=True)
    )
    return (
        {
            (one.value, value)
            for one, other in zip(types, places, strict=False)
            for value in (other.value, *(option.value for option in other.options))
        }
        if apart
        else set()
    )


def paired(query: Instantiated, mentions: Sequence[Mention]) -> Instantiated:
    """Return queries for each type in its own place, where each has one."""
    pairs = pairs_of(mentions)
    runs = tuple(
        run
        for run in query.runs
        if len(run.label) < len(("type", "place"))
        or (run.label["type"], run.label["place"]) in pairs
    )
    return replace(query, runs=runs) if pairs and runs else query


_PREDICATES = {
    "name": "schema:name",
    "institution_type": "hc:institutionType",
    "city": "schema:addressLocality",
    "region": "schema:addressRegion",
    "country": "hc:countryCode",
}
_CODED = re.compile(r"[A-Z]{2}-[A-Z0-9]{1,3}")


_TESTS = {
    "below": "<",
    "at_most": "<=",
    "equal": "=",
    "": "=",
    "at_least": ">=",
    "above": ">",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What institutions must be, or must not be, beside the slots of a template.

    Attributes:
        excluded: Types, places and dates that are left out.
        added: Places, dates and budgets that must hold too.
    """

    excluded: tuple[Mention, ...] = ()
    added: tuple[Mention, ...] = ()


def narrowed(
    query: Instantiated,
    limits: Limits,
    meant: Mapping[str, Mapping[str, tuple[str, ...]]],
    *,
    base: str = DEFAULT_BASE,
) -> Instantiated:
    """Return queries that heed what no slot of their template says.

    What has no date, or no budget, meets no limit of either.

    Raises:
        InputError: If a query does not find a `?custodian`; names the template.
    """
    pattern, bound = "", dict[str, Binding]()
    for n, mention in enumerate((*limits.excluded, *limits.added)):
        text, values = _limit(mention, n, n < len(limits.excluded), meant)
        pattern, bound = pattern + text, bound | values
    runs = []
    for run in query.runs:
        sparql = _extended(run.sparql, f"{pattern}\n", frozenset({SUBJECT}), base)
        if sparql is None:
            msg = f"Template {query.template_id!r} finds no ?custodian to leave out."
            raise InputError(msg)
        runs.append(replace(run, sparql=sparql, bindings={**run.bindings, **bound}))
    return replace(query, runs=tuple(runs))


def _limit(
    mention: Mention,
    n: int,
    excluded: bool,
    meant: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> tuple[str, dict[str, Binding]]:
    """Return the pattern of one limit with what its variables are bound to."""
    no = "!" if excluded else ""
    if mention.kind == "date":
        bound = year_bounds(mention.value, mention.relation)
        return (
            f"\n  ?{SUBJECT} schema:foundingDate ?date_{n} ."
            f"\n  BIND(xsd:integer(SUBSTR(STR(?date_{n}), 1, 4)) AS ?year_{n})"
            f"\n  FILTER({no}(?year_{n} >= ?from_{n} && ?year_{n} <= ?to_{n}))",
            {f"from_{n}": bound["date_from"], f"to_{n}": bound["date_to"]},
        )
    if mention.kind == "budget":
        low, _, high = mention.value.partition("/")
        test = _TESTS.get(mention.relation, ">=")
        ends = {f"low_{n}": Binding(value=low, datatype="decimal")}
        more = f" && ?euro_{n} <= ?high_{n}" if high else ""
        if high:
            ends[f"high_{n}"] = Binding(value=high, datatype="decimal")
        return (
            f"\n  ?{SUBJECT} hc:annualBudget ?euro_{n} ."
            f"\n  FILTER({no}(?euro_{n} {test} ?low_{n}{more}))",
            ends,
        )
    values = meant.get(mention.kind, {}).get(mention.value, (mention.value,))
    tests = []
    for k, value in enumerate(values):
        coded = _CODED.fullmatch(value)
        predicate = "hc:subregionCode" if coded else _PREDICATES[mention.kind]
        tests.append(f"EXISTS {{ ?{SUBJECT} {predicate} ?limit_{n}_{k} }}")
    return (
        f"\n  FILTER({' && '.join('NOT ' + t for t in tests)})"
        if excluded
        else f"\n  FILTER({' || '.join(tests)})",
        {f"limit_{n}_{k}": Binding(value=v) for k, v in enumerate(values)},
    )


@lru_cache(maxsize=256)
def _extended(
    sparql: str, pattern: str, needed: frozenset[str], base: str
) -> str | None:
    """Return a query with a pattern at the end of its body; None where none fits."""
    body = body_of(sparql)
    if body is None or SUBJECT not in variables_found(sparql, base):
        return None
    end = body[1] - 1
    for stop in ("", " ."):  # the last triple may end with a full stop, or not
        text = f"{sparql[:end].rstrip()}{stop}{pattern}{sparql[end:]}"
        if _finds(text, needed, base):
            return text
    return None


def _finds(text: str, needed: frozenset[str], base: str) -> bool:
    """Return whether a text is a query that always has values for variables."""
    try:
        return needed <= variables_found(text, base)
    except InputError:
        return False


def body_of(sparql: str) -> tuple[int, int] | None:
    """Return where the first outermost group of a query begins and ends.

    Its braces are in it; None where there is none.
    """
    depth, begin = 0, -1
    for found in _MARK.finditer(sparql):
        mark = found[0]
        if mark == "{" and begin < 0:
            begin = found.start()
        depth += (mark == "{") - (mark == "}")
        if mark == "}" and depth == 0 and begin >= 0:
            return begin, found.end()
    return None


_SELECT = re.compile(r"\bSELECT\b", re.IGNORECASE)
_GROUPED = re.compile(r"\b(?:GROUP|HAVING|VALUES)\b", re.IGNORECASE)


def total_of(
    graph: Graph,
    query: Instantiated,
    found: Execution,
    *,
    base: str = DEFAULT_BASE,
    seconds: float = SECONDS,
) -> int | None:
    """Return how many institutions there are of what a query asks for."""
    if SUBJECT not in found.columns:
        return None
    if not found.cut:
        return len(set(found.column(SUBJECT)))
    runs = [replace(run, sparql=_counted(run.sparql) or "") for run in query.runs]
    if not all(run.sparql for run in runs):
        return None
    try:
        numbers = execute(
            graph, replace(query, runs=tuple(runs)), base=base, seconds=seconds
        )
    except (InputError, QueryTimeoutError):
        return None
    return sum(int(number or 0) for number in numbers.column("count"))


def _counted(sparql: str) -> str | None:
    """Return a query for the number of a query's institutions; None where none fits."""
    body, select = body_of(sparql), _SELECT.search(sparql)
    if body is None or select is None or select.start() > body[0]:
        return None
    if _GROUPED.search(sparql[body[1] :]):
        return None
    count = f"SELECT (COUNT(DISTINCT ?{SUBJECT}) AS ?count) WHERE "
    return f"{sparql[: select.start()]}{count}{sparql[slice(*body)]}"


_QUERY = """
SELECT ?custodian ?city ?region ?country ?isil ?ghcid ?postcode ?address ?corpus WHERE {
  ?custodian schema:name ?name ;
             a hc:Custodian .
  OPTIONAL { ?custodian schema:addressLocality ?city . }
  OPTIONAL { ?custodian schema:addressRegion ?region . }
  OPTIONAL { ?custodian hc:countryCode ?country . }
  OPTIONAL { ?custodian hc:isil ?isil . }
  OPTIONAL { ?custodian hc:ghcid ?ghcid . }
  OPTIONAL { ?custodian <OWN:postcode> ?postcode . }
  OPTIONAL { ?custodian <OWN:address> ?address . }
  OPTIONAL { ?custodian <OWN:corpus> ?corpus . }
}
ORDER BY ?custodian
LIMIT 1000
"""
_OWN = re.compile(r"<OWN:(\w+)>")
_WAYS = (
    ("city",),
    ("city", "region"),
    ("city", "country"),
    ("isil",),
    ("ghcid",),
    ("postcode",),
    ("address",),
    ("city", "region", "country", "isil", "ghcid"),
    ("city", "corpus"),
)
"""What may tell them apart, the first that does is taken."""


def told_apart(
    graph: Graph,
    found: Execution,
    *,
    language: str,
    shown: int,
    base: str = DEFAULT_BASE,
    seconds: float = SECONDS,
) -> dict[str, str]:
    """Return what tells rows of equal names apart: a town, an identifier."""
    if not {"custodian", "name"} <= set(found.columns):
        return {}
    iris, names = found.column("custodian"), found.column("name")
    pairs = dict.fromkeys(zip(iris, names, strict=True))
    often = Counter(name for _, name in pairs)
    repeated = [n for n in dict.fromkeys(names[:shown]) if often[n] > 1]
    if not repeated:
        return {}
    own = Vocabulary(base).property
    sparql = _OWN.sub(lambda found: f"<{own(found[1])}>", _QUERY)
    runs = tuple(
        Run(sparql=sparql, bindings={"name": Binding(value=str(name))})
        for name in repeated
    )
    query = Instantiated(template_id="told_apart", runs=runs)
    try:
        rows = execute(graph, query, base=base, seconds=seconds)
    except QueryTimeoutError:
        return {}
    records = {
        str(row[0]): dict(zip(rows.columns, row, strict=True)) for row in rows.rows
    }
    apart: dict[str, str] = {}
    for name in repeated:
        same = [str(iri) for iri, n in pairs if n == name]
        apart |= _apart({i: records.get(i, {}) for i in same}, language)
    return apart


def _apart(
    records: Mapping[str, Mapping[str, object]], language: str
) -> dict[str, str]:
    """Return texts that differ for each of some institutions, by IRI."""
    for way in _WAYS:
        texts = {
            iri: ", ".join(
                place_name(str(record[column]), language)
                for column in way
                if record.get(column)
            )
            for iri, record in records.items()
        }
        if all(texts.values()) and len(set(texts.values())) == len(texts):
            return texts
    return {iri: iri.rstrip("/").rpartition("/")[2] for iri in records}
