"""A class archive (Java's AOT cache) that makes every start of the server faster.

Most of a start is Java loading, checking and linking some ten thousand classes. Java
24 and later can store the result: one training run with a throw-away database records
what a start and the first statements use, a second step writes the archive. It costs
some seconds at installation; without it, or where it does not fit the runtime any
more, the server starts as well, only slower.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

from graph.server.install import installed_jars, jar_folder
from graph.server.jvm import class_path, jvm_options

if TYPE_CHECKING:
    from graph.server.install import Progress
    from graph.server.java import Java

__all__ = ["archive_of", "make_archive"]

MINIMUM_JAVA = 24
TRAINING_SECONDS = 180

_log = logging.getLogger(__name__)


def _archive_path(version: str, java: Java) -> Path:
    """Return where the archive of a version and runtime belongs."""
    bridge = version_of("jpype1")
    return jar_folder(version) / f"java-{java.release}-{bridge}.aot"


def archive_of(version: str, java: Java) -> Path | None:
    """Return the class archive to start from, or None where there is none."""
    path = _archive_path(version, java)
    return path if path.is_file() and _fits(version) else None


def _fits(version: str) -> bool:
    """Return whether an archive can be used at all.

    JPype loads classes another way where a path has letters beyond ASCII, and that way
    rules archives out.
    """
    return all(map(str.isascii, class_path(installed_jars(version))))


def make_archive(version: str, java: Java, progress: Progress | None) -> None:
    """Make the class archive of an installed version, unless it is there.

    A failure is logged and nothing more: the server starts without it.
    """
    path = _archive_path(version, java)
    if path.is_file() or java.major < MINIMUM_JAVA or not java.launcher.is_file():
        return
    if not _fits(version):
        return
    stage = "Preparing fast starts"
    if progress:
        progress(stage, 0, 2)
    for old in path.parent.glob("*.aot"):
        old.unlink()
    try:
        with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
            _train(version, java, Path(folder))
            if progress:
                progress(stage, 1, 2)
            _write(version, java, Path(folder), path)
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("No class archive for faster starts: %s", error)
    if progress:
        progress(stage, 2, 2)


def _train(version: str, java: Java, folder: Path) -> None:
    """Record the classes of a start and of some statements."""
    from graph.server.launch import child_environment

    specification = {"version": version, "folder": str(folder)}
    with (folder / "train.log").open("wb") as log:
        subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "graph.server._train", json.dumps(specification)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=child_environment(),
            timeout=TRAINING_SECONDS,
            check=True,
        )


def _write(version: str, java: Java, folder: Path, path: Path) -> None:
    """Turn the record into the archive."""
    draft = folder / "draft.aot"
    with (folder / "write.log").open("wb") as log:
        subprocess.run(  # noqa: S603 - the Java that was found
            [
                java.launcher,
                *jvm_options(java),
                "-XX:AOTMode=create",
                f"-XX:AOTConfiguration={folder / 'record'}",
                f"-XX:AOTCache={draft}",
                "-cp",
                ":".join(class_path(installed_jars(version))),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=TRAINING_SECONDS,
            check=True,
        )
    draft.replace(path)
