"""All that a managed server stores, written into a file and put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError, ServerError
from knowtrail.graph.server.lease import join_server
from knowtrail.graph.server.loading import dump_store, load_store, stopped_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from tests.command_line import typed
from tests.java import short_lived

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

OLDER = "5.26.30"


@pytest.fixture(autouse=True)
def _short() -> Iterator[None]:
    """Start servers that live for seconds."""
    with short_lived(OLDER), short_lived():
        yield


def _store(home: Path, text: str) -> None:
    """Store a text in a folder's server."""
    with open_connection(Settings.from_env(env={}, home=home)) as connection:
        connection.run_schema("MERGE (n:Note) SET n.text = $text", text=text)


def _stored(home: Path) -> str:
    """Return the text that a folder's server stores."""
    with open_connection(Settings.from_env(env={}, home=home)) as connection:
        rows = connection.query("MATCH (n:Note) RETURN n.text AS text")
        return str(rows[0]["text"])


def test_what_was_dumped_comes_back(tmp_path: Path) -> None:
    """What came later is gone then; a file that is there is not written over."""
    home, file = tmp_path / "home", tmp_path / "all.dump"
    _store(home, "before")

    done = typed("--home", home, "server", "dump", file)
    assert (done.code, "MB to" in done.out) == (0, True)
    assert file.stat().st_mode & 0o077 == 0
    _store(home, "after")
    again = typed("--home", home, "server", "dump", file)
    assert (again.code, "is there already" in again.errors[0]) == (2, True)
    assert _stored(home) == "after"

    loaded = typed("--home", home, "server", "load", file, "--yes")
    assert loaded.code == 0
    assert _stored(home) == "before"
    assert [path.name for path in tmp_path.iterdir() if path != home] == ["all.dump"]


def test_a_newer_line_loads_what_an_older_one_dumped(tmp_path: Path) -> None:
    """A store of 5.26 goes on in 2026, in a home that was new."""
    old, new, file = tmp_path / "old", tmp_path / "new", tmp_path / "all.dump"
    join_server(old, version=OLDER).close()
    _store(old, "kept")
    with stopped_server(old):
        dump_store(old, file)

    done = typed("--home", new, "server", "load", file, "--yes")

    assert done.code == 0
    assert _stored(new) == "kept"


def test_what_cannot_be_done_leaves_what_there_is(tmp_path: Path) -> None:
    """A server in use, a file that is none, a folder without a store: one line each."""
    home, file = tmp_path / "home", tmp_path / "broken.dump"
    _store(home, "before")
    file.write_bytes(b"no dump")

    with (
        join_server(home),
        pytest.raises(ServerError, match="in use by another"),
        stopped_server(home),
    ):
        pass
    with stopped_server(home):
        with pytest.raises(ServerError, match="admin tool failed"):
            load_store(home, file)
        with pytest.raises(InputError, match="is no file"):
            load_store(home, tmp_path / "none")
        with pytest.raises(InputError, match="in no folder"):
            dump_store(home, tmp_path / "none" / "all.dump")
    with pytest.raises(InputError, match="Nothing is stored"):
        dump_store(tmp_path / "elsewhere", tmp_path / "all.dump")

    assert _stored(home) == "before"
