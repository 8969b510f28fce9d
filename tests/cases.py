"""Tables of cases: one test that reports each case that fails."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pytest

    Test = Callable[..., None]


def each(
    names: str | tuple[str, ...], cases: Iterable[Any] | Mapping[str, Any]
) -> Callable[[Test], Test]:
    """Run a test for every case, within one test: a large table costs little.

    It has its fixtures once: what a case leaves in them, the next one finds.

    Args:
        names: The parameter that a case gives, or the parameters.
        cases: A value each, or a tuple where there are several parameters; a mapping
            names its cases.
    """
    single = isinstance(names, str)
    parameters = (names,) if isinstance(names, str) else names
    named = dict(cases) if isinstance(cases, Mapping) else dict(enumerate(cases))
    rows = {name: (case,) if single else case for name, case in named.items()}

    def decorate(test: Test) -> Test:
        @wraps(test)
        def every(subtests: pytest.Subtests, **fixtures: Any) -> None:
            assert rows, "there are no cases"
            for name, row in rows.items():
                given = dict(zip(parameters, row, strict=True))
                with subtests.test(str(name), **given):
                    test(**given, **fixtures)

        signature = inspect.signature(test)
        fixtures = [
            p for p in signature.parameters.values() if p.name not in parameters
        ]
        own = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        every.__signature__ = signature.replace(parameters=[own, *fixtures])  # type: ignore[attr-defined]
        return every

    return decorate
