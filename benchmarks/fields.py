"""Field-level evaluation of arrays in any order against deepdiff with ignore_order.

Both are given the same records: an array of elements, shuffled and with some fields
changed. Both are to say which fields differ when the elements are paired; ours scores
every field and counts precision, recall and F1 as well. deepdiff is run as it comes,
and told to consider every pair, as ours does. It is slow, so it reads the first records
only (`--peer-records`).
"""

from __future__ import annotations

import importlib.metadata
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from measure import Table, spread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

ELEMENTS, LEAVES = 20, 5
Records = list[dict[str, Any]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--records", type=int, help="records (default 1000)")
    parser.add_argument("--peer-records", type=int, help="of deepdiff (default 40)")
    parser.add_argument("--repeats", type=int, help="runs of each (default 5)")


def run(given: argparse.Namespace) -> None:
    """Time both in turn and print the table."""
    records = given.records or (100 if given.small else 1_000)
    of_peer = min(records, given.peer_records or (4 if given.small else 40))
    repeats = given.repeats or (1 if given.small else 5)
    gold, extracted, planted = made(records)
    sides: dict[str, tuple[Callable[[Records, Records], int], int]] = {
        f"ours, {records} records": (ours, records),
        f"ours, {of_peer} records": (ours, of_peer),
        f"deepdiff as it comes, {of_peer} records": (_deepdiff({}), of_peer),
        f"deepdiff, every pair, {of_peer} records": (
            _deepdiff({
                "cutoff_intersection_for_pairs": 1,
                "cutoff_distance_for_pairs": 1,
                "max_passes": 10_000_000,
            }),
            of_peer,
        ),
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    told: dict[str, int] = {}
    for number in range(repeats + 1):
        for name, (work, count) in sides.items():
            if number == 0 and work is not ours:
                continue
            begin = time.perf_counter()
            told[name] = work(gold[:count], extracted[:count])
            if number:
                rates[name].append(count / (time.perf_counter() - begin))
    table = Table(
        title=f"fields: arrays of {ELEMENTS} elements with {LEAVES} fields each "
        f"({ELEMENTS * LEAVES} leaf fields a record), {repeats} runs of each",
        columns=("side", "records/s", "differences told", "fields changed"),
    )
    for name, (_, count) in sides.items():
        table.add(
            name,
            spread(rates[name], "{:,.1f}"),
            f"{told[name]:,}",
            f"{sum(planted[:count]):,}",
        )
    mine, *_, peer, thorough = (statistics.median(rate) for rate in rates.values())
    table.notes.append(
        f"deepdiff {importlib.metadata.version('deepdiff')}. Ours is "
        f"{mine / peer:,.0f} times as fast as deepdiff as it comes, and "
        f"{mine / thorough:,.0f} times as fast as with every pair (wanted: faster). "
        "Where deepdiff does not pair two elements it tells of one that was added and "
        "one that was removed."
    )
    table.print()


def made(records: int) -> tuple[Records, Records, list[int]]:
    """Return gold, shuffled extractions with mistakes, and mistakes per record."""
    source = random.Random(7)
    gold = [
        {"elements": [_element(source) for _ in range(ELEMENTS)]}
        for _ in range(records)
    ]
    extracted, planted = [], []
    for record in gold:
        elements = [dict(element) for element in record["elements"]]
        changed = 0
        for element in elements:
            if source.random() < 0.3:
                element["value"] += 1
                changed += 1
            if source.random() < 0.1:
                element["name"] += " (sic)"
                changed += 1
        source.shuffle(elements)
        extracted.append({"elements": elements})
        planted.append(changed)
    return gold, extracted, planted


def _element(source: random.Random) -> dict[str, Any]:
    return {
        "name": f"sensor {source.randrange(100_000)}",
        "unit": source.choice(["m", "s", "kg", "K"]),
        "value": source.randrange(10_000) / 10,
        "count": source.randrange(10),
        "active": source.random() < 0.5,
    }


def ours(gold: Records, extracted: Records) -> int:
    """Evaluate, and count the fields that are no match."""
    from knowtrail.eval.fields import annotate_xeval, evaluate, infer_schema

    schema = annotate_xeval(infer_schema(gold))
    schema["properties"]["elements"]["x-eval-align"] = {"match_by": "hungarian"}
    run = evaluate(gold, extracted, schema)
    return run.total_fields - sum(at.matches for at in run.per_field.values())


def _deepdiff(options: dict[str, Any]) -> Callable[[Records, Records], int]:
    from deepdiff import DeepDiff

    def work(gold: Records, extracted: Records) -> int:
        count = 0
        for left, right in zip(gold, extracted, strict=True):
            found = DeepDiff(left, right, ignore_order=True, **options)
            count += sum(len(places) for places in found.values())
        return count

    return work
