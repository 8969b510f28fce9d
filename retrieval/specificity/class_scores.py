"""How specific classes of heritage are to a question, and what is kept by that.

The scores of classes are read from LinkML files, by context template.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from knowtrail.graph.db.driver import Counters
from knowtrail.graph.errors import InputError, near_name
from knowtrail.graph.extras import extra
from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.retrieval.specificity.vocabulary import data_file
from knowtrail.retrieval.specificity.yaml_lines import DATA, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from knowtrail.graph.db.connection import Connection


class ContextTemplate(StrEnum):
    """The kinds of question that a class can be more or less specific to."""

    ARCHIVE_SEARCH = "archive_search"
    MUSEUM_SEARCH = "museum_search"
    LIBRARY_SEARCH = "library_search"
    COLLECTION_DISCOVERY = "collection_discovery"
    PERSON_RESEARCH = "person_research"
    LOCATION_BROWSE = "location_browse"
    IDENTIFIER_LOOKUP = "identifier_lookup"
    ORGANIZATIONAL_CHANGE = "organizational_change"
    DIGITAL_PLATFORM = "digital_platform"
    GENERAL_HERITAGE = "general_heritage"


_DATA = data_file("contexts.yaml")
SPARQL_TO_CONTEXT = {id_: ContextTemplate(c) for id_, c in _DATA["templates"].items()}
"""Id of a query template -> context template."""

FILTERED = frozenset(map(ContextTemplate, _DATA["filtered"]))
"""Contexts whose chunks are searched among kept classes alone."""

_OF_TYPE = {letter: ContextTemplate(c) for letter, c in _DATA["types"].items()}


class SPARQLToContextMapper:
    """Maps what a question was classified as to a context template."""

    def map(
        self, sparql_template_id: str, extracted_slots: Mapping[str, str] | None = None
    ) -> ContextTemplate:
        """Return the context template of a classified question."""
        letter = (extracted_slots or {}).get("institution_type", "")
        return _OF_TYPE.get(letter) or SPARQL_TO_CONTEXT.get(
            sparql_template_id, ContextTemplate.GENERAL_HERITAGE
        )


DEFAULT_SCORE = 0.5
GENERAL = "general"
_CONTEXTS = frozenset(ContextTemplate)
_BY_CONTEXT = "template_specificity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScores:
    """A class of the schema with its scores by context template.

    The general score is for contexts without one of their own. The institution type is
    the letter that it stands for; attributes, as name and range, are those beyond its
    parent's; mixins are other classes that it is a kind of.
    """

    name: str
    parent: str | None = None
    description: str = ""
    general: float = DEFAULT_SCORE
    scores: Mapping[str, float] = field(default_factory=dict)
    institution_type: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    abstract: bool = False
    mixins: tuple[str, ...] = ()

    def score(self, context_template: str) -> float:
        """Return the score in a context."""
        return self.scores.get(context_template, self.general)


class ScoreSource(Protocol):
    """Gives the scores of all classes in a context."""

    def get_all_scores(self, context_template: str = GENERAL) -> dict[str, float]:
        """Return the score of every class, by name."""
        ...


class SpecificityLookup:
    """The scores of classes by context template."""

    def __init__(self, classes: Mapping[str, ClassScores]) -> None:
        self.classes = dict(sorted(classes.items()))

    def get_score(self, class_name: str, context_template: str = GENERAL) -> float:
        """Return the score of a class; 0.5 for a class that is not in the schema."""
        found = self.classes.get(class_name)
        return DEFAULT_SCORE if found is None else found.score(context_template)

    def get_all_scores(self, context_template: str = GENERAL) -> dict[str, float]:
        """Return the score of every class, by name."""
        return {name: c.score(context_template) for name, c in self.classes.items()}

    def filter_classes(
        self, context_template: str, threshold: float = 0.5
    ) -> list[str]:
        """Return the names of the classes at or above a threshold, sorted."""
        check_threshold(threshold)
        scores = self.get_all_scores(context_template)
        return [name for name, score in scores.items() if score >= threshold]


def write_scores(connection: Connection, lookup: SpecificityLookup) -> Counters:
    """Store the classes of a schema with their scores as (:OntologyClass).

    What is stored already as it is, is not written again.
    """
    rows = [
        {
            "uri": f"{Vocabulary().heritage}{name}",
            "name": name,
            "description": found.description,
            "parent": found.parent,
            "institutionType": found.institution_type,
            "specificity": found.general,
            **{f"template_{c.value}": found.score(c) for c in ContextTemplate},
        }
        for name, found in lookup.classes.items()
    ]
    uris = [row["uri"] for row in rows]
    found = connection.read("retrieval/specificity_stored", uris=uris)
    stored = {row["held"]["uri"]: row["held"] for row in found}
    new = [
        row
        for row in rows
        if any(stored.get(row["uri"], {}).get(n) != v for n, v in row.items())
    ]
    if not new:
        return Counters()
    return connection.write("retrieval/specificity_scores", rows=new)


def check_threshold(threshold: float) -> None:
    """Refuse what is not from 0 to 1."""
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise InputError(f"The threshold is {threshold}: give a number from 0 to 1.")


def load_lookup(schema: Path | str | None = None) -> SpecificityLookup:
    """Read the class files of a LinkML schema: `modules/classes/*.yaml` of a folder.

    None takes the schema of heritage that comes with the product. Raises `InputError`,
    which names the class, if a file is no LinkML, a score is not from 0 to 1, a context
    template is unknown, or classes are kinds of each other in a circle.
    """
    return _built_in() if schema is None else _load(Path(schema))


@lru_cache(maxsize=1)
def _built_in() -> SpecificityLookup:
    """Read the product's own classes, compiled from their schema, once."""
    found = {}
    try:
        for one in json.loads((DATA / COMPILED).read_bytes()):
            pairs = {"attributes": tuple(map(tuple, one["attributes"]))}
            pairs |= {"mixins": tuple(one["mixins"])}
            found[one["name"]] = ClassScores(**one | pairs)
    except (OSError, ValueError, KeyError, TypeError) as error:  # gone, or damaged
        _LOG.warning("%s is of no use, so its schema is read: %r", COMPILED, error)
        return _load(DATA / "schema")
    return SpecificityLookup(found)


_LOG = logging.getLogger(__name__)
COMPILED = "classes.json"
"""The product's own classes as they are read: LinkML takes a second to load."""


def _load(folder: Path) -> SpecificityLookup:
    files = sorted((folder / "modules" / "classes").glob("*.yaml"))
    if not files:
        msg = f"There are no class files in {folder / 'modules' / 'classes'}."
        raise InputError(msg)
    classes: dict[str, ClassScores] = {}
    for path in files:
        for found in _classes(path):
            if found.name in classes:
                msg = f"{path.name}: class {found.name!r} is in another file too."
                raise InputError(msg)
            classes[found.name] = found
    _check_hierarchy(classes)
    return SpecificityLookup(classes)


def _classes(path: Path) -> Iterator[ClassScores]:
    """Yield the classes of a file, which LinkML must be able to read."""
    with extra("templates", "A class file"):
        from linkml_runtime.linkml_model.meta import SchemaDefinition  # type: ignore[import-untyped]
        from linkml_runtime.loaders import yaml_loader  # type: ignore[import-untyped]
    lines = read_lines(path)
    given = lines.value
    if not isinstance(given, dict) or not isinstance(given.get("classes", {}), dict):
        msg = "a LinkML schema is a mapping with `id`, `name` and `classes`."
        raise lines.error((), msg)
    bodies = given.get("classes", {})
    for name, body in bodies.items():
        if body is not None and not isinstance(body, dict):
            raise InputError(f"{path.name}: class {name!r} must be a mapping.")
        notes: Any = (body or {}).get("annotations")
        scores = notes.get(_BY_CONTEXT) if isinstance(notes, dict) else None
        if isinstance(scores, dict) and "value" not in scores:
            notes[_BY_CONTEXT] = {"value": scores}  # LinkML's form of a mapping
    try:
        schema = yaml_loader.load(given, SchemaDefinition)
    except Exception as error:  # the loader raises what its data classes do
        names = ", ".join(map(str, bodies)) or "no class"
        msg = f"{path.name} ({names}): no LinkML schema: {str(error)[:300]}"
        raise InputError(msg) from error
    for name, definition in schema.classes.items():
        yield _class(str(name), definition, f"{path.name}: class {str(name)!r}")


def _class(name: str, definition: Any, where: str) -> ClassScores:
    notes = {
        str(tag): getattr(note, "value", None)
        for tag, note in _items(definition.annotations)
    }
    given = notes.get(_BY_CONTEXT)
    scores: dict[str, float] = {}
    for context, score in _items(given, where) if given is not None else ():
        if context not in _CONTEXTS:
            known = ", ".join(sorted(_CONTEXTS))
            msg = f"{where}: unknown context template {context!r}; there are {known}."
            raise InputError(msg)
        scores[str(context)] = _score(score, f"{where}: {context}")
    general = notes.get("specificity_score", DEFAULT_SCORE)
    letter = notes.get("institution_type")
    return ClassScores(
        name=name,
        parent=None if definition.is_a is None else str(definition.is_a),
        description=str(definition.description or ""),
        general=_score(general, f"{where}: specificity_score"),
        scores=scores,
        institution_type=None if letter is None else str(letter),
        attributes=tuple(
            (str(n), str(a.range or "string")) for n, a in _items(definition.attributes)
        ),
        abstract=bool(definition.abstract),
        mixins=tuple(str(mixin) for mixin in definition.mixins),
    )


def _items(value: Any, where: str = "the schema") -> list[tuple[Any, Any]]:
    inner = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if inner is None:
        msg = f"{where}: {_BY_CONTEXT} is {str(value)[:80]!r}: write context: score."
        raise InputError(msg)
    return [(k, v) for k, v in inner.items() if not str(k).startswith("_")]


def _score(value: Any, where: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise InputError(f"{where} is {str(value)[:80]}: write a number from 0 to 1.")
    return number


def _check_hierarchy(classes: Mapping[str, ClassScores]) -> None:
    above = {
        name: (*(() if c.parent is None else (c.parent,)), *c.mixins)
        for name, c in classes.items()
    }
    for name, parents in above.items():
        if lost := [parent for parent in parents if parent not in classes]:
            msg = f"Class {name!r} is a kind of {lost[0]!r}, which is nowhere."
            raise InputError(msg)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        msg = f"Classes are kinds of each other in a circle: {circle}."
        raise InputError(msg) from error


SECONDS = 300.0


@dataclass(eq=False, repr=False)
class CachedScores:
    """A source of scores that remembers them.

    Safe under threads: `invalidate` puts a new table in place of the old one, to which
    late answers go that were asked for before.
    """

    source: ScoreSource
    _: KW_ONLY
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise InputError(f"seconds is {self.seconds}: give 0 or more.")
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, float]]] = {}

    def get_all_scores(self, context_template: str = "general") -> dict[str, float]:
        """Return the score of every class, by name; the caller may change it."""
        kept = self._kept
        begun, scores = kept.get(context_template, (-math.inf, {}))
        if self.clock() - begun >= self.seconds:
            scores = self.source.get_all_scores(context_template)
            kept[context_template] = self.clock(), dict(scores)
        return dict(scores)

    def invalidate(self, context_template: str | None = None) -> None:
        """Forget the scores of a context template with their age; None forgets all."""
        with self._lock:
            kept = {} if context_template is None else dict(self._kept)
            kept.pop(context_template or "", None)
            self._kept = kept


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredClasses:
    """The classes of a context with their scores, the best first."""

    kept: Mapping[str, float]
    dropped: Mapping[str, float]
    threshold: float

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the kept classes."""
        return tuple(self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChunk:
    """A chunk that was found, by some sentences; its class may be empty."""

    chunk_id: str
    document_id: str
    title: str
    class_name: str
    text: str
    similarity: float
    specificity: float = DEFAULT_SCORE
    score: float = 0.0
    sentence_ids: tuple[str, ...] = ()


class ClassFilter:
    """Keeps the classes that are specific enough to a question."""

    def __init__(self, threshold: float = 0.5) -> None:
        check_threshold(threshold)
        self.threshold = threshold

    def filter(
        self, scores: Mapping[str, float], boosts: Mapping[str, float] | None = None
    ) -> FilteredClasses:
        """Return the classes at or above the threshold, and the others."""
        added = boosts or {}
        boosted = {
            name: min(1.0, round(score + added.get(name, 0.0), 9))
            for name, score in scores.items()
        }
        order = sorted(boosted, key=lambda name: (-boosted[name], name))
        return FilteredClasses(
            kept={n: boosted[n] for n in order if boosted[n] >= self.threshold},
            dropped={n: boosted[n] for n in order if boosted[n] < self.threshold},
            threshold=self.threshold,
        )


class SpecificityRanker:
    """Ranks chunks by their likeness to the question and their class."""

    def __init__(self, *, similarity: float = 0.7, specificity: float = 0.3) -> None:
        if not (similarity >= 0 and specificity >= 0 and similarity + specificity > 0):
            raise InputError(
                f"The weights are {similarity} and {specificity}: give numbers from 0, "
                "not both 0."
            )
        self.similarity = similarity
        self.specificity = specificity

    def rank(
        self, chunks: Iterable[RankedChunk], scores: Mapping[str, float]
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks with their scores, best first, ties by id."""
        ranked = []
        for chunk in chunks:
            own = scores.get(chunk.class_name, DEFAULT_SCORE)
            score = self.similarity * chunk.similarity + self.specificity * own
            ranked.append(replace(chunk, specificity=own, score=score))
        return tuple(sorted(ranked, key=lambda c: (-c.score, c.chunk_id)))


def diagram(
    schema: Path | None = None,
    *,
    context: str | None = None,
    threshold: float = 0.5,
    only_kept: bool = False,
    suffix: str = ".svg",
) -> str:
    """Return the class diagram of a schema, as `views.uml` draws it."""
    from knowtrail.retrieval.views.uml import uml_page, uml_svg

    check_threshold(threshold)
    names = sorted(str(name) for name in ContextTemplate)
    if context is not None and context not in names:
        hint = near_name(context[:80], names, none=f"use one of {', '.join(names)}.")
        raise InputError(f"No context {context[:80]!r}: {hint}")
    lookup = load_lookup(schema)
    title = "Classes of heritage" + (f" for {context}" if context else "")
    scores = lookup.get_all_scores(context or GENERAL)
    svg = uml_svg(
        lookup.classes, scores, title=title, threshold=threshold, only_kept=only_kept
    )
    return svg if suffix == ".svg" else uml_page(svg, title)
