"""The socket, the key and the extra, before anything is started."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest

from graph.cli import main
from graph.errors import PortInUseError, SettingsError
from graph.settings import Settings
from retrieval.cli_serve import _rules
from retrieval.serve.guard import LOOPBACK_NAMES
from retrieval.serve.running import is_loopback, listen

if TYPE_CHECKING:
    from pathlib import Path

KEY = "0123456789abcdef-KEY"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.5", False),
        ("graph.example", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    """A name that is not known to be this machine's alone counts as elsewhere."""
    assert is_loopback(host) is loopback


def test_free_port_is_taken() -> None:
    """Port 0 gives one."""
    with listen("127.0.0.1", 0) as bound:
        assert bound.getsockname()[1] > 0


def test_taken_port_is_one_clear_error() -> None:
    """The message has the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"Port {port} .* --port"):
            listen("127.0.0.1", port)


def test_address_of_another_machine_is_refused() -> None:
    """A documentation address is nobody's."""
    with pytest.raises(SettingsError, match=r"Cannot listen on '203\.0\.113\.1'"):
        listen("203.0.113.1", 0)


def test_loopback_needs_no_key(tmp_path: Path) -> None:
    """Neither is one made."""
    rules = _rules(Settings.from_env(env={}, home=tmp_path), None, (), near=True)

    assert (rules.key, rules.hosts) == (None, LOOPBACK_NAMES)
    assert list(tmp_path.iterdir()) == []


def test_key_is_made_for_other_addresses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its place is told, not the key."""
    rules = _rules(Settings.from_env(env={}, home=tmp_path), None, (), near=False)

    told = capsys.readouterr().err
    assert rules.key == (tmp_path / "serve.key").read_text("utf-8").strip()
    assert rules.hosts is None
    assert str(tmp_path / "serve.key") in told
    assert str(rules.key) not in told


def test_file_wins_over_setting(tmp_path: Path) -> None:
    """And the setting over none, on loopback too."""
    (tmp_path / "key").write_text(KEY, "utf-8")
    settings = Settings.from_env(env={"KNOWTRAIL_SERVE_KEY": "setting-" + KEY})

    rules = _rules(settings, tmp_path / "key", ("Graph.example",), near=True)
    without = _rules(settings, None, ("Graph.example",), near=False)

    assert (rules.key, without.key) == (KEY, "setting-" + KEY)
    assert "graph.example" in (rules.hosts or ())
    assert "graph.example" in (without.hosts or ())
    assert KEY not in repr(settings)


def test_missing_extra_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Somebody who installed the bare package is told what to install."""
    for name in [n for n in sys.modules if n.startswith("retrieval.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    with pytest.raises(SystemExit) as ended:
        main([f"--home={tmp_path}", "serve", "--port", "0"])

    assert ended.value.code == 1
    assert "pip install 'knowtrail[serve]'" in capsys.readouterr().err
