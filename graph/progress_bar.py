"""Progress bars on stderr for the stages of long work."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["progress_bars"]


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a callback that draws one bar for each stage it is told of.

    Where stderr is not a terminal, each stage is written once, on a line of its own.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
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
    with Progress(
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
