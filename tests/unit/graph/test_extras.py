"""Optional packages: the hint is a command that works where the product runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph import extras
from knowtrail.graph.errors import MissingExtraError
from knowtrail.graph.extras import extra, installing
from tests.command_line import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that says who made the environment; nobody yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path / "pyvenv.cfg"


def test_a_checkout_installs_itself(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index is asked for Knowtrail, and what is installed besides stays."""
    monkeypatch.chdir(ROOT)
    by_pip = installing("knowtrail[view]")
    environment.write_text("home = /usr/bin\nuv = 0.9\n", "utf-8")
    by_uv = installing("knowtrail[view]")
    monkeypatch.chdir(tmp_path)

    assert by_pip == f"pip install -e '{ROOT}[view]'"
    assert by_uv == "uv sync --inexact --extra view"
    assert installing("knowtrail[view]") == (
        f"uv sync --inexact --project {ROOT} --extra view"
    )
    assert installing("pandas") == "uv pip install pandas"


def test_an_installed_package_is_named(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a checkout the package is named, to the tool that is there."""
    monkeypatch.setattr(extras, "_ROOT", tmp_path)
    by_pip = installing("knowtrail[view]")
    environment.write_text("uv = 0.9\n", "utf-8")

    assert by_pip == "pip install 'knowtrail[view]'"
    assert installing("knowtrail[view]") == "uv pip install 'knowtrail[view]'"


def test_a_missing_extra_says_what_installs_it() -> None:
    """One sentence: what needs it, its name, the command, and the other way."""
    told = f"Drawing needs the extra `view`: {installing('knowtrail[view]')}; or wait."

    with (
        pytest.raises(MissingExtraError) as error,
        extra("view", "Drawing", otherwise="; or wait"),
    ):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401

    assert str(error.value) == told


def test_a_mistake_of_our_own_is_no_missing_extra() -> None:
    """No installation mends what one of our own modules does not have."""
    with pytest.raises(ImportError, match="no_such"), extra("view", "Drawing"):
        from knowtrail.graph import no_such  # type: ignore[attr-defined]  # noqa: F401


def test_no_hint_is_written_by_hand() -> None:
    """Every hint that installs something comes from the one function."""
    folders = ("graph", "ingest", "retrieval", "eval")
    files = (path for name in folders for path in (ROOT / name).rglob("*.py"))

    by_hand = [
        str(path.relative_to(ROOT))
        for path in files
        if path.name != "extras.py" and "pip install" in path.read_text("utf-8")
    ]

    assert by_hand == []
