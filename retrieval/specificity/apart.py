"""What tells institutions of one name from each other."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from graph.errors import QueryTimeoutError
from graph.rdf.vocabulary import Vocabulary
from retrieval.specificity.execution import DEFAULT_BASE, SECONDS, execute
from retrieval.specificity.instantiation import Binding, Instantiated, Run
from retrieval.specificity.iso_places import place_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib import Graph

    from retrieval.specificity.execution import Execution

__all__ = ["told_apart"]

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
    """Return what tells rows of equal names apart: a town, an identifier.

    Args:
        graph: Where the rows come from.
        found: Rows with `custodian` and `name`.
        language: `en` or `nl`.
        shown: Only so many of the rows are shown.
        base: Where the graph's own names begin.
        seconds: Time limit of all queries; what takes longer is left out.

    Returns:
        By the IRI of the institution; the end of the IRI where nothing else differs.
    """
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
