"""The compose file is sound as far as that can be told without an engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from knowtrail.graph.settings import DEFAULT_NEO4J

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text("utf-8"))
SERVICES = COMPOSE["services"]


@pytest.mark.parametrize("service", SERVICES)
def test_images_are_pinned(service: str) -> None:
    """No image is whatever is newest on the day."""
    image = re.sub(r"\$\{\w+:-([^}]+)\}", r"\1", SERVICES[service]["image"])

    assert re.search(r":\d+\.\d+\.\d+(-community)?$", image)


def test_server_is_the_one_that_is_tested() -> None:
    """The image's default version is that of the managed server."""
    assert SERVICES["neo4j"]["image"] == (
        f"neo4j:${{KNOWTRAIL_NEO4J:-{DEFAULT_NEO4J}}}-community"
    )


@pytest.mark.parametrize("service", SERVICES)
def test_ports_are_loopback_only(service: str) -> None:
    """Nothing is open to the network unless somebody opens it."""
    ports = SERVICES[service]["ports"]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_password_has_no_default() -> None:
    """Without a password compose stops and says so."""
    auth = SERVICES["neo4j"]["environment"]["NEO4J_AUTH"]

    assert re.fullmatch(r"neo4j/\$\{NEO4J_PASSWORD:\?[^}]+\}", auth)


def test_client_variables_stay_outside() -> None:
    """The image takes NEO4J_URI and its like for server settings and refuses them."""
    names = set(SERVICES["neo4j"]["environment"])

    assert names & {"NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD"} == set()


def test_health_is_asked_over_bolt() -> None:
    """The check logs in over Bolt with the variable that the image has."""
    check = SERVICES["neo4j"]["healthcheck"]["test"]

    assert check[0] == "CMD-SHELL"
    assert "bolt://127.0.0.1:7687" in check[1]
    assert "$${NEO4J_AUTH#*/}" in check[1]


def test_language_model_is_optional() -> None:
    """Only a profile starts Ollama."""
    assert SERVICES["ollama"]["profiles"] == ["ollama"]
    assert "profiles" not in SERVICES["neo4j"]


def test_every_named_volume_is_declared() -> None:
    """Data lives in volumes that outlast the containers."""
    used = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service["volumes"]
    }

    assert used == set(COMPOSE["volumes"])
