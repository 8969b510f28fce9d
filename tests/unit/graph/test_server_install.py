"""Versions, lists of jars and configuration of the managed server."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.server.dbms import DbmsSpec, configuration
from knowtrail.graph.server.install import (
    check_version,
    installed_jars,
    jar_folder,
    line_of,
    listed_jars,
)
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = ("2026.08.1", "5.26.30")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder that is used instead of the user's."""
    monkeypatch.setattr(
        "platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache")
    )
    return tmp_path / "cache"


@pytest.mark.parametrize("version", [*VERSIONS, "2025.01.0", "5.26.0", "6.0.1"])
def test_releases_are_accepted(version: str) -> None:
    """Releases from 5.26 on can be named."""
    assert check_version(version) == version


@each(
    "version", ["", "5", "5.26", "5.25.9", "4.4.3", "latest", "../5.26.3", "5.26.3\n"]
)
def test_other_versions_are_refused(version: str) -> None:
    """Older releases and words are refused with an example."""
    with pytest.raises(SettingsError, match="such as"):
        check_version(version)


@pytest.mark.parametrize(
    ("version", "line"),
    [("5.26.30", "5"), ("2025.01.0", "calendar"), ("2026.08.1", "calendar")],
)
def test_line_of_a_version(version: str, line: str) -> None:
    """Calendar releases are one line, 5.x is another."""
    assert line_of(version) == line


@pytest.mark.parametrize("version", VERSIONS)
def test_listed_jars_are_complete_entries(version: str) -> None:
    """Each entry has a checksum and a file name of its own; the server comes first."""
    jars = listed_jars(version)

    assert [jar.artifact for jar in jars[:2]] == ["neo4j", "neo4j-server"]
    assert {jar.version for jar in jars[:2]} == {version}
    assert all(len(jar.digest or "") == 64 for jar in jars)
    assert len({jar.name for jar in jars}) == len(jars) > 200


def test_place_of_a_jar_with_a_classifier() -> None:
    """A classifier becomes part of the file name."""
    jar = next(jar for jar in listed_jars("2026.08.1") if jar.classifier)

    assert jar.path.startswith("io/netty/")
    assert jar.path.endswith(f"{jar.version}-{jar.classifier}.jar")


def test_a_version_without_a_list_has_no_jars_yet() -> None:
    """Other versions are worked out when they are installed."""
    assert listed_jars("5.26.0") == []


def test_nothing_is_installed_in_an_empty_cache(cache: Path) -> None:
    """An absent folder holds no server."""
    assert installed_jars("2026.08.1") == []
    assert not cache.exists()


def test_a_missing_jar_makes_an_installation_incomplete(cache: Path) -> None:
    """A class path with a hole is no class path."""
    folder = jar_folder("2026.08.1")
    folder.mkdir(parents=True)
    (folder / "classpath").write_text("a.jar\nb.jar\n", "utf-8")
    (folder / "a.jar").touch()

    before = installed_jars("2026.08.1")
    (folder / "b.jar").touch()

    assert before == []
    assert installed_jars("2026.08.1") == [folder / "a.jar", folder / "b.jar"]


def test_configuration_is_closed_to_the_network(tmp_path: Path) -> None:
    """Only Bolt is open, on loopback and with authentication; nothing is reported."""
    spec = DbmsSpec(root=tmp_path, port=17687, page_cache="64m")

    settings = configuration(spec)

    assert settings["dbms.security.auth_enabled"] == "true"
    assert settings["server.bolt.enabled"] == "true"
    assert settings["server.bolt.listen_address"] == "127.0.0.1:17687"
    assert settings["server.default_listen_address"] == "127.0.0.1"
    assert settings["dbms.usage_report.enabled"] == "false"
    assert settings["server.fleet_discovery.enabled"] == "false"


def test_load_csv_is_kept_to_this_machine_unless_asked_otherwise(
    tmp_path: Path,
) -> None:
    """Every address but loopback is blocked, or none."""
    spec = DbmsSpec(root=tmp_path, port=None, page_cache="64m")
    remote = replace(spec, load_csv="remote")

    blocked, none = (
        configuration(one)["internal.dbms.cypher_ip_blocklist"]
        for one in (spec, remote)
    )

    nets = [ip_network(part) for part in blocked.split(",")]
    tried = "127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fd00::2"
    assert [one for one in tried if not any(ip_address(one) in n for n in nets)] == [
        "127.0.0.1",
        "::1",
    ]
    assert not none


def test_configuration_without_port_keeps_bolt_closed(tmp_path: Path) -> None:
    """While a password is set, no connection is taken."""
    spec = DbmsSpec(root=tmp_path, port=None, page_cache="64m")

    assert configuration(spec)["server.bolt.enabled"] == "false"
