"""The start of the command against that of a bare interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Table, spread

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repeats", type=int, help="starts of each (default 15)")


def run(given: argparse.Namespace) -> None:
    """Start both in turn and print the table."""
    repeats = given.repeats or (3 if given.small else 15)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "knowtrail --help": [
            str(Path(sys.executable).with_name("knowtrail")),
            "--help",
        ],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(repeats + 1):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if number:
                times[name].append(time.perf_counter() - begin)
    table = Table(
        title=f"help-time: {repeats} starts of each",
        columns=("command", "seconds"),
    )
    for name, seconds in times.items():
        table.add(name, spread(seconds, "{:.3f}"))
    bare, ours = (statistics.median(seconds) for seconds in times.values())
    table.notes.append(
        f"Difference (at most 0.3 s is wanted): {ours - bare:.3f} s by medians, "
        f"{min(times['knowtrail --help']) - min(times['python -c pass']):.3f} s by "
        "best runs."
    )
    table.print()
