"""How long work tells of itself, and progress bars on stderr that show it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

_TOLD_EVERY = 10.0
"""Seconds between two lines where no bar can be drawn."""
_SILENT = 3
"""So many times that, nothing having moved, until it is said again."""


Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called as a stage of long work moves on, with its name, how much is finished and of
how much (None where unknown); must be quick and must not raise."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Take no notice."""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a callback that draws one bar for each stage it is told of.

    Where stderr is not a terminal, each stage is written on a line of its own when it
    begins, every 10 seconds while it moves on, and when it is done.
    """
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        write = partial(console.print, markup=False, highlight=False)
        with _lines(write) as tell:
            yield tell
        return
    tasks: dict[str, rich.TaskID] = {}
    with rich.Progress(
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description:<22}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        console=console,
    ) as bars:

        def draw(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield draw


@contextmanager
def _lines(write: Callable[[str], object]) -> Iterator[Progress]:
    """Yield a callback whose stages are written as lines, also while it is silent."""
    begin = time.monotonic()
    latest: dict[str, str] = {}
    told: dict[str, float] = {}
    said: dict[str, str] = {}
    whole: dict[str, bool] = {}
    lock = threading.Lock()
    ended = threading.Event()

    def count(stage: str) -> None:
        over = whole[stage] and said.get(stage) == latest[stage]
        told[stage], said[stage] = time.monotonic(), latest[stage]
        line = f"after {stage}: still at it," if over else latest[stage]
        write(f"{line} {told[stage] - begin:,.0f} s")

    def tell(stage: str, done: int, total: int | None) -> None:
        with lock:
            if stage not in latest:
                write(f"{stage} ...")
            latest.pop(stage, None)
            of = "" if total is None else f" of {total:,}"
            begun = f"still at 0{of}," if of else "still at it,"
            latest[stage] = f"{stage}: {f'{done:,}{of} after' if done else begun}"
            recent = time.monotonic() - told.get(stage, -_TOLD_EVERY) < _TOLD_EVERY
            whole[stage] = total is not None and 1 < total == done
            if whole[stage] and said.get(stage) != latest[stage] and not recent:
                count(stage)

    def repeat() -> None:
        silent = 0
        while not ended.wait(_TOLD_EVERY):
            with lock:
                for stage in [*latest][-1:]:
                    silent = silent + 1 if said.get(stage) == latest[stage] else 0
                    if silent % _SILENT == 0:
                        count(stage)

    thread = threading.Thread(target=repeat, name="knowtrail-progress", daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        ended.set()
        thread.join()
        for stage in latest:
            if whole[stage] and said.get(stage) != latest[stage]:
                count(stage)
