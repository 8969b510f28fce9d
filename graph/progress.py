"""How long work tells of itself, and progress bars on stderr that show it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Progress", "progress_bars", "silent"]


class Progress(Protocol):
    """Called as a stage of long work moves on; must be quick and must not raise."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Take note that `done` of `total` are finished (None where unknown)."""
        ...


def silent(stage: str, done: int, total: int | None) -> None:
    """Take no notice."""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a callback that draws one bar for each stage it is told of.

    Where stderr is not a terminal, each stage is written once, on a line of its own.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import (
        Progress as Bars,
    )

    console = Console(stderr=True)
    tasks: dict[str, TaskID] = {}
    if not console.is_terminal:
        seen: set[str] = set()

        def tell(stage: str, done: int, total: int | None) -> None:
            if stage not in seen:
                seen.add(stage)
                console.print(f"{stage} ...", markup=False, highlight=False)

        yield tell
        return
    with Bars(
        SpinnerColumn(),
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as bars:

        def draw(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield draw
