"""Spans: what a call spent its time on, told to OpenTelemetry and to a listener.

Without a configured OpenTelemetry SDK its interface does nothing. Names of spans begin
with `knowtrail.`; attributes are names and counts, never texts of users or documents.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry import trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    Attributes: TypeAlias = Mapping[str, str | int | float | bool]
    Listener: TypeAlias = Callable[[str, Attributes], AbstractContextManager[object]]

_TRACER = trace.get_tracer("knowtrail")
_LISTENER: ContextVar[Listener | None] = ContextVar("listener of spans", default=None)


@contextmanager
def span(name: str, **attributes: str | int | float | bool | None) -> Iterator[None]:
    """Tell how long something takes; not to be held across a `yield` to a caller.

    Attributes that are None are left out.
    """
    told = {key: value for key, value in attributes.items() if value is not None}
    with ExitStack() as stack:
        whole = {f"knowtrail.{key}": value for key, value in told.items()}
        stack.enter_context(
            _TRACER.start_as_current_span(f"knowtrail.{name}", attributes=whole)
        )
        if (listener := _LISTENER.get()) is not None:
            stack.enter_context(listener(name, told))
        yield


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener open a context of its own for each span of this task."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
