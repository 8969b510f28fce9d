"""What follows from a server's version."""

from __future__ import annotations

import pytest

from knowtrail.graph.db.connection import Capabilities, capabilities_from
from knowtrail.graph.errors import DatabaseError


def _of(version: str) -> Capabilities:
    return capabilities_from([
        {"name": "Cypher", "version": "5", "edition": ""},
        {"name": "Neo4j Kernel", "version": version, "edition": "community"},
    ])


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("2026.08.1", (2026, 8, 1)),
        ("5.26.30", (5, 26, 30)),
        ("5.27-aura", (5, 27)),
        ("2026.09.0-12345", (2026, 9, 0)),
    ],
)
def test_version_is_read(version: str, numbers: tuple[int, ...]) -> None:
    """Releases, patches and cloud versions are numbers to compare."""
    assert _of(version).version == numbers


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("5.26.30", (False, False, False)),
        ("2025.12.0", (False, False, False)),
        ("2026.01.0", (True, True, False)),
        ("2026.08.1", (True, True, True)),
    ],
)
def test_features_follow_from_the_version(
    version: str, expected: tuple[bool, ...]
) -> None:
    """Each feature begins with the release that brought it."""
    able = _of(version)

    assert (
        able.search,
        able.filtered_vector_index,
        able.quantization_type,
    ) == expected


@pytest.mark.parametrize("version", ["4.4.40", "5.25.1"])
def test_old_server_is_refused(version: str) -> None:
    """A server that lacks what every statement needs is named as too old."""
    with pytest.raises(DatabaseError, match="too old"):
        _of(version)


def test_nameless_server_is_refused() -> None:
    """Something that speaks Bolt and is no Neo4j is refused."""
    with pytest.raises(DatabaseError, match="does not say"):
        capabilities_from([])
