"""Reading and parsing a dump, against wikiextractor, in an environment of its own.

Both write the text of each article as JSON Lines, in processes that run in turn;
wikiextractor without templates, which is its fastest way, with one worker. Texts of
twenty pages are compared by length and by their words.
"""

from __future__ import annotations

import bz2
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
PEER = "wikiextractor==3.1.0"
_WORD = re.compile(r"\w+")

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--copies", type=int, default=3, help="of the sample's pages")
    parser.add_argument("--repeats", type=int, default=3)


def read(dump: Path, target: Path) -> None:
    """Write the articles of a dump as lines of JSON."""
    from knowtrail.ingest.prepare import parse
    from knowtrail.ingest.records import RawDocument
    from knowtrail.ingest.sources.dump import DumpSource

    with target.open("w", encoding="utf-8") as file:
        for item in DumpSource([dump]).items():
            if isinstance(item, RawDocument):
                row = {"title": item.title, "text": parse(item).text}
                file.write(json.dumps(row) + "\n")


def _texts(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["title"]: row["text"] for row in rows if row["text"].strip()}


def _timed(words: list[str], target: Path | None = None) -> tuple[float, float]:
    """Return the CPU seconds and the clock of a process and its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    kept = {
        k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}
    }
    with (target or Path(os.devnull)).open("wb") as out:
        subprocess.run(
            words, stdout=out, stderr=subprocess.DEVNULL, check=True, env=kept
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, time.perf_counter() - start


def run(given: argparse.Namespace) -> None:
    """Read with both, in turn, and print the table."""
    from measure import Table, spread
    from sample import DUMP, copied_pages

    if not DUMP.is_file():
        print("The shared sample of Wikipedia is not here.")
        return
    copies, repeats = (1, 1) if given.small else (given.copies, given.repeats)
    with tempfile.TemporaryDirectory(prefix="knowtrail-dump-") as name:
        folder = Path(name)
        dump, ours, theirs = (folder / n for n in ("d.xml.bz2", "ours", "theirs"))
        dump.write_bytes(bz2.compress(copied_pages(copies)))
        uv = shutil.which("uv") or f"{Path(sys.executable).parent}/uv"
        peer = [
            uv, "run", "--no-project", "--isolated", "--quiet", "--python",
            sys.executable, "--with", PEER, "python", "-P", "-m",
            "wikiextractor.WikiExtractor", "--json", "--no-templates", "--quiet",
        ]  # fmt: skip
        own = [sys.executable, __file__, str(dump), str(ours)]
        _timed([*peer, "--help"])  # fetches it
        sides: dict[str, list[tuple[float, float]]] = {"knowtrail": [], PEER: []}
        for _ in range(repeats):
            sides["knowtrail"].append(_timed(own))
            sides[PEER].append(_timed([*peer, "-o", "-", str(dump)], theirs))
        pair = _texts(ours), _texts(theirs)
        table = Table(
            f"Reading and parsing a dump: {len(pair[0])} articles x {copies}, "
            f"{repeats} times",
            ("side", "CPU s", "clock s", "articles with text", "characters"),
        )
        for (side, took), texts in zip(sides.items(), pair, strict=True):
            cpu, clock = ([row[n] for row in took] for n in (0, 1))
            size = f"{sum(map(len, texts.values())):,}"
            table.add(side, spread(cpu), spread(clock), str(len(texts)), size)
        ratio = np.median([row[0] for row in sides["knowtrail"]]) / np.median([
            row[0] for row in sides[PEER]
        ])
        table.notes = [f"CPU of ours over theirs: {ratio:.2f}x.", _compared(*pair)]
        table.print()


def _compared(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Say how long the texts of twenty pages are, and which words they share."""
    both: list[Any] = sorted(ours.keys() & theirs.keys())
    pages = both[:: max(1, len(both) // 20)][:20]
    lengths = [len(ours[p]) / len(theirs[p]) for p in pages]
    shares = []
    for page in pages:
        own, peer = (Counter(_WORD.findall(t[page])) for t in (ours, theirs))
        same = (own & peer).total()
        shares.append((same / peer.total(), same / own.total()))
    found = np.array(shares).T
    length = f"{np.median(lengths):.2f} ({min(lengths):.2f}, {max(lengths):.2f})"
    mine, other = (f"{np.median(x):.1%} ({x.min():.1%}, {x.max():.1%})" for x in found)
    return (
        f"Of {len(pages)} pages, medians (least, most): length {length} of theirs; "
        f"ours has {mine} of their words, theirs {other} of ours."
    )


if __name__ == "__main__":
    read(Path(sys.argv[1]), Path(sys.argv[2]))
