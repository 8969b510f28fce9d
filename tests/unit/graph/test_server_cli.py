"""The `server` commands where no server runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from knowtrail.graph.cli.server import server
from knowtrail.graph.errors import SettingsError
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def invoke(home: Path, *arguments: str) -> Result:
    """Run a `server` command for a folder."""
    settings = Settings.from_env(env={}, home=home)
    return CliRunner().invoke(server, arguments, obj=settings)


def test_status_without_server_says_how_to_start_one(tmp_path: Path) -> None:
    """No server is a failure that names the command to run."""
    result = invoke(tmp_path / "a b", "status")

    assert result.exit_code == 1
    assert f"knowtrail --home '{tmp_path}/a b' server start" in result.output


def test_hints_call_the_program_as_its_user_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout that is `uv run`; the usual folder need not be named."""
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.setenv("KNOWTRAIL_HOME", str(tmp_path))

    result = invoke(tmp_path, "status")

    assert result.output.endswith("To start one: uv run knowtrail server start\n")


def test_status_as_json(tmp_path: Path) -> None:
    """Machines get the same as JSON."""
    result = invoke(tmp_path, "status", "--json")

    assert json.loads(result.output) == {"running": False, "home": str(tmp_path)}


def test_the_option_wins_over_the_settings(tmp_path: Path) -> None:
    """A home given to the sub-command is the one that is looked at."""
    result = invoke(tmp_path / "one", "status", "--home", str(tmp_path / "two"))

    assert f"No server runs in {tmp_path / 'two'}" in result.output


def test_stop_without_server_succeeds(tmp_path: Path) -> None:
    """Stopping what does not run is no failure."""
    result = invoke(tmp_path, "stop")

    assert result.exit_code == 0
    assert "No server was running" in result.output


def test_logs_of_a_folder_without_server(tmp_path: Path) -> None:
    """A folder without a log has an empty one."""
    result = invoke(tmp_path, "logs")

    assert result.output == "The log is empty.\n"


def test_start_refuses_an_impossible_version(tmp_path: Path) -> None:
    """A version that is no release is a mistake of the user."""
    result = invoke(tmp_path, "start", "--neo4j", "latest")

    assert isinstance(result.exception, SettingsError)
    assert not tmp_path.joinpath("server").exists()


@pytest.mark.parametrize("port", ["0", "70000", "bolt"])
def test_start_refuses_an_impossible_port(tmp_path: Path, port: str) -> None:
    """A port outside of the possible is refused before anything starts."""
    result = invoke(tmp_path, "start", "--port", port)

    assert result.exit_code == 2
