"""The package as others install and import it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

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
@pytest.mark.timeout(900)
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
    _check_program(home)


def _check_program(home: Path) -> None:
    """Run the wheel's command over the libraries that the tests have, far from here."""
    libraries = sysconfig.get_path("purelib")
    (own,) = home.glob("lib/python*/site-packages")
    (own / "libraries.pth").write_text(f"{libraries}\n", "utf-8")
    folder = home / "work"
    folder.mkdir()
    line = json.dumps({"title": "Lamp", "text": "The lamp is lit. It shines."})
    (folder / "texts.jsonl").write_text(line, "utf-8")
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    program = home / "bin" / "knowtrail"

    def shown(*words: str) -> str:
        done = subprocess.run(
            [program, "--home", folder, *words],
            cwd=folder, env=kept, text=True, capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert shown("--version") == f"knowtrail, version {project['version']}\n"
    assert "traversal_steps" in shown("cypher", "--list")
    assert "complete -o nosort" in shown("completion", "bash")
    tried = shown("ingest", "jsonl", "texts.jsonl", "--corpus", "a", "--dry-run")
    assert "1 document" in tried


def test_files_for_others_name_this_version() -> None:
    """What a registry, a citation and an image say is what the package says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    served = json.loads((ROOT / "server.json").read_text("utf-8"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))

    assert {served["version"], served["packages"][0]["version"], cited["version"]} == {
        project["version"]
    }
    assert cited["license"] == project["license"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("citation-file-format", "CITATION.cff"),
        ("compose-spec", "docker-compose.yml"),
        ("github-workflows", ".github/workflows/release.yml"),
    ],
)
def test_files_for_others_are_as_these_read_them(schema: str, file: str) -> None:
    """Each passes the schema of its kind."""
    done = subprocess.run(
        ["check-jsonschema", "--builtin-schema", f"vendor.{schema}", ROOT / file],
        text=True, capture_output=True, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_release_keeps_no_secret() -> None:
    """The index trusts the workflow itself: one job may say who it is, no key."""
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]

    assert "secrets." not in text
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
    }
