"""What the driver raises, as our errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from neo4j import Address
from neo4j.exceptions import Neo4jError

from knowtrail.graph.db.driver import driver_options, translate_errors
from knowtrail.graph.errors import DatabaseError, InputError, UnavailableError
from knowtrail.graph.server.folder import ServerFolder
from knowtrail.graph.settings import Settings


def test_half_a_character_is_refused_in_one_line() -> None:
    r"""JSON can hold `\ud83e`, which the driver cannot send."""
    with (
        pytest.raises(InputError, match="not valid text at character 4"),
        translate_errors(),
    ):
        "Ice\ud83e".encode()


def test_search_in_an_index_that_is_being_built_says_so() -> None:
    """The server says it as a defect of a procedure."""
    error = Neo4jError._hydrate_neo4j(
        code="Neo.ClientError.Procedure.ProcedureCallFailed",
        message="Failed to invoke procedure `db.index.vector.queryNodes`: Caused by: "
        "java.lang.IllegalStateException: Expected index to come online within a "
        "reasonable time.",
    )

    with pytest.raises(DatabaseError, match="still being built"), translate_errors():
        raise error


def test_too_many_files_are_the_reason_for_a_managed_server_too(
    tmp_path: Path,
) -> None:
    """Looking for where it is takes a file, too."""
    resource = pytest.importorskip("resource")
    ServerFolder(tmp_path).create()
    options = driver_options(Settings(home=tmp_path, managed=True))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open("rb") as next_one:
        room = next_one.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, hard))
    try:
        with pytest.raises(UnavailableError, match="too many open files"):
            options["resolver"](Address(("127.0.0.1", 1)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
