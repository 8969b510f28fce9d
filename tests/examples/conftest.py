"""A user who follows the documentation: a folder, a home, the files it speaks of."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.cli.root import main
from knowtrail.graph.server.folder import stop_server
from tests.command_line import ROOT, outcome, typed
from tests.dumps import cut
from tests.java import short_lived

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.command_line import Outcome

NOTES = {
    "light.md": "# Lighthouse\n\nThe lighthouse has a keeper. Mara lives there.",
    "ferry.txt": "The ferry crosses twice a day, past the [[Lighthouse]]. It waits.",
}
TUTORIAL = "docs/tutorial.md"
PAGES = ("Autism", "Astronomer", "Astronomers and Astrophysicists", "Alien")


class Reader:
    """Somebody who types what a page shows, in one folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def type(self, command: str) -> Outcome:
        """Run one command, `knowtrail ...`, in this process."""
        program, *words = shlex.split(command)
        assert program == "knowtrail"
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        shown = self._capsys.readouterr()
        return outcome(int(ended.value.code or 0), shown.out, shown.err)

    def follow(self, page: str) -> dict[str, Outcome]:
        """Run all commands of a page in their order; fail where one fails."""
        done = {command: self.type(command) for command in commands(page)}
        failed = {command: did for command, did in done.items() if did.code}
        assert failed == {}
        return done


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a page; `sh` is run, `console` is only shown."""
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return the commands of a page as somebody with an installed program types them.

    What installs the program and what runs these tests is left out.
    """
    lines = [
        line.split("uv run ")[-1]
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]
    return [line for line in lines if line != "pytest"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with notes, JSON lines and a home; stop what runs there."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text, "utf-8")
    (lines,) = blocks("docs/how-to/own-texts.md", "json")
    (folder / "articles.jsonl").write_text(lines, "utf-8")
    gold, extracted, schema = blocks("docs/how-to/evaluate-extraction.md", "json")
    (plugin,) = blocks("docs/how-to/evaluate-extraction.md", "python")
    (folder / "mine.py").write_text(plugin, "utf-8")
    (folder / "gold.jsonl").write_text(gold, "utf-8")
    (folder / "extracted.jsonl").write_text(extracted, "utf-8")
    other = gold.replace("450", "455").replace("[]", '[{"metal": "Cu"}]')
    (folder / "other.jsonl").write_text(other, "utf-8")
    (folder / "schema.json").write_text(schema, "utf-8")
    texts, asked = blocks(TUTORIAL, "json")
    (folder / "harbour.jsonl").write_text(texts, "utf-8")
    (folder / "harbour-questions.jsonl").write_text(asked, "utf-8")
    passages, questions = blocks("docs/how-to/evaluate-retrieval.md", "json")
    (folder / "passages.jsonl").write_text(passages, "utf-8")
    (folder / "questions.jsonl").write_text(questions, "utf-8")
    (folder / "prompt.txt").write_text("Example: the film cracked.", "utf-8")
    with short_lived():
        begun = typed(
            *("--home", folder / "home"),
            *("quickstart", "--picture", folder / "walk.html"),
        )
    assert begun.code == 0, begun.errors
    yield folder
    for home in ("home", "lts"):
        stop_server(folder / home)


@pytest.fixture
def reader(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Reader:
    """Return a reader whose server runs and has the quick start's corpus."""
    for name in [n for n in os.environ if n.startswith(("NEO4J_", "KNOWTRAIL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KNOWTRAIL_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    return Reader(folder, capsys)


@pytest.fixture
def dump(reader: Reader, shared: Path) -> Path:
    """Return a part of a real dump under the name that the page has."""
    path = reader.folder / "enwiki-latest-pages-articles.xml.bz2"
    return path if path.exists() else cut(shared, path, titles=PAGES)
