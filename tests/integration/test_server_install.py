"""Fetching the server's jars, from a Maven repository on this machine."""

from __future__ import annotations

from hashlib import sha1, sha256
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InstallError
from knowtrail.graph.server import install
from knowtrail.graph.server.install import Jar, fetch_jars, resolve_jars

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_httpserver import HTTPServer

pytestmark = pytest.mark.integration

CONTENT = b"PK\3\4 not much of a jar"
JAR = Jar(
    group="org.example",
    artifact="part",
    version="1.0",
    digest=sha256(CONTENT).hexdigest(),
)
UNSIGNED = Jar(group="org.example", artifact="part", version="1.0")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>{group}</groupId><artifactId>{artifact}</artifactId>
<version>{version}</version><dependencies>{needs}</dependencies></project>"""
NEED = """<dependency><groupId>org.example</groupId><artifactId>part</artifactId>
<version>1.0</version><scope>{scope}</scope></dependency>"""


@pytest.fixture
def repository(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """Return a local repository that is used instead of the public one."""
    url = httpserver.url_for("").rstrip("/")
    monkeypatch.setattr(install, "_repositories", lambda: {"local": url})
    monkeypatch.setattr(install, "TRIES", 1)
    return httpserver


def serve(repository: HTTPServer, jar: Jar, content: bytes = CONTENT) -> None:
    """Offer a jar and the sum that belongs to `CONTENT`."""
    repository.expect_request(f"/{jar.path}").respond_with_data(content)
    stated = sha1(CONTENT, usedforsecurity=False).hexdigest()
    repository.expect_request(f"/{jar.path}.sha1").respond_with_data(f"{stated}  x")


def serve_pom(repository: HTTPServer, name: str, version: str, needs: str = "") -> None:
    """Offer the description of an artifact."""
    group, _, artifact = name.partition(":")
    folder = f"/{group.replace('.', '/')}/{artifact}/{version}"
    text = POM.format(group=group, artifact=artifact, version=version, needs=needs)
    path = f"{folder}/{artifact}-{version}.pom"
    repository.expect_request(path).respond_with_data(text)


def test_jar_is_fetched_and_checked(repository: HTTPServer, tmp_path: Path) -> None:
    """A jar with the listed sum is stored and counted."""
    serve(repository, JAR)
    told: list[tuple[int, int | None]] = []

    fetch_jars(
        "5.26.0", [JAR], tmp_path, lambda _, done, total: told.append((done, total))
    )

    assert (tmp_path / JAR.name).read_bytes() == CONTENT
    assert told == [(1, 1)]


@pytest.mark.parametrize("jar", [JAR, UNSIGNED])
def test_changed_jar_is_refused(
    repository: HTTPServer, tmp_path: Path, jar: Jar
) -> None:
    """Content with another sum than listed, or stated, is not stored."""
    serve(repository, jar, CONTENT + b"!")

    with pytest.raises(InstallError, match="checksum is wrong"):
        fetch_jars("5.26.0", [jar], tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_fetched_jars_are_not_fetched_again(
    repository: HTTPServer, tmp_path: Path
) -> None:
    """What an interrupted download got is used; what it damaged is not."""
    serve(repository, JAR)
    (tmp_path / JAR.name).write_bytes(CONTENT[:5])

    fetch_jars("5.26.0", [JAR], tmp_path)
    fetch_jars("5.26.0", [JAR], tmp_path)

    assert (tmp_path / JAR.name).read_bytes() == CONTENT
    assert len(repository.log) == 1


def test_unknown_jar_names_its_place(repository: HTTPServer, tmp_path: Path) -> None:
    """A jar that no repository has is named."""
    repository.expect_request("/other").respond_with_data(b"")
    repository.no_handler_status_code = 404

    with pytest.raises(InstallError, match=r"No Maven repository has .*part-1\.0\.jar"):
        fetch_jars("5.26.0", [JAR], tmp_path)


def test_server_error_says_what_to_do(repository: HTTPServer, tmp_path: Path) -> None:
    """A repository that fails is reported with what to do."""
    repository.expect_request(f"/{JAR.path}").respond_with_data(b"", status=503)

    with pytest.raises(InstallError, match=r"503.*knowtrail server install once with"):
        fetch_jars("5.26.0", [JAR], tmp_path)


def test_no_network_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without network and jars the message says to install once with network."""
    monkeypatch.setattr(
        install, "_repositories", lambda: {"closed": "http://127.0.0.1:9"}
    )
    monkeypatch.setattr(install, "TRIES", 1)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path))

    with pytest.raises(InstallError, match=r"not installed.*server install once with"):
        install.install_server(tmp_path / "home", "2026.08.1")


def test_version_without_a_list_is_resolved(
    repository: HTTPServer, tmp_path: Path
) -> None:
    """Other versions are worked out from Maven's descriptions, without test parts."""
    serve_pom(repository, "org.neo4j:neo4j", "9.9.9", NEED.format(scope="compile"))
    serve_pom(repository, "org.neo4j.app:neo4j-server", "9.9.9")
    serve_pom(repository, "org.example:part", "1.0", NEED.format(scope="test"))

    jars = resolve_jars("9.9.9", tmp_path)

    assert [jar.name for jar in jars] == [
        "neo4j-9.9.9.jar",
        "neo4j-server-9.9.9.jar",
        "part-1.0.jar",
    ]


def test_unknown_version_says_so(repository: HTTPServer, tmp_path: Path) -> None:
    """A version that the repository does not have is reported in one line."""
    repository.no_handler_status_code = 404
    repository.expect_request("/other").respond_with_data(b"")

    with pytest.raises(InstallError, match=r"Neo4j 9\.9\.9 is not installed"):
        resolve_jars("9.9.9", tmp_path)
