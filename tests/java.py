"""Java as it suits servers that live for minutes."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.server.install import install_server
from knowtrail.graph.settings import DEFAULT_NEO4J

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARIABLE = "JAVA_TOOL_OPTIONS"
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"


_CONFIGURATION = """\
dbms.cypher.statistics_divergence_threshold=1.0
dbms.cypher.min_replan_interval=10h
internal.cypher.expression_engine=INTERPRETED
internal.cypher.use_parameter_size=false
server.memory.query_cache.per_db_cache_num_entries=10000
"""
"""Tests fill and empty databases: a plan is not made anew each time, nor by size."""


def plan_once(home: Path) -> None:
    """Let the server of a new home keep its plans, and compile no expressions."""
    folder = home / "server" / "conf"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "server").chmod(0o700)
    (folder / "own.conf").write_text(_CONFIGURATION, "utf-8")


@contextmanager
def short_lived(*versions: str) -> Iterator[None]:
    """Let servers that start in here compile less: they end before it would pay.

    Installation comes first, since its class archive is for servers of every kind.
    Where the user chose options, nothing changes.

    Args:
        *versions: Neo4j versions of the servers, where not the default one.
    """
    if os.environ.get(_VARIABLE):
        yield
        return
    for version in versions or (DEFAULT_NEO4J,):
        install_server(Path(), version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_VARIABLE, _OPTIONS)
        yield
