"""Run benchmarks, each printing a small table with both sides of every ratio.

    python benchmarks/run.py NAME [--small] [options]

NAME is one of write-path, edges, whole-ingest, memory, basic-retrieval, auto, broad,
haystack, walks, help-time, commands, fields, sparql, zelo, zelo-simulation,
zelo-adaptive, zelo-musique, rerank, py2neo, peers, terms, growth, bulk, questions,
research, agent, ray-engine, dump-reading, embedding, endure, fuzz, or all.
Those that need a server start one of their own in a temporary folder, unless NEO4J_URI
names one; those that load by the bulk door, and ray-engine, always do.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # for the tests' helpers

NAMES = (
    "write-path",
    "edges",
    "whole-ingest",
    "memory",
    "basic-retrieval",
    "auto",
    "broad",
    "haystack",
    "walks",
    "help-time",
    "commands",
    "fields",
    "sparql",
    "zelo",
    "zelo-simulation",
    "zelo-adaptive",
    "zelo-musique",
    "rerank",
    "py2neo",
    "peers",
    "terms",
    "growth",
    "bulk",
    "questions",
    "research",
    "agent",
    "endure",
    "fuzz",
    "ray-engine",
    "dump-reading",
    "embedding",
)


def commands() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command line, and that of each benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in NAMES:
        module = benchmark(name)
        summary = (module.__doc__ or "").partition("\n")[0].replace("%", "%%")
        command = found.add_parser(name, help=summary, description=module.__doc__)
        command.add_argument("--small", action="store_true", help="a quick check")
        module.arguments(command)
    every = found.add_parser("all", help="all of them with their defaults")
    every.add_argument("--small", action="store_true", help="quick checks")
    return parser, found.choices


def benchmark(name: str) -> Any:
    """Return the module of a benchmark."""
    return importlib.import_module(name.replace("-", "_"))


def main() -> None:
    """Read the command line and run what it names."""
    parser, _ = commands()
    given = parser.parse_args()
    for name in NAMES if given.name == "all" else (given.name,):
        if given.name == "all":
            arguments = [name, "--small"] if given.small else [name]
            benchmark(name).run(parser.parse_args(arguments))
        else:
            benchmark(name).run(given)


if __name__ == "__main__":
    main()
