"""How specific each class of heritage is to a kind of question, from LinkML files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graph.errors import InputError, MissingExtraError
from retrieval.specificity.mapping import ContextTemplate
from retrieval.specificity.yaml_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "DEFAULT_SCORE",
    "ClassScores",
    "ScoreSource",
    "SpecificityLookup",
    "check_threshold",
    "load_lookup",
]

DEFAULT_SCORE = 0.5
GENERAL = "general"
_CONTEXTS = frozenset(ContextTemplate)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScores:
    """A class of the schema with its scores.

    Attributes:
        name: Its name.
        parent: The class that it is a kind of; None for a root.
        description: What it is.
        general: Its score where a context template has none of its own.
        scores: Score by context template.
        institution_type: The letter that it stands for, if any.
        attributes: Name and range of what it has beyond its parent.
        abstract: Whether nothing is only this.
        mixins: Other classes that it is a kind of.
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

    def of_type(self, letter: str) -> str | None:
        """Return the class of an institution type."""
        found = (n for n, c in self.classes.items() if c.institution_type == letter)
        return next(found, None)


class WithOtherClasses:
    """Scores of a source, and the default for classes that it does not know."""

    def __init__(self, source: ScoreSource, names: Iterable[str]) -> None:
        """Take a source.

        Args:
            source: What is asked first.
            names: Classes that the graph has.
        """
        self._source = source
        self._names = tuple(names)

    def get_all_scores(self, context_template: str = GENERAL) -> dict[str, float]:
        """Return the score of every class, by name."""
        others = dict.fromkeys(self._names, DEFAULT_SCORE)
        return others | self._source.get_all_scores(context_template)


def check_threshold(threshold: float) -> None:
    """Refuse what is no threshold.

    Raises:
        InputError: If it is not from 0 to 1.
    """
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        msg = f"The threshold is {threshold}: give a number from 0 to 1."
        raise InputError(msg)


def load_lookup(schema: Path | str | None = None) -> SpecificityLookup:
    """Read the class files of a LinkML schema.

    Args:
        schema: A folder with `modules/classes/*.yaml`; None takes the schema of
            heritage that comes with the product.

    Raises:
        InputError: If a file is no LinkML, a score is not from 0 to 1, a context
            template is unknown, or classes are kinds of each other in a circle; names
            the class.
        MissingExtraError: If the extra `templates` is not installed.
    """
    return _built_in() if schema is None else _load(Path(schema))


@lru_cache(maxsize=1)
def _built_in() -> SpecificityLookup:
    """Read the product's own schema, once."""
    place = resources.files("retrieval.specificity").joinpath("data", "schema")
    with resources.as_file(place) as folder:
        return _load(folder)


def _load(folder: Path) -> SpecificityLookup:
    """Read a folder."""
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
    """Yield the classes of a file."""
    try:
        from linkml_runtime.linkml_model.meta import (  # type: ignore[import-untyped]
            SchemaDefinition,
        )
        from linkml_runtime.loaders import yaml_loader  # type: ignore[import-untyped]
    except ImportError as error:
        msg = "Class files need an extra: pip install 'knowtrail[templates]'."
        raise MissingExtraError(msg) from error
    lines = read_lines(path)
    given = lines.value
    if not isinstance(given, dict) or not isinstance(given.get("classes", {}), dict):
        msg = "a LinkML schema is a mapping with `id`, `name` and `classes`."
        raise lines.error((), msg)
    for name, body in given.get("classes", {}).items():
        _wrap_scores(body, f"{path.name}: class {name!r}")
    try:
        schema = yaml_loader.load(given, SchemaDefinition)
    except Exception as error:  # the loader raises what its data classes do
        names = ", ".join(map(str, given.get("classes", {}))) or "no class"
        msg = f"{path.name} ({names}): no LinkML schema: {str(error)[:300]}"
        raise InputError(msg) from error
    for name, definition in schema.classes.items():
        yield _class(str(name), definition, path.name)


def _wrap_scores(body: Any, where: str) -> None:
    """Bring `template_specificity` into the form that LinkML has for a mapping.

    Raises:
        InputError: If the class is no mapping.
    """
    if body is None:
        return
    if not isinstance(body, dict):
        msg = f"{where} must be a mapping."
        raise InputError(msg)
    notes = body.get("annotations")
    if isinstance(notes, dict):
        scores = notes.get("template_specificity")
        if isinstance(scores, dict) and "value" not in scores:
            notes["template_specificity"] = {"value": scores}


def _class(name: str, definition: Any, file: str) -> ClassScores:
    """Return a class with its scores."""
    notes = {
        str(tag): getattr(note, "value", None)
        for tag, note in _items(definition.annotations)
    }
    where = f"{file}: class {name!r}"
    given = notes.get("template_specificity")
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
    """Return the items of a mapping of LinkML's.

    Args:
        value: The mapping.
        where: File and class, for the message.

    Raises:
        InputError: If it is none.
    """
    inner = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if inner is None:
        msg = (
            f"{where}: template_specificity is {str(value)[:80]!r}: write "
            "context: score."
        )
        raise InputError(msg)
    return [(k, v) for k, v in inner.items() if not str(k).startswith("_")]


def _score(value: Any, where: str) -> float:
    """Return a score, checked.

    Raises:
        InputError: If it is no number from 0 to 1.
    """
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        msg = f"{where} is {str(value)[:80]}: write a number from 0 to 1."
        raise InputError(msg)
    return number


def _check_hierarchy(classes: Mapping[str, ClassScores]) -> None:
    """Refuse parents and mixins that are not there, and circles.

    Raises:
        InputError: If there is one; names the classes.
    """
    above = {
        name: (*(() if c.parent is None else (c.parent,)), *c.mixins)
        for name, c in classes.items()
    }
    whole: set[str] = set()
    for name in classes:
        waiting = [(name, iter(above[name]))]
        while waiting:
            child, parents = waiting[-1]
            parent = next((p for p in parents if p not in whole), None)
            if parent is None:
                whole.add(child)
                waiting.pop()
                continue
            if parent not in classes:
                msg = f"Class {child!r} is a kind of {parent!r}, which is nowhere."
                raise InputError(msg)
            seen = [one for one, _ in waiting]
            if parent in seen:
                circle = " -> ".join([*seen[seen.index(parent) :], parent])
                msg = f"Classes are kinds of each other in a circle: {circle}."
                raise InputError(msg)
            waiting.append((parent, iter(above[parent])))
