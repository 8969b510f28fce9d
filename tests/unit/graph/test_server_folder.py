"""The files and locks of a server's folder."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import ServerError, StorageError
from knowtrail.graph.server.dbms import choose_port
from knowtrail.graph.server.folder import (
    RunningServer,
    ServerFolder,
    read_log,
    server_status,
    stop_server,
)

if TYPE_CHECKING:
    from pathlib import Path

STATE = RunningServer(pid=1, port=7687, version="2026.08.1", stays=False)


@pytest.fixture
def folder(tmp_path: Path) -> ServerFolder:
    """Return a folder that exists."""
    folder = ServerFolder(tmp_path)
    folder.create()
    return folder


def mode_of(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_create_closes_the_folder_to_others(folder: ServerFolder) -> None:
    """The folder can be entered by its user only."""
    assert mode_of(folder.root) == 0o700


def test_create_says_when_the_home_is_a_file(tmp_path: Path) -> None:
    """A home that is a file is reported with its path."""
    home = tmp_path / "file"
    home.write_text("", "utf-8")

    with pytest.raises(StorageError, match=r"Cannot write .*file"):
        ServerFolder(home).create()


def test_password_is_random_and_private(folder: ServerFolder) -> None:
    """Each new password differs, is long, and only its user can read the file."""
    first = folder.new_password()
    second = folder.new_password()

    assert first != second
    assert len(second) >= 32
    assert folder.read_password() == second
    assert mode_of(folder.password_file) == 0o600


def test_password_file_is_replaced_not_written_into(folder: ServerFolder) -> None:
    """A file that others could read loses that with the new password."""
    folder.password_file.write_text("old", "utf-8")
    folder.password_file.chmod(0o644)

    folder.new_password()

    assert mode_of(folder.password_file) == 0o600


def test_info_hides_the_password(folder: ServerFolder) -> None:
    """The representation of a server's description has no password in it."""
    password = folder.new_password()

    info = folder.info(STATE)

    assert info.password == password
    assert password not in repr(info)


def test_state_round_trip(folder: ServerFolder) -> None:
    """What a server writes down about itself can be read back."""
    folder.write_state(STATE)

    assert folder.read_state() == STATE


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": 1}', "\ufffd"])
def test_damaged_state_reads_as_none(folder: ServerFolder, text: str) -> None:
    """A damaged description of a server counts as none."""
    folder.state_file.write_text(text, "utf-8")

    assert folder.read_state() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"neo4j": 5}'])
def test_damaged_version_record_reads_as_none(folder: ServerFolder, text: str) -> None:
    """A damaged record of the version counts as none."""
    (folder.root / "folder.json").write_text(text, "utf-8")

    assert folder.recorded_version() is None


def test_version_record_round_trip(folder: ServerFolder) -> None:
    """The version that opened the data can be read back."""
    folder.record("5.26.30", 7700)

    assert folder.recorded_version() == "5.26.30"
    assert folder.recorded_port() == 7700


def test_the_port_that_was_chosen_is_kept_while_it_is_free() -> None:
    """The folder's last port comes first; another is chosen while it is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        last = taken.getsockname()[1]
        other = choose_port(None, last)

    assert other != last
    assert choose_port(None, last) == last


def test_exclusive_lock_excludes_a_shared_one(folder: ServerFolder) -> None:
    """Nobody joins while one holds a lock for itself."""
    holder, other = folder.lock("clients"), folder.lock("clients")

    taken = holder.acquire()
    refused = other.acquire(shared=True)
    holder.release()

    assert taken
    assert not refused
    assert other.acquire(shared=True)
    other.release()


def test_shared_locks_go_together_and_exclude_the_exclusive(
    folder: ServerFolder,
) -> None:
    """Several clients hold a lock at once, and as long as one does it is not free."""
    one, two, last = (folder.lock("clients") for _ in range(3))

    both = one.acquire(shared=True) and two.acquire(shared=True)
    one.release()

    assert both
    assert not last.acquire()
    two.release()
    assert last.acquire()
    last.release()


def test_server_lock_says_who_lives(folder: ServerFolder) -> None:
    """A server counts as alive while its lock is held, with the id it left there."""
    lock = folder.lock("server")
    lock.acquire()
    lock.note("4711")

    alive, pid = folder.is_alive(), folder.server_pid()
    lock.release()

    assert (alive, pid) == (True, 4711)
    assert not folder.is_alive()
    assert folder.server_pid() is None


def test_changing_gives_up_after_its_time(folder: ServerFolder) -> None:
    """Whoever cannot start or stop in time hears that another one does."""
    with (
        folder.changing(1),
        pytest.raises(ServerError, match="starting or stopping"),
        folder.changing(0),
    ):
        pytest.fail("two processes changed the folder at once")


def test_status_does_not_believe_the_file_alone(folder: ServerFolder) -> None:
    """A stale description whose process id belongs to somebody else is no server."""
    folder.write_state(
        RunningServer(pid=os.getpid(), port=7687, version="2026.08.1", stays=True)
    )

    assert server_status(folder.home) is None


def test_status_and_stop_of_an_absent_folder(tmp_path: Path) -> None:
    """A folder that was never used has no server, and looking does not make it."""
    home = tmp_path / "never"

    assert server_status(home) is None
    assert stop_server(home) is False
    assert not home.exists()


def test_log_gives_the_last_lines(folder: ServerFolder) -> None:
    """The end of the log comes oldest line first, however many are asked for."""
    folder.log.write_text("a\nb\nc\n", "utf-8")

    assert read_log(folder.home, 2) == ["b", "c"]
    assert read_log(folder.home, 10) == ["a", "b", "c"]


def test_log_of_an_absent_folder_is_empty(tmp_path: Path) -> None:
    """No log is an empty log."""
    assert read_log(tmp_path / "never", 5) == []


def test_home_is_closed_to_others(tmp_path: Path) -> None:
    """Nobody else may enter a home folder that is made, or the server's folder."""
    home = tmp_path / "above" / "home"
    ServerFolder(home).create()

    assert [mode_of(path) for path in (home, home / "server")] == [0o700, 0o700]


def test_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """A folder of the user's that is chosen as home stays open to its others."""
    tmp_path.chmod(0o755)
    ServerFolder(tmp_path).create()

    assert [mode_of(path) for path in (tmp_path, tmp_path / "server")] == [
        0o755,
        0o700,
    ]
