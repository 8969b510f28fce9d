"""The package as others install and import it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cypher", "eval", "graph", "ingest", "retrieval")


def _python(folder: Path, code: str, interpreter: str = sys.executable) -> str:
    """Return what a new interpreter prints that finds only what is installed."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [interpreter, "-c", code],
        cwd=folder, env=kept, text=True, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout


def test_importing_the_front_door_loads_nothing(tmp_path: Path) -> None:
    """Names are loaded at first use: the import itself takes under 0.1 s of CPU."""
    code = (
        "import sys, time; begin = time.process_time()\n"
        "import knowtrail; took = time.process_time() - begin\n"
        "heavy = {'numpy', 'neo4j', 'click', 'torch', 'pydantic', 'langchain_core'}\n"
        "print(took < 0.1, sorted(heavy & set(sys.modules)))\n"
        "print([callable(getattr(knowtrail, n)) for n in ('connect', 'search', 'ask')])"
    )

    assert _python(tmp_path, code) == "True []\n[True, True, True]\n"


@pytest.mark.thorough
@pytest.mark.slow
def test_wheel_has_one_name_and_works_beside_others(tmp_path: Path) -> None:
    """Built and put into an environment of its own, all of it is below `knowtrail`."""
    subprocess.run(
        ["uv", "build", "--sdist", "--wheel", "--out-dir", tmp_path, ROOT],
        capture_output=True, check=True, timeout=280,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    ours = {name for name in names if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip

    assert ours == {f"knowtrail/{name}" for name in tracked} | {
        "knowtrail/__init__.py",
        "knowtrail/py.typed",
    }

    home = tmp_path / "environment"
    subprocess.run(["uv", "venv", home], capture_output=True, check=True)
    python = str(home / "bin" / "python")
    subprocess.run(
        ["uv", "pip", "install", "--no-deps", "--python", python, wheel],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    code = (
        "import importlib.util as u, knowtrail, knowtrail.graph.errors as errors\n"
        f"print([name for name in {PACKAGES} if u.find_spec(name)])\n"
        "print(knowtrail.__all__[0], errors.InputError.__module__)"
    )

    assert _python(tmp_path, code, python) == (
        "[]\nKnowtrailRetriever knowtrail.graph.errors\n"
    )
