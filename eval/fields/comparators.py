"""The comparators that score one field, and the table of all registered ones.

The table belongs to the process: a comparator that is registered serves every
evaluation after it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from eval.fields.errors import ArgumentError, ComparatorNotFoundError
from eval.fields.registry import check_registration
from eval.fields.specs import ComparatorResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.fields.specs import BatchComparator, Comparator

__all__ = [
    "check_comparator_params",
    "compare_exact",
    "compare_numeric",
    "compare_oneof",
    "get_comparator",
    "is_batch",
    "register",
    "same",
]

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

    Args:
        gold: The value as it should be.
        extracted: The value as it was extracted.
        params: None are known.
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
    another one: the library that this follows takes any number for an infinite gold
    value under a relative tolerance, and fails for integers that no float can hold.

    Args:
        gold: The value as it should be.
        extracted: The value as it was extracted.
        params: `tolerance`: `rel` of the gold value's size (of 1 where that is 0),
            `abs`, or both, which then must both hold; bounds are inclusive.

    Raises:
        ArgumentError: If the tolerance cannot be read.
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
    """Return a value as a number, None where it is none."""
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
    """Return which tolerance a pair exceeds, None if none."""
    try:
        infinite = math.isinf(gold) or math.isinf(extracted)
        gap: float | Fraction = abs(float(gold) - float(extracted))
        size: float | Fraction = abs(float(gold)) or 1.0
    except OverflowError:
        infinite = math.inf in {gold, extracted} or -math.inf in {gold, extracted}
        if not infinite:
            gap = abs(Fraction(gold) - Fraction(extracted))
            size = abs(Fraction(gold)) or Fraction(1)
    if infinite:
        if gold == extracted:
            return None
        gap, size = math.inf, 1.0
    if rel is not None and gap / size > rel:
        return f"relative error exceeds {rel}"
    if allowed is not None and gap > allowed:
        return f"absolute error exceeds {allowed}"
    return None


def _tolerance(params: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the relative and the absolute tolerance, None where there is none."""
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
    """Score 1 if the extracted value is one of those listed, else 0.

    The gold value is not looked at: list it as well.

    Args:
        gold: The value as it should be.
        extracted: The value as it was extracted.
        params: `values`, the list.

    Raises:
        ArgumentError: If there is no list.
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


def _check_none(params: dict[str, Any]) -> None:
    _known(params, ())


def _check_numeric(params: dict[str, Any]) -> None:
    _known(params, ("tolerance",))
    _tolerance(params)
    _known(params.get("tolerance") or {}, ("rel", "abs"))


def _check_oneof(params: dict[str, Any]) -> None:
    _known(params, ("values",))
    _values(params)


def _known(params: dict[str, Any], names: tuple[str, ...]) -> None:
    """Refuse parameters of other names."""
    unknown = sorted(str(name) for name in params if name not in names)
    if unknown:
        known = ", ".join(names) or "none"
        msg = f"unknown parameters {unknown}: known are {known}"
        raise ArgumentError(msg)


_BUILT_IN: dict[str, tuple[Comparator, Callable[[dict[str, Any]], None]]] = {
    "exact": (compare_exact, _check_none),
    "numeric": (compare_numeric, _check_numeric),
    "oneof": (compare_oneof, _check_oneof),
}
_REGISTERED: dict[str, Comparator | BatchComparator] = {}


def register(
    name: str, fn: Comparator | BatchComparator, *, overwrite: bool = False
) -> None:
    """Make a comparator known under a name that schemas can use.

    Args:
        name: What schemas call it.
        fn: Takes gold value, extracted value and parameters; or, where its `is_batch`
            is True, a list of `BatchItem`.
        overwrite: Whether one that was registered before may be replaced; the
            built-in ones never are.

    Raises:
        ArgumentError: If it cannot be called, or the name is no text.
        InputError: If the name is taken.
    """
    check_registration(
        "comparator",
        name,
        fn,
        built_in=_BUILT_IN,
        taken=() if overwrite else _REGISTERED,
        remedy="give overwrite=True",
    )
    _REGISTERED[name] = fn


def get_comparator(name: str) -> Comparator | BatchComparator:
    """Return a comparator by name.

    Args:
        name: What schemas call it.

    Raises:
        ComparatorNotFoundError: If none has the name; the message lists those known.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in _BUILT_IN:
        return _BUILT_IN[name][0]
    known = ", ".join(sorted({*_REGISTERED, *_BUILT_IN}))
    msg = f"Unknown comparator: {name!r}. Known are {known}; others need register()."
    raise ComparatorNotFoundError(msg)


def is_batch(comparator: Any) -> bool:
    """Return whether a comparator, or that of a name, takes whole records."""
    if isinstance(comparator, str):
        comparator = get_comparator(comparator)
    return getattr(comparator, "is_batch", False) is True


def check_comparator_params(name: str, params: dict[str, Any]) -> None:
    """Refuse parameters that the comparator cannot use.

    Args:
        name: A registered comparator.
        params: What a schema gives it.

    Raises:
        ValueError: If they are wrong; a custom comparator's own check may raise
            `TypeError` instead.
    """
    comparator = get_comparator(name)
    if name in _BUILT_IN:
        _BUILT_IN[name][1](params)
    elif callable(check := getattr(comparator, "check_params", None)):
        check(params)
