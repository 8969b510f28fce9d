"""The comparators that score one field, and the transforms of its values before that.

Their tables belong to the process: what is registered serves every evaluation after
it. The built-in transforms return None for None; a custom one is given None as well,
and may make something of it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from knowtrail.eval.fields.errors import (
    ArgumentError,
    ComparatorNotFoundError,
    TransformNotFoundError,
)
from knowtrail.eval.fields.paths import child_path, last_key, parent_path
from knowtrail.graph.errors import InputError


@dataclass(slots=True)
class ComparatorSpec:
    """Which comparator a field has; an empty name is none."""

    name: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class TransformSpec:
    """One step of a field's transforms."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparatorResult:
    """What a comparator says of two values: 1 for equal, 0 for different, or between.

    Other finite scores are taken as they are; a field to `skip` is not scored at all.
    """

    score: float
    comparator: str
    reason: str | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One field that a batch comparator is asked about, before and after transforms."""

    path: str
    gold_raw: Any
    extracted_raw: Any
    gold_compared: Any
    extracted_compared: Any
    params: dict[str, Any] = field(default_factory=dict)


class Comparator(Protocol):
    """Scores one field.

    A `check_params(params)` attribute, where there is one, is called when a schema is
    parsed; what it raises as `ValueError` or `TypeError` becomes a `SchemaError`.
    """

    def __call__(
        self, gold: Any, extracted: Any, params: dict[str, Any], /
    ) -> ComparatorResult:
        """Compare two values, both after their transforms."""
        ...


@runtime_checkable
class BatchComparator(Protocol):
    """Scores all fields of a record that name it, in one call."""

    is_batch: bool

    def __call__(self, items: list[BatchItem], /) -> Sequence[ComparatorResult | None]:
        """Return one result an item, in order; None where it has none."""
        ...


class Transform(Protocol):
    """Changes a value before it is compared; None comes in as well."""

    def __call__(self, value: Any, params: dict[str, Any], /) -> Any:
        """Return what is to be compared in the value's place."""
        ...


_F = TypeVar("_F", bound="Callable[..., Any]")


@dataclass(slots=True)
class Registry(Generic[_F]):
    """Functions that schemas name, the built-in ones with parameters and a check."""

    kind: str
    unknown: type[InputError]
    built_in: dict[
        str, tuple[_F, tuple[str, ...], Callable[[dict[str, Any]], Any] | None]
    ]
    own: dict[str, _F] = field(default_factory=dict)

    def add(self, name: str, fn: _F, remedy: str, *, overwrite: bool = False) -> None:
        """Register a function; `remedy` is what to do where its name is taken."""
        if not callable(fn):
            msg = f"The {self.kind} {name!r} must be callable: it is {fn!r}."
            raise ArgumentError(msg)
        if not isinstance(name, str) or not name:
            msg = f"The {self.kind}'s name {name!r} must be text that is not empty."
            raise ArgumentError(msg)
        if name in self.built_in:
            msg = f"Cannot overwrite built-in {self.kind} {name!r}: take another name."
            raise InputError(msg)
        if name in self.own and not overwrite:
            kind = self.kind.capitalize()
            raise InputError(f"{kind} {name!r} is already registered: {remedy}.")
        self.own[name] = fn

    def get(self, name: str) -> _F:
        """Return the function of a name."""
        if name in self.own:
            return self.own[name]
        if name in self.built_in:
            return self.built_in[name][0]
        known = ", ".join(sorted({*self.own, *self.built_in}))
        raise self.unknown(
            f"Unknown {self.kind}: {name!r}. Known are {known}; others are registered."
        )

    def check(self, name: str, params: dict[str, Any]) -> None:
        """Refuse parameters that a function cannot use."""
        if name in self.built_in:
            _, known, read = self.built_in[name]
            _refuse_others(params, *known)
            if read is not None:
                read(params)
        elif callable(check := getattr(self.get(name), "check_params", None)):
            check(params)


def _refuse_others(params: dict[str, Any], *names: str) -> None:
    if unknown := sorted(str(name) for name in params if name not in names):
        known = ", ".join(names) or "none"
        raise ArgumentError(f"unknown parameters {unknown}: known are {known}")


_TYPE_ERROR = "type_error"


def same(gold: Any, extracted: Any) -> bool:
    """Return whether two values have one type and are equal."""
    return type(gold) is type(extracted) and bool(gold == extracted)


def compare_exact(
    gold: Any, extracted: Any, params: dict[str, Any]
) -> ComparatorResult:
    """Score 1 for equal values of one type, else 0.

    So 1 is not 1.0, and True is not 1; inside of lists and objects Python's equality
    holds, for which they are. NaN equals nothing.
    """
    if same(gold, extracted):
        return ComparatorResult(1.0, "exact")
    return ComparatorResult(0.0, "exact", "mismatch")


def compare_numeric(
    gold: Any, extracted: Any, params: dict[str, Any]
) -> ComparatorResult:
    """Score 1 for numbers within the tolerance, else 0.

    Booleans and text that Python reads as a number are numbers; None equals None and
    NaN equals NaN. Without a tolerance two integers are compared as they are, of any
    size, and everything else as floats. An infinite number is within no tolerance of
    another one. `tolerance` in the parameters is `rel` of the gold value's size (of 1
    where that is 0), `abs`, or both, which then must both hold; bounds are inclusive.
    """
    rel, allowed = _tolerance(params)
    if gold is None or extracted is None:
        return _numeric(_TYPE_ERROR if gold is not extracted else None)
    left, right = _number(gold), _number(extracted)
    if left is None or right is None or (left != left) != (right != right):
        return _numeric(_TYPE_ERROR)
    if left != left:
        return _numeric(None)
    if rel is None and allowed is None:
        equal = _equal(left, right)
        return _numeric(None if equal else "values differ without tolerance")
    return _numeric(_beyond(left, right, rel, allowed))


def _numeric(reason: str | None) -> ComparatorResult:
    return ComparatorResult(1.0 if reason is None else 0.0, "numeric", reason)


def _number(value: Any) -> float | int | None:
    if type(value) is float or type(value) is int:
        return value
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _equal(left: float, right: float) -> bool:
    """Compare as floats, unless both are integers or one is too large."""
    if type(left) is type(right):
        return left == right
    try:
        return float(left) == float(right)
    except OverflowError:
        return left == right


def _beyond(
    gold: float, extracted: float, rel: float | None, allowed: float | None
) -> str | None:
    gap: float | Fraction
    size: float | Fraction
    if math.inf in {abs(gold), abs(extracted)}:
        gap, size = (0.0 if gold == extracted else math.inf), 1.0
    else:
        try:
            gap = abs(float(gold) - float(extracted))
            size = abs(float(gold)) or 1.0
        except OverflowError:  # exact, whatever the size
            gap = abs(Fraction(gold) - Fraction(extracted))
            size = abs(Fraction(gold)) or Fraction(1)
    if rel is not None and gap / size > rel:
        return f"relative error exceeds {rel}"
    if allowed is not None and gap > allowed:
        return f"absolute error exceeds {allowed}"
    return None


def _tolerance(params: dict[str, Any]) -> tuple[float | None, float | None]:
    tolerance = params.get("tolerance") if params else None
    if not tolerance and (tolerance is None or isinstance(tolerance, dict)):
        return None, None
    if not isinstance(tolerance, dict):
        msg = f"tolerance {tolerance!r} must be an object with 'rel' or 'abs'"
        raise ArgumentError(msg)
    rel, allowed = tolerance.get("rel"), tolerance.get("abs")
    for name, value in (("rel", rel), ("abs", allowed)):
        if value is not None and (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not value >= 0
        ):
            msg = f"tolerance {name!r} is {value!r}: it must be a number of 0 or more"
            raise ArgumentError(msg)
    return rel, allowed


def compare_oneof(
    gold: Any, extracted: Any, params: dict[str, Any]
) -> ComparatorResult:
    """Score 1 if the extracted value is one of `values` in the parameters, else 0.

    The gold value is not looked at: list it as well.
    """
    if extracted in _values(params):
        return ComparatorResult(1.0, "oneof")
    return ComparatorResult(0.0, "oneof", "no match in values")


def _values(params: dict[str, Any]) -> list[Any]:
    values = params.get("values") if params else None
    if not isinstance(values, list):
        msg = f"'oneof' needs 'values', a list of what is right: it has {values!r}"
        raise ArgumentError(msg)
    return values


def _check_tolerance(params: dict[str, Any]) -> None:
    _tolerance(params)
    _refuse_others(params.get("tolerance") or {}, "rel", "abs")


COMPARATORS: Registry[Comparator | BatchComparator] = Registry(
    "comparator",
    ComparatorNotFoundError,
    {
        "exact": (compare_exact, (), None),
        "numeric": (compare_numeric, ("tolerance",), _check_tolerance),
        "oneof": (compare_oneof, ("values",), _values),
    },
)


def register(
    name: str, fn: Comparator | BatchComparator, *, overwrite: bool = False
) -> None:
    """Make a comparator known under a name that schemas can use.

    It takes gold value, extracted value and parameters; or, where its `is_batch` is
    True, a list of `BatchItem`. `overwrite` replaces one that was registered before;
    the built-in ones never are.
    """
    COMPARATORS.add(name, fn, "give overwrite=True", overwrite=overwrite)


def get_comparator(name: str) -> Comparator | BatchComparator:
    """Return a comparator by name."""
    return COMPARATORS.get(name)


def is_batch(comparator: Any) -> bool:
    """Return whether a comparator, or that of a name, takes whole records."""
    if isinstance(comparator, str):
        comparator = get_comparator(comparator)
    return getattr(comparator, "is_batch", False) is True


_LOG = logging.getLogger(__name__)


class CompoundComparator:
    """Scores sibling fields as one: the primary has the score, others are skipped.

    Register an instance under a name and give that name to each of the fields. Derive
    from the class and override `compare` for another notion of equality.

    A group that lacks a field scores 0 in every field it has. A group whose `compare`
    raises is a batch error, and the other groups of the record stay; in the library
    that this follows they fail with it.
    """

    is_batch = True

    def __init__(
        self, fields: Sequence[str], primary: str, name: str = "compound"
    ) -> None:
        """Name the keys of one object, and the one of them that has the score."""
        self.fields = list(fields)
        self.primary = primary
        self.name = name
        if primary not in self.fields:
            raise InputError(f"The primary field {primary!r} is none of {self.fields}.")

    def compare(
        self, gold_dict: dict[str, Any], extracted_dict: dict[str, Any]
    ) -> float:
        """Return the score of one group: 1 if all fields are equal, by default."""
        equal = all(same(gold_dict[key], extracted_dict[key]) for key in gold_dict)
        return 1.0 if equal else 0.0

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Score the groups of a record."""
        results: list[ComparatorResult | None] = [None] * len(items)
        for parent, members in _groups(items):
            self._score(parent, members, items, results)
        return results

    def _score(
        self,
        parent: str,
        members: dict[str, int],
        items: list[BatchItem],
        results: list[ComparatorResult | None],
    ) -> None:
        lacking = [key for key in self.fields if key not in members]
        if lacking:
            reason = f"incomplete compound (missing {lacking})"
            for index in members.values():
                results[index] = ComparatorResult(0.0, self.name, reason)
            return
        try:
            score = self.compare(
                {key: items[members[key]].gold_compared for key in self.fields},
                {key: items[members[key]].extracted_compared for key in self.fields},
            )
        except Exception as error:  # a custom comparison may raise what it likes
            _LOG.warning("Compound %r failed at %r: %s.", self.name, parent, error)
            return
        primary = child_path(parent, self.primary)
        for key, index in members.items():
            if key == self.primary:
                verdict = "match" if score >= 1.0 else "mismatch"
                result = ComparatorResult(score, self.name, f"compound: {verdict}")
            else:
                reason = f"compound with {primary}"
                result = ComparatorResult(0.0, self.name, reason, skip=True)
            results[index] = result


def _groups(items: list[BatchItem]) -> list[tuple[str, dict[str, int]]]:
    """Return path and members, key to position, of every object among the fields."""
    groups: list[tuple[str, dict[str, int]]] = []
    latest: dict[str, dict[str, int]] = {}
    for index, item in enumerate(items):
        parent, key = parent_path(item.path), last_key(item.path)
        if parent not in latest or key in latest[parent]:
            latest[parent] = {}
            groups.append((parent, latest[parent]))
        latest[parent][key] = index
    return groups


_MOST_DIGITS = 1_000
"""More than any float has; rounding integers to a million places takes seconds."""
_TARGETS = ("bool", "float", "int", "str")
_TRUTH = {"1": True, "true": True, "0": False, "false": False}


def _of_text(change: Callable[[str, dict[str, Any]], str]) -> Transform:
    """Make a change of texts a transform, which leaves None alone."""
    name = change.__name__.removeprefix("transform_")

    @wraps(change)
    def transform(value: Any, params: dict[str, Any]) -> Any:
        if value is None:
            return None
        if not isinstance(value, str):
            raise ArgumentError(f"transform {name!r} takes text, not {value!r:.80}")
        return change(value, params)

    return transform


@_of_text
def transform_lowercase(value: str, params: dict[str, Any]) -> str:
    """Return text in lower case; `params` has nothing."""
    return value.lower()


@_of_text
def transform_strip(value: str, params: dict[str, Any]) -> str:
    """Return text without white space at its ends; `params` has nothing."""
    return value.strip()


@_of_text
def transform_normalize_whitespace(value: str, params: dict[str, Any]) -> str:
    """Return text with one space for every run of white space, none at its ends."""
    return " ".join(value.split())


@_of_text
def transform_sort_tokens(value: str, params: dict[str, Any]) -> str:
    """Return the words of a text sorted, capitals first, with one space between."""
    return " ".join(sorted(value.split()))


def transform_round_digits(value: Any, params: dict[str, Any]) -> Any:
    """Return a number rounded as Python does, halves to the even neighbour.

    `digits` in the parameters is places after the decimal point, negative for before.
    """
    if value is None:
        return None
    digits = _digits(params)
    if not isinstance(value, int | float):
        msg = f"transform 'round_digits' takes a number, not {value!r:.80}"
        raise ArgumentError(msg)
    return round(value, digits)


def _digits(params: dict[str, Any]) -> int:
    if not params or "digits" not in params:
        raise ArgumentError("transform 'round_digits' requires 'digits'")
    try:
        digits = int(params["digits"])
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"'digits' of 'round_digits' is {params['digits']!r}: give an integer"
        raise ArgumentError(msg) from error
    if abs(digits) > _MOST_DIGITS:
        msg = f"'digits' of 'round_digits' is beyond {_MOST_DIGITS} places"
        raise ArgumentError(msg)
    return digits


def transform_type_convert(value: Any, params: dict[str, Any]) -> Any:
    """Return a value as another type, by that type's constructor.

    `to` in the parameters is bool, float, int or str. To `bool` go booleans, the
    integers 0 and 1, and the text 0, 1, true and false in any case; other values are
    refused.
    """
    if value is None:
        return None
    target = _target(params)
    try:
        if target == "bool":
            return _truth(value)
        return {"float": float, "int": int, "str": str}[target](value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"Cannot convert {value!r:.80} to {target}") from error


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if type(value) is int and value in {0, 1}:
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _TRUTH:
        return _TRUTH[value.strip().lower()]
    raise TypeError


def _target(params: dict[str, Any]) -> str:
    if not params or "to" not in params:
        raise ArgumentError("transform 'type_convert' requires 'to'")
    target = params["to"]
    if target not in _TARGETS:
        msg = f"'to' of 'type_convert' is {target!r}: must be one of {list(_TARGETS)}"
        raise ArgumentError(msg)
    return str(target)


TRANSFORMS: Registry[Transform] = Registry(
    "transform",
    TransformNotFoundError,
    {
        "lowercase": (transform_lowercase, (), None),
        "normalize_whitespace": (transform_normalize_whitespace, (), None),
        "round_digits": (transform_round_digits, ("digits",), _digits),
        "sort_tokens": (transform_sort_tokens, (), None),
        "strip": (transform_strip, (), None),
        "type_convert": (transform_type_convert, ("to",), _target),
    },
)


def register_transform(name: str, fn: Transform) -> None:
    """Make a transform known under a name that schemas can use."""
    TRANSFORMS.add(name, fn, "take another name")


def get_transform(name: str) -> Transform:
    """Return a transform by name."""
    return TRANSFORMS.get(name)
