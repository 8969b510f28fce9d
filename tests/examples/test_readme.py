"""What the pages show is what happens: their commands and programs are run."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.command_line import ROOT
from tests.examples.conftest import TUTORIAL, blocks, commands
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.examples.conftest import Reader
    from tests.serving import Serving

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "docs").rglob("*.md")
    if path.parent.name != "reference"
)
EVERY_PAGE = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")
)
OWN_SERVERS = {"docs/how-to/another-embedder.md", "docs/how-to/neo4j-5.26.md"}
"""Pages that start one, or two."""

EXAMPLES = sorted(path.name for path in (ROOT / "docs" / "examples").glob("*.py"))

SHOWN = "http://127.0.0.1:7475"
REQUESTS = [
    line
    for block in blocks("docs/how-to/serve.md", "console")
    for line in block.splitlines()
    if SHOWN in line or "--write" in line
]


@pytest.mark.thorough
def test_readme_commands_do_what_it_says(reader: Reader, dump: Path) -> None:
    """The dump goes in and is sound, the question is answered, Cypher has rows."""
    assert dump.exists()

    done = reader.follow("README.md")

    shown = {" ".join(c.split()[:3]): did.out for c, did in done.items()}
    assert "2 added" in shown["knowtrail ingest dump"]
    assert "Autism" in shown["knowtrail search --corpus"]
    assert "is sound" in shown["knowtrail corpus verify"]
    assert "linksTo" in shown['knowtrail cypher "MATCH']
    assert "Longitude problem" in shown["knowtrail cypher --saved"]


def test_readme_begins_with_the_two_commands() -> None:
    """The first blocks of the page are the commands of a new user."""
    first, second, *_ = blocks("README.md", "sh")

    assert first == "pip install uv && uv run knowtrail quickstart\n"
    assert second == "pip install uv && uv run pytest\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.thorough] * (page in OWN_SERVERS))
        for page in PAGES
        if page != TUTORIAL and commands(page)
    ],
)
def test_commands_of_a_page_run(reader: Reader, page: str) -> None:
    """Every command of a page exits 0 and shows something."""
    done = reader.follow(page)

    assert [command for command, did in done.items() if not did.out] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("page", "number"),
    [
        (page, number)
        for page in ["README.md", *PAGES]
        if page != TUTORIAL
        for number in range(len(blocks(page, "python")))
    ],
)
def test_programs_of_a_page_run(
    reader: Reader, page: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every Python block of a page runs as it stands, and gets something."""
    path = reader.folder / "block.py"
    path.write_text(blocks(page, "python")[number], "utf-8")

    names = runpy.run_path(str(path))

    printed = capsys.readouterr().out.strip()
    assert printed or names.get("KnowtrailRetriever") or names["rows"]


@pytest.mark.thorough
def test_tutorial_works_from_its_top_to_its_bottom(
    reader: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lamp's maker is found, the retriever finds her town, and it is measured."""
    done = reader.follow(TUTORIAL)
    (reader.folder / "block.py").write_text(blocks(TUTORIAL, "python")[0], "utf-8")
    capsys.readouterr()
    runpy.run_path(str(reader.folder / "block.py"))

    shown = {" ".join(c.split()[:3]): did.out for c, did in done.items()}
    assert "8 added" in shown["knowtrail ingest jsonl"]
    assert "is sound" in shown["knowtrail corpus verify"]
    assert "Ida Rask" in shown["knowtrail traverse --corpus"]
    assert "She was born in Tromsund" in capsys.readouterr().out
    assert "auto" in shown["knowtrail eval retrieval"]
    assert (reader.folder / "harbour.html").stat().st_size > 0


def test_examples_are_short_and_say_what_they_are() -> None:
    """An example has a docstring and less than 60 lines."""
    texts = {
        name: (ROOT / "docs" / "examples" / name).read_text("utf-8")
        for name in EXAMPLES
    }

    assert [
        name
        for name, text in texts.items()
        if not ast.get_docstring(ast.parse(text)) or len(text.splitlines()) >= 60
    ] == []


@pytest.fixture
def served(reader: Reader) -> Iterator[Serving]:
    """Yield a server that was started as the page about HTTP says."""
    with serving("serve", env={"KNOWTRAIL_HOME": os.environ["KNOWTRAIL_HOME"]}) as it:
        yield it


def _out(line: str, served: Serving, reader: Reader) -> str:
    """Return what a command of the page about HTTP writes."""
    words = shlex.split(line.replace(SHOWN, served.url))
    if words[0] == "knowtrail":
        done = reader.type(shlex.join(words))
        assert (done.code, done.errors[1:]) == (0, [])
        return done.out
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}: install {words[0]}")
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    return ran.stdout


@pytest.mark.thorough
def test_commands_of_the_page_about_http_run(served: Serving, reader: Reader) -> None:
    """JSON has rows, CSV a header, and LOAD CSV finds the article about tides."""
    assert len(REQUESTS) == 6

    search, walk, compare, load, _, stored = (
        _out(line, served, reader) for line in REQUESTS
    )

    assert len(json.loads(search)["rows"]) == 3
    assert walk.startswith("step,hop,documentId,title,")
    assert {row["traversalId"] for row in json.loads(compare)["rows"]} == {None}
    assert "Tide" in load
    assert "Tide" in stored


def test_readme_program_is_the_example() -> None:
    """The ten lines of the page are those of the script."""
    (shown,) = blocks("README.md", "python")
    script = (ROOT / "docs" / "examples" / "langchain_retriever.py").read_text("utf-8")

    assert shown.strip() in script


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    """At most 120 lines; every link that is no address is a file."""
    text = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"(?:\]\(|src=\")([^)#:\"]+)", text)

    assert len(text.splitlines()) <= 120
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_page_opens_with_what_its_reader_can_do() -> None:
    """The first words of a page are for those who ask whether to read it."""
    texts = {page: (ROOT / page).read_text("utf-8") for page in EVERY_PAGE}

    assert [
        page
        for page, text in texts.items()
        if not re.match(r"# .+\n\nAfter this page ", text)
    ] == []
