"""Spans: what a call spent its time on, told to OpenTelemetry and to a listener.

Without a configured OpenTelemetry SDK its interface does nothing. Names of spans begin
with `knowtrail.`; attributes are names and counts, never texts of users or documents.
"""

from __future__ import annotations

from contextlib import ExitStack, aclosing, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from opentelemetry import trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    Attributes: TypeAlias = Mapping[str, str | int | float | bool]
    Listener: TypeAlias = Callable[[str, Attributes], AbstractContextManager[object]]

T = TypeVar("T")
_TRACER = trace.get_tracer("knowtrail")
_LISTENER: ContextVar[Listener] = ContextVar("spans", default=lambda *_: nullcontext())


@contextmanager
def span(name: str, **attributes: str | int | float | bool | None) -> Iterator[None]:
    """Tell how long something takes; across a `yield`, `each_within` holds it.

    Attributes that are None are left out. Of an error its type alone is told.
    """
    told = {key: value for key, value in attributes.items() if value is not None}
    with (
        _TRACER.start_as_current_span(
            f"knowtrail.{name}",
            attributes={f"knowtrail.{key}": value for key, value in told.items()},
            record_exception=False,
            set_status_on_exception=False,
        ) as own,
        _LISTENER.get()(name, told),
    ):
        try:
            yield
        except Exception as error:
            if getattr(error, "exit_code", 1):  # else a command is done, as by --help
                own.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


async def each_within(
    manager: AbstractContextManager[object], pieces: AsyncGenerator[T]
) -> AsyncGenerator[T]:
    """Yield pieces, each made within a context that is not the caller's meanwhile.

    What entering it sets, such as the current span, holds while a piece is made.
    """
    within = copy_context()
    within.run(manager.__enter__)
    made = [(v, value) for v, value in within.items() if v.get(None) is not value]
    with ExitStack() as stack:
        stack.push(lambda *told: within.run(manager.__exit__, *told))
        async with aclosing(pieces):
            while True:
                tokens = [(variable, variable.set(value)) for variable, value in made]
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                finally:
                    for variable, token in tokens:
                        variable.reset(token)
                yield piece


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener open a context of its own for each span of this task."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
