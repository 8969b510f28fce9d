"""The documentation is also a site: it builds, it is whole, and it asks nobody."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html

from knowtrail.graph.cli.root import _COMMANDS
from tests.command_line import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
SHOWN = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


def _pages(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of a navigation in their order."""
    for entry in nav:
        target = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(target, list):
            yield from _pages(target)
        else:
            yield target


def _build(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("zensical")
    return subprocess.run(
        [program, "build", "--strict"], cwd=folder, text=True, capture_output=True
    )


def test_every_page_has_one_place_in_the_navigation() -> None:
    """No page is left out, none is named twice, none is missing."""
    docs = ROOT / "docs"

    assert sorted(_pages(PROJECT["nav"])) == sorted(
        path.relative_to(docs).as_posix() for path in docs.rglob("*.md")
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site, made of a copy."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    (folder / "knowtrail").symlink_to(ROOT / "knowtrail")
    done = _build(folder)
    assert (done.returncode, "No issues found" in done.stdout + done.stderr) == (
        0,
        True,
    )
    return folder / "site"


@pytest.mark.thorough
def test_site_asks_nobody_and_its_links_lead_somewhere(site: Path) -> None:
    """Files and anchors are there; what a page loads comes from the site itself."""
    trees = {path: html.parse(path).getroot() for path in site.rglob("*.html")}
    del trees[site / "404.html"]  # it is shown at any address, and so begins with /
    ids = {path: set(tree.xpath("//@id | //@name")) for path, tree in trees.items()}
    broken, elsewhere = [], []
    for path, tree in trees.items():
        for element in tree.iter(*SHOWN):
            address = urlsplit(element.get(SHOWN[element.tag]) or "")
            if address.scheme or address.netloc:
                loaded = element.tag != "a" and element.get("rel") != "canonical"
                elsewhere += [(path.name, address.geturl())] if loaded else []
                continue
            target = path.parent / unquote(address.path) if address.path else path
            target = target.resolve()
            known = ids.get(target, {unquote(address.fragment)}) | {""}
            if not target.exists() or unquote(address.fragment) not in known:
                broken.append((path.name, address.geturl()))

    assert len(trees) == len(list(_pages(PROJECT["nav"])))
    assert (broken, elsewhere) == ([], [])


@pytest.mark.thorough
def test_site_has_the_reference_and_finds_it(site: Path) -> None:
    """Every command with its options, and what Python may import."""
    options = (site / "reference" / "options.html").read_text("utf-8")
    python = (site / "reference" / "python.html").read_text("utf-8")
    search = (site / "search.json").read_text("utf-8")

    assert [name for name in _COMMANDS if f'id="knowtrail-{name}"' not in options] == []
    assert "--score-threshold" in options
    assert "Sentinel" not in options
    assert 'id="knowtrail.retrieval.langchain.KnowtrailRetriever"' in python
    assert "KnowtrailRetriever" in search
    assert (site / "notebooks" / "first-walk.ipynb").exists()


@pytest.mark.thorough
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    """Warnings are errors."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[no](no.md)\n", "utf-8")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "A"\n', "utf-8")

    assert _build(tmp_path).returncode != 0
