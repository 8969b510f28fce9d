"""How the Java virtual machine of the server is started."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InstallError, SettingsError

if TYPE_CHECKING:
    from knowtrail.graph.server.java import Java

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang")


def check_size(name: str, size: str) -> str:
    """Return a memory size as it is, if Java and Neo4j can read it.

    Raises:
        SettingsError: If it is not a whole number with `k`, `m` or `g`.
    """
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
        options.append("--add-modules=jdk.incubator.vector")
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
