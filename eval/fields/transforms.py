"""What can be done to both values of a field before they are compared.

The built-in transforms return None for None. A custom one is given None as well, and
may make something of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.comparators import check_registration
from knowtrail.eval.fields.errors import ArgumentError, TransformNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.eval.fields.comparators import Transform

_MOST_DIGITS = 1_000
"""More than any float has; rounding integers to a million places takes seconds."""
_TARGETS = ("bool", "float", "int", "str")
_TRUTH = {"1": True, "true": True, "0": False, "false": False}


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        msg = f"transform {name!r} takes text, not {value!r:.80}"
        raise ArgumentError(msg)
    return value


def transform_lowercase(value: Any, params: dict[str, Any]) -> Any:
    """Return text in lower case; `params` has nothing.

    Raises:
        ArgumentError: If it is no text.
    """
    return None if value is None else _text(value, "lowercase").lower()


def transform_strip(value: Any, params: dict[str, Any]) -> Any:
    """Return text without white space at its ends; `params` has nothing.

    Raises:
        ArgumentError: If it is no text.
    """
    return None if value is None else _text(value, "strip").strip()


def transform_normalize_whitespace(value: Any, params: dict[str, Any]) -> Any:
    """Return text with one space for every run of white space, none at its ends.

    Raises:
        ArgumentError: If it is no text.
    """
    return (
        None
        if value is None
        else " ".join(_text(value, "normalize_whitespace").split())
    )


def transform_sort_tokens(value: Any, params: dict[str, Any]) -> Any:
    """Return the words of a text sorted, capitals first, with one space between.

    Raises:
        ArgumentError: If it is no text.
    """
    return (
        None if value is None else " ".join(sorted(_text(value, "sort_tokens").split()))
    )


def transform_round_digits(value: Any, params: dict[str, Any]) -> Any:
    """Return a number rounded as Python does, halves to the even neighbour.

    Args:
        value: An integer, a float or None.
        params: `digits`: places after the decimal point, negative for before it.

    Raises:
        ArgumentError: If it is no number, or there are no digits.
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
        msg = "transform 'round_digits' requires 'digits'"
        raise ArgumentError(msg)
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

    To `bool` go booleans, the integers 0 and 1, and the text 0, 1, true and false in
    any case; other values are refused.

    Args:
        value: Any value.
        params: `to`: bool, float, int or str.

    Raises:
        ArgumentError: If the value cannot be converted, or there is no such type.
    """
    if value is None:
        return None
    target = _target(params)
    try:
        if target == "bool":
            return _truth(value)
        return {"float": float, "int": int, "str": str}[target](value)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"Cannot convert {value!r:.80} to {target}"
        raise ArgumentError(msg) from error


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
        msg = "transform 'type_convert' requires 'to'"
        raise ArgumentError(msg)
    target = params["to"]
    if target not in _TARGETS:
        msg = f"'to' of 'type_convert' is {target!r}: must be one of {list(_TARGETS)}"
        raise ArgumentError(msg)
    return str(target)


_CHECKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "round_digits": _digits,
    "type_convert": _target,
}
_PARAMS = {"round_digits": {"digits"}, "type_convert": {"to"}}
_BUILT_IN: dict[str, Transform] = {
    "lowercase": transform_lowercase,
    "normalize_whitespace": transform_normalize_whitespace,
    "round_digits": transform_round_digits,
    "sort_tokens": transform_sort_tokens,
    "strip": transform_strip,
    "type_convert": transform_type_convert,
}
_REGISTERED: dict[str, Transform] = {}


def register_transform(name: str, fn: Transform) -> None:
    """Make a transform known under a name that schemas can use.

    Args:
        name: What schemas call it.
        fn: Takes value and parameters, and returns the value to compare.

    Raises:
        ArgumentError: If it cannot be called, or the name is no text.
        InputError: If the name is taken.
    """
    check_registration(
        "transform",
        name,
        fn,
        built_in=_BUILT_IN,
        taken=_REGISTERED,
        remedy="take another name",
    )
    _REGISTERED[name] = fn


def get_transform(name: str) -> Transform:
    """Return a transform by name.

    Args:
        name: What schemas call it.

    Raises:
        TransformNotFoundError: If none has the name; the message lists those known.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    known = ", ".join(sorted({*_REGISTERED, *_BUILT_IN}))
    msg = f"Unknown transform: {name!r}. Known are {known}."
    raise TransformNotFoundError(msg)


def check_transform_params(name: str, params: dict[str, Any]) -> None:
    """Refuse parameters that the transform cannot use.

    Args:
        name: A registered transform.
        params: What a schema gives it.

    Raises:
        ValueError: If they are wrong; a custom transform's own check may raise
            `TypeError` instead.
    """
    transform = get_transform(name)
    if name not in _BUILT_IN:
        if callable(check := getattr(transform, "check_params", None)):
            check(params)
        return
    known = _PARAMS.get(name, set())
    if unknown := sorted(str(key) for key in params if key not in known):
        msg = f"unknown parameters {unknown}: known are {sorted(known) or 'none'}"
        raise ArgumentError(msg)
    if name in _CHECKS:
        _CHECKS[name](params)
