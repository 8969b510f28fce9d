"""Institutions that are found: of one corpus, how many, of one name, near a town."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, QueryTimeoutError
from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.ingest.custodians import custodians_near, custodians_unplaced
from knowtrail.retrieval.specificity.execution import (
    MOST_ROWS,
    Execution,
    variables_found,
)
from knowtrail.retrieval.specificity.gazetteer import Gazetteer, place_name
from knowtrail.retrieval.specificity.phrases import SHOWN, wording
from knowtrail.retrieval.specificity.quantities import Digits, read_number
from knowtrail.retrieval.specificity.query_templates import (
    REGION_CODE,
    Binding,
    Instantiated,
    Run,
    year_bounds,
)
from knowtrail.retrieval.specificity.vocabulary import (
    PLACES,
    Mention,
    data_file,
    patterns_of,
)
from knowtrail.retrieval.specificity.yaml_lines import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.specificity.query_templates import Meant

    Ask = Callable[[Instantiated], Execution]

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


def pairs_of(mentions: Sequence[Mention]) -> set[tuple[str, str]]:
    """Return types and their own places, where each type has one; none otherwise.

    `Archives from Rotterdam and museums from Leiden` asks for no archives from Leiden.
    """
    named = [m for m in mentions if m.kind == "institution_type" or m.kind in PLACES]
    pairs = list(zip(named[::2], named[1::2], strict=False))
    typed = all(one.kind not in PLACES and other.kind in PLACES for one, other in pairs)
    return {
        (one.value, value)
        for one, other in pairs
        if typed and len(named) == 2 * len(pairs) > 2
        for value in (other.value, *(option.value for option in other.options))
    }


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


_LIMITS = data_file("limits.yaml")


def narrowed(
    query: Instantiated,
    meant: Meant,
    *,
    excluded: Sequence[Mention] = (),
    added: Sequence[Mention] = (),
    corpus: str | None = None,
) -> Instantiated:
    """Return queries that heed what no slot of their template says.

    What is excluded, added or of another corpus is told apart by patterns where the
    body of each query begins, whose variables are bound as those of slots are. What has
    no date, or no budget, meets no limit of either.
    """
    pattern, bound = "", dict[str, Binding]()
    for n, mention in enumerate((*excluded, *added)):
        text, values = _limit(mention, n, n < len(excluded), meant)
        pattern, bound = pattern + text, bound | values
    if corpus is not None:
        pattern = f"\n  ?{SUBJECT} ktp:corpus ?{CORPUS} .{pattern}"
        bound[CORPUS] = Binding(value=corpus)
    runs = []
    for run in query.runs if bound else ():
        sparql = _extended(run.sparql, pattern)
        if sparql is None:
            what = f"corpus {corpus!r}" if corpus else "what a question leaves out"
            raise InputError(
                f"Template {query.template_id!r} cannot be limited to {what}, because "
                "its query finds no ?custodian: name what it finds so."
            )
        runs.append(replace(run, sparql=sparql, bindings={**run.bindings, **bound}))
    return replace(query, runs=tuple(runs)) if bound else query


def _limit(
    mention: Mention, n: int, excluded: bool, meant: Meant
) -> tuple[str, dict[str, Binding]]:
    kind, predicates = mention.kind, list[str]()
    if kind == "date":
        years = year_bounds(mention.value, mention.relation)
        bound = {f"from_{n}": years["date_from"], f"to_{n}": years["date_to"]}
    elif kind == "budget":
        ends = zip((f"low_{n}", f"high_{n}"), mention.value.split("/"), strict=False)
        bound = {end: Binding(value=v, datatype="decimal") for end, v in ends}
    else:
        values = meant.get(kind, {}).get(mention.value, (mention.value,))
        bound = {f"limit_{n}_{k}": Binding(value=v) for k, v in enumerate(values)}
        coded, usual = "hc:subregionCode", _LIMITS["predicates"][kind]
        predicates = [coded if REGION_CODE.fullmatch(v) else usual for v in values]
    pattern = wording("limits.jinja").render(
        kind=kind,
        n=n,
        excluded=excluded,
        names=list(bound),
        sign=_LIMITS["tests"].get(mention.relation, ">="),
        predicates=predicates,
    )
    return pattern, bound


@lru_cache(maxsize=256)
def _extended(sparql: str, pattern: str) -> str | None:
    """Return a query with a pattern where its body begins; None where none fits."""
    body = body_of(sparql)
    if body is None or SUBJECT not in variables_found(sparql):
        return None
    text = f"{sparql[: body[0] + 1]}{pattern}{sparql[body[0] + 1 :]}"
    try:
        found = variables_found(text)
    except InputError:
        return None
    return text if CORPUS in found or f"?{CORPUS}" not in pattern else None


def body_of(sparql: str) -> tuple[int, int] | None:
    """Return where the braces of a query's first outermost group begin and end."""
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


def total_of(query: Instantiated, found: Execution, ask: Ask) -> int | None:
    """Return how many institutions there are of what a query asks for."""
    if SUBJECT not in found.columns:
        return None
    if not found.cut:
        return len(set(found.column(SUBJECT)))
    runs = [replace(run, sparql=_counted(run.sparql) or "") for run in query.runs]
    if not all(run.sparql for run in runs):
        return None
    try:
        numbers = ask(replace(query, runs=tuple(runs)))
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


def told_apart(found: Execution, ask: Ask, *, language: str) -> dict[str, str]:
    """Return what tells rows of equal names apart: a town, an identifier."""
    if not {"custodian", "name"} <= set(found.columns):
        return {}
    iris, names = found.column("custodian"), found.column("name")
    pairs = dict.fromkeys(zip(iris, names, strict=True))
    often = Counter(name for _, name in pairs)
    repeated = [n for n in dict.fromkeys(names[:SHOWN]) if often[n] > 1]
    if not repeated:
        return {}
    sparql = (DATA / "told_apart.rq").read_text("utf-8")
    runs = tuple(
        Run(sparql=sparql, bindings={"name": Binding(value=str(name))})
        for name in repeated
    )
    query = Instantiated(template_id="told_apart", runs=runs)
    try:
        rows = ask(query)
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
    for way in _LIMITS["ways"]:
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


NEAR = "list_institutions_near"
"""The template of what is near a town: its query is that of the point index."""

KILOMETRES = 10.0
"""How far `near` is where no distance is said."""

_UNITS = data_file("quantities.yaml")["near"]["units"]
_PHRASE = patterns_of("institutions")["near"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vicinity:
    """What lies within some kilometres of points, by latitude and longitude."""

    points: tuple[tuple[float, float], ...]
    km: float


def asked_distance(
    question: str, mentions: Sequence[Mention]
) -> tuple[str, float, str] | None:
    """Return a question with `in` for `near`, how many km, and its words; or None."""
    for town in mentions:
        view = Digits(question[: town.start])
        found = _PHRASE.search(view.text) if town.kind == "city" else None
        if found and not found["not"]:
            km = KILOMETRES
            if found["number"]:
                unit = next(u for u in _UNITS if re.fullmatch(u, found["unit"], re.I))
                if (number := read_number(found["number"])) is None:
                    continue
                km = float(number) * _UNITS[unit]
            start = view.places[found.start()]
            plain = f"{question[:start]}in {question[town.start :]}"
            return plain, km, question[start : town.start].strip()
    return None


@dataclass(eq=False)
class Nearby:
    """Finds institutions near towns by the coordinates that the database has."""

    connection: Connection
    gazetteer: Gazetteer
    _: KW_ONLY
    corpus: str | None = None

    def of_town(self, town: Mention, km: float) -> Vicinity | None:
        """Return what is near a town; None where its place is not known."""
        meant = self.gazetteer.meant["city"].get(town.value, (town.value,))
        rows = self.connection.read(
            "custodians/towns", cities=list(meant), corpus=self.corpus
        )
        wanted = {town.within.value, town.within.text} if town.within else set()
        points = tuple(
            (row["latitude"], row["longitude"])
            for row in rows
            if not wanted or wanted & set(row.values())
        )
        return Vicinity(points=points, km=km) if points else None

    def found(self, vicinity: Vicinity, types: Sequence[str]) -> Execution:
        """Return institutions of some types, or of all, the nearest first."""
        begin, node = time.monotonic(), Vocabulary().node
        near: dict[str, tuple[float, tuple[str, str, str | None, float]]] = {}
        for latitude, longitude in vicinity.points:
            for one in custodians_near(
                self.connection,
                latitude=latitude,
                longitude=longitude,
                km=vicinity.km,
                corpus=self.corpus,
                types=types or None,
                limit=MOST_ROWS + 1,
            ):
                iri = one.uri or node("Custodian", one.id)
                row = (iri, one.name, one.city, round(one.km, 1))
                near[iri] = min(near.get(iri, (one.km, row)), (one.km, row))
        rows = [row for _, row in sorted(near.values(), key=lambda v: (v[0], v[1][0]))]
        return Execution(
            columns=("custodian", "name", "place", "km"),
            rows=tuple(rows[:MOST_ROWS]),
            seconds=time.monotonic() - begin,
            cut=len(rows) > MOST_ROWS,
        )

    def unplaced(self, types: Sequence[str]) -> tuple[int, int]:
        """Return how many institutions have no coordinates, and how many there are."""
        found = custodians_unplaced(
            self.connection, corpus=self.corpus, types=types or None
        )
        return found.without_location, found.institutions
