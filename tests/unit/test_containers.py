"""Image, compose file and manifest are sound, as far as that shows without Docker."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from knowtrail.graph.settings import DEFAULT_NEO4J

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "version"
]
IMAGE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
OBJECTS = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text("utf-8")))


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


def test_only_neo4j_starts_without_a_profile() -> None:
    """Knowtrail's own image and Ollama are asked for by name."""
    assert {name: service.get("profiles") for name, service in SERVICES.items()} == {
        "neo4j": None,
        "knowtrail": ["knowtrail"],
        "ollama": ["ollama"],
    }


def test_every_named_volume_is_declared() -> None:
    """Data lives in volumes that outlast the containers."""
    used = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service["volumes"]
    }

    assert used == set(COMPOSE["volumes"])


def test_image_passes_the_linter() -> None:
    """Hadolint finds nothing in the Dockerfile."""
    program = Path(sys.executable).with_name("hadolint")

    done = subprocess.run(
        [program, ROOT / "Dockerfile"], capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_image_runs_as_nobody_in_particular_and_says_whether_it_lives() -> None:
    """A user by number, the data in a volume, a check that needs no shell."""
    last = IMAGE.rpartition("\nFROM ")[2]

    assert re.search(r"^USER \d{5}$", last, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", last, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK [^\n]*\n\s+CMD \[", last, re.MULTILINE)


def test_image_has_what_the_wheel_is_made_of() -> None:
    """What the build file names is let into the build, and nothing else is."""
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "hatch"
    ]["build"]["targets"]["wheel"]

    assert let_in == {
        *(wheel["force-include"]),
        *(path.partition("/")[0] for path in wheel["only-include"]),
        *("pyproject.toml", "README.md", "LICENSE"),
    }


def test_manifest_is_what_kubernetes_takes() -> None:
    """Every object passes the schema of its kind, with no property too many."""
    assert [one["kind"] for one in OBJECTS] == ["Service", "StatefulSet"]

    for one in OBJECTS:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), True)


def test_pod_is_restricted_and_single() -> None:
    """No root, no privileges, no writable image, and one writer of the disk."""
    spec = OBJECTS[1]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]

    assert spec["replicas"] == 1
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"USER {pod['securityContext']['runAsUser']}\n" in IMAGE
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_image_has_the_version_of_the_package() -> None:
    """Compose file and manifest name the image that is built here."""
    container = OBJECTS[1]["spec"]["template"]["spec"]["containers"][0]

    assert SERVICES["knowtrail"]["image"] == f"knowtrail:{VERSION}"
    assert container["image"] == f"knowtrail:{VERSION}"
