"""The reference pages name everything there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from graph.cli import _COMMANDS
from graph.settings import _ENVIRONMENT, Settings
from graph.statements import statement_names, statement_record

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
COMMANDS = (FOLDER / "command-line.md").read_text("utf-8")
SETTINGS = (FOLDER / "settings.md").read_text("utf-8")


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_is_described(name: str) -> None:
    """The table of commands has a row for each."""
    assert re.search(rf"^\| `{name}\b", COMMANDS, re.MULTILINE)


@pytest.mark.parametrize(
    "name", [name for name in statement_names() if name.startswith("inspect/")]
)
def test_every_saved_query_is_described(name: str) -> None:
    """The table of saved queries has a row for each, with its parameters."""
    query = statement_record(name)
    row = f"| `{name.removeprefix('inspect/')}` | {', '.join(query.params)} |"

    assert row in COMMANDS


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_described(field: object) -> None:
    """The table of settings has a row for each, with its variable and default."""
    name = field.name  # type: ignore[attr-defined]
    row = re.search(rf"^\| `{name}` \| `(\w+)` \| (.*?) \|", SETTINGS, re.MULTILINE)

    assert row is not None
    assert row[1] == _ENVIRONMENT[name]
    default = field.default  # type: ignore[attr-defined]
    assert not isinstance(default, str) or f"`{default}`" in row[2]
