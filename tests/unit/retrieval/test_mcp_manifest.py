"""The description of the server for the registry of the protocol."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import closing
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

from knowtrail.graph.cli.root import _COMMANDS
from knowtrail.graph.settings import _ENVIRONMENT, Settings
from knowtrail.retrieval.mcp.server import build_server
from knowtrail.retrieval.mcp.tools import Tools
from tests.command_line import ROOT

MANIFEST = json.loads((ROOT / "server.json").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_it_has_what_the_registry_wants() -> None:
    """Name in reverse DNS form, a short description, one exact version throughout."""
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", MANIFEST["name"])
    assert f"mcp-name: {MANIFEST['name']} " in (ROOT / "README.md").read_text("utf-8")
    assert 1 <= len(MANIFEST["description"]) <= 100
    (package,) = MANIFEST["packages"]
    versions = {MANIFEST["version"], package["version"]}
    assert versions == {PROJECT["version"]}
    assert (package["registryType"], package["identifier"]) == ("pypi", PROJECT["name"])
    assert package["transport"] == {"type": "stdio"}
    assert package["runtimeHint"] == "uvx"


def test_it_names_commands_extras_and_variables_that_are_there() -> None:
    """A client that puts the words together starts the server."""
    (package,) = MANIFEST["packages"]
    (start,), (command,) = package["runtimeArguments"], package["packageArguments"]
    assert (start["type"], start["name"]) == ("named", "--from")
    extra = re.fullmatch(r"knowtrail\[(\w+)\]", start["value"])
    assert extra
    assert extra[1] in PROJECT["optional-dependencies"]
    assert package["identifier"] in PROJECT["scripts"]
    assert (command["type"], command["value"] in _COMMANDS) == ("positional", True)
    for variable in package["environmentVariables"]:
        assert variable["name"] in _ENVIRONMENT.values()
        assert variable.get("isSecret", False) == ("PASSWORD" in variable["name"])


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_it_declares_no_change_that_it_does_not_tell_of(era: Any) -> None:
    """Lists change with the database, of which no server of ours hears."""
    with closing(Tools(None, Settings())) as tools:  # type: ignore[arg-type]
        async with Client(build_server(tools), mode=era) as asking:
            declared = asking.server_capabilities.model_dump_json(exclude_none=True)

    assert '"tools":{' in declared
    assert "true" not in declared


async def test_several_callers_read_no_statements() -> None:
    """A statement would find what others have asked."""
    names = []
    for alone in (True, False):
        with closing(Tools(None, Settings())) as tools:  # type: ignore[arg-type]
            listed = await MCPServer.list_tools(build_server(tools, alone=alone))
        names.append({tool.name for tool in listed})

    assert names[0] - names[1] == {"read_cypher"}
