"""Fits of many queries at once against the published iteration, query by query.

Each query has documents with true relevances and four cycles of battles, answered by
three simulated judges. The published side is its iteration over a matrix of wins with
numpy, for each query until it settles; ours is the fit of greatest likelihood with
standard errors. Sides run in turn in one process. Peak memory is that which
Python and numpy allocate during a fit.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
from measure import Table, spread
from simulated_judges import simulate

from knowtrail.eval.zelo.fit import fit_battles

if TYPE_CHECKING:
    import argparse

    from knowtrail.eval.zelo.fit import Battles, Fit, Method


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--queries", type=int, help="queries (default 1000)")
    parser.add_argument("--documents", type=int, default=100, help="of each (100)")
    parser.add_argument("--cycles", type=int, default=4, help="of each query (4)")
    parser.add_argument("--repeats", type=int, help="rounds (default 1)")


def run(given: argparse.Namespace) -> None:
    """Fit the same battles both ways and print both."""
    count = given.queries or (50 if given.small else 1000)
    repeats = given.repeats or 1
    queries = [
        simulate(given.documents, cycles=given.cycles, seed=seed).sparse(given.cycles)
        for seed in range(count)
    ]
    for battles in queries[:10]:
        fit_battles(battles)
    seconds: dict[Method, list[float]] = {"published": [], "maximum_likelihood": []}
    used: dict[Method, list[float]] = {"published": [], "maximum_likelihood": []}
    fits: dict[Method, list[Fit]] = {}
    for _ in range(repeats):
        for method, times in seconds.items():
            begin, own = time.perf_counter(), time.process_time()
            fits[method] = [fit_battles(one, method=method) for one in queries]
            times.append(time.perf_counter() - begin)
            used[method].append(time.process_time() - own)
    pairs = given.documents * given.cycles
    table = Table(
        title=f"zelo: fits of {count:,} queries x {given.documents} documents x "
        f"{pairs} pairs, {repeats} rounds",
        columns=(
            "side",
            "seconds",
            "times faster",
            "CPU s",
            "steps a query",
            "peak MB",
        ),
    )
    base = seconds["published"]
    for method, times in seconds.items():
        faster = [a / b for a, b in zip(base, times, strict=True)]
        table.add(
            "published iteration" if method == "published" else "greatest likelihood",
            spread(times),
            spread(faster, "{:.1f}x"),
            spread(used[method]),
            f"{np.mean([fit.iterations for fit in fits[method]]):.0f}",
            f"{_peak(queries, method):.0f}",
        )
    settled = np.mean([fit.converged for fit in fits["published"]])
    table.notes.append(
        f"At least 20x is wanted. The published iteration settles for {settled:.0%} "
        "of the queries; only ours has standard errors."
    )
    table.print()


def _peak(queries: list[Battles], method: Method) -> float:
    """Return the megabytes that a fit allocates at most, beyond its input."""
    some = queries if method == "maximum_likelihood" else queries[:20]
    tracemalloc.start()
    fits = [fit_battles(one, method=method) for one in some]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del fits
    return peak / 1e6
