"""Readers of what others write, given texts that nearly fit, for long."""

from __future__ import annotations

import logging
import random
import re
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from measure import MIB, Table

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--minutes", type=float, help="of CPU time a target (default 10)"
    )
    parser.add_argument("--only", nargs="+", help="targets")
    parser.add_argument("--seed", type=int, default=0, help="of what is tried")


def run(given: argparse.Namespace) -> None:
    """Try each target in a process of its own; write what is found beside us."""
    from tests.fuzzing import TARGETS

    minutes = given.minutes or (0.02 if given.small else 10.0)
    table = Table(
        title=f"fuzz: {minutes:g} CPU minutes each",
        columns=("target", "tried", "finds", "slowest, CPU s", "memory, MiB"),
    )
    for name in given.only or TARGETS:
        with ProcessPoolExecutor(1, get_context("spawn")) as child:
            try:
                cells, finds = child.submit(
                    tried, name, minutes * 60, given.seed
                ).result()
            except BrokenProcessPool:
                cells, finds = ("-", "the process died", "-", "-"), {}
        table.add(name, *cells)
        print(*table.rows[-1], flush=True)
        for number, (place, data) in enumerate(finds.items()):
            path = Path(f"fuzz-{name}-{number}")
            path.write_bytes(data)
            table.notes.append(f"{path}: {place}")
    table.print()


def tried(
    name: str, seconds: float, seed: int
) -> tuple[tuple[str, ...], dict[str, bytes]]:
    """Try a target; return its row, and the shortest find of each place."""
    from tests.fuzzing import attempt, edited, edits_by, seeds

    logging.disable()
    warnings.simplefilter("ignore")
    known, chance = seeds(name), random.Random(seed)
    finds: dict[str, bytes] = {}
    count, slowest, end = 0, 0.0, time.process_time() + seconds
    while time.process_time() < end:
        begin = time.process_time()
        data = edited(chance.choice(known), edits_by(chance))
        count += 1
        try:
            attempt(name, data)
        except BaseException as error:  # what Rust panics with is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {at.filename}:{at.lineno}"
            finds[place] = min(data, finds.get(place, data), key=len)
        slowest = max(slowest, time.process_time() - begin)
    (held,) = re.findall(
        r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("utf-8")
    )
    peak = int(held) * 1024 / MIB
    return (f"{count:,}", str(len(finds)), f"{slowest:.1f}", f"{peak:.0f}"), finds
