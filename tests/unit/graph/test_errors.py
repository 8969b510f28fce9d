"""The error tree is as its documentation draws it."""

from __future__ import annotations

import re

from knowtrail.graph import errors
from tests.cases import each

_BUILTINS = {
    "SettingsError": ValueError,
    "InputError": ValueError,
    "UnknownCorpusError": LookupError,
    "UnknownAlgorithmError": LookupError,
    "CredentialsError": PermissionError,
    "UnavailableError": ConnectionError,
    "PortInUseError": OSError,
    "StorageError": OSError,
    "MissingExtraError": ImportError,
}


NAMES = sorted(name for name, kind in vars(errors).items() if isinstance(kind, type))


@each("name", NAMES)
def test_every_error_has_the_root(name: str) -> None:
    """One except clause catches everything that is raised on purpose."""
    assert issubclass(getattr(errors, name), errors.KnowtrailError)


@each(("name", "builtin"), _BUILTINS.items())
def test_errors_are_the_builtin_a_caller_would_catch(
    name: str, builtin: type[Exception]
) -> None:
    """Callers who do not know the tree catch the usual kind."""
    assert issubclass(getattr(errors, name), builtin)


def test_the_drawn_tree_is_complete() -> None:
    """The picture in the documentation has every error and no other."""
    drawn = set(re.findall(r"\b[A-Z]\w+Error\b", errors.__doc__.split("```")[1]))

    ours = {name for name in drawn if hasattr(errors, name)}

    assert ours == set(NAMES)


@each("name", NAMES)
def test_errors_carry_one_plain_message(name: str) -> None:
    """An error made with one message shows just that."""
    assert str(getattr(errors, name)("What, value: what to do.")) == (
        "What, value: what to do."
    )
