"""What an ingest would do, and ingests that end early."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from knowtrail.graph.cli.root import knowtrail, main
from knowtrail.ingest.estimate import estimate_ingest
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.records import Failure, LeftOut, Limited, position
from tests.corpora import ListSource, article
from tests.dumps import dump, page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.ingest.records import Item

OPTIONS = IngestOptions()


def test_a_source_that_is_all_read_is_counted() -> None:
    """By kind, and time and space grow with the number of texts."""
    left = [LeftOut(title="a", reason=".png"), LeftOut(title="b", reason="empty")]
    source = ListSource([
        article(1),
        *left,
        Failure(title="c", message="no"),
        article(2),
        article(1),
    ])

    found = estimate_ingest(source, corpus="c", options=OPTIONS, embedder="hash:384")
    more = estimate_ingest(
        ListSource([article(number) for number in range(40)]),
        corpus="c",
        options=OPTIONS,
        embedder="hash:384",
    )

    assert (found.documents, found.failed, found.read, found.whole) == (2, 2, 2, True)
    assert found.failures[0] == "c: no"
    assert "occurs twice" in found.failures[1]
    assert found.left_out == {".png": 1, "empty": 1}
    assert found.sentences - found.chunks == 2 * (OPTIONS.window - 1)
    assert more.sentences == 20 * found.sentences
    assert more.megabytes > 10 * found.megabytes > 0


@pytest.mark.thorough
def test_no_model_is_loaded_for_an_estimate(tmp_path: Path) -> None:
    """What cannot be read is named; larger models take longer; others are not known."""
    (tmp_path / "a.txt").write_text("It rains. It snows. " * 200)
    (tmp_path / "b.txt").write_bytes(b"no \xfa text")
    for width in (384, 768):
        (tmp_path / f"m{width}").mkdir()
        config = {"num_hidden_layers": 6, "hidden_size": width}
        (tmp_path / f"m{width}" / "config.json").write_text(json.dumps(config))
    program = (
        "import sys; from knowtrail.graph.cli.root import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('torch' in sys.modules, file=sys.stderr)"
    )
    words = ["ingest", "files", "a.txt", "b.txt", "--corpus=c", "--dry-run", "--json"]

    small, large, unknown = (
        subprocess.run(
            [sys.executable, "-c", program, f"--embedder={name}", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        for name in ("m384", "bf16:m768", "ollama:all-minilm")
    )

    for done in (small, large, unknown):
        assert done.returncode == 1
        assert done.stderr.splitlines()[0].startswith("Warning: b.txt: invalid UTF-8")
        assert done.stderr.splitlines()[-1] == "False"
    seconds = [json.loads(done.stdout)["seconds"] for done in (small, large, unknown)]
    assert 3.5 < seconds[1] / seconds[0] < 4.5
    assert seconds[2] is None


def test_of_a_long_source_the_beginning_stands_for_all() -> None:
    """500 documents are read, and the place reached tells how many there are."""
    unknown = ListSource([article(number) for number in range(600)])
    known = Limited(unknown, 2_000)

    least, found = (
        estimate_ingest(source, corpus="c", options=OPTIONS, embedder=None)
        for source in (unknown, known)
    )

    assert (least.read, least.documents, least.whole) == (500, 500, False)
    assert (found.read, found.documents, found.whole) == (500, 2_000, False)
    assert found.chunks == 4 * least.chunks
    assert found.seconds == 0.0


def test_a_limited_source_ends_and_is_closed() -> None:
    """After so many documents, whatever else stands between them."""
    closed: list[bool] = []

    class Closing(ListSource):
        def items(self) -> Iterator[Item]:
            try:
                yield from super().items()
            finally:
                closed.append(True)

    between = Failure(title="c", message="no")
    source = Limited(Closing([article(1), between, article(2), article(3)]), 2)
    items = list(source.items())

    assert items == [article(1), between, article(2)]
    assert closed == [True]
    assert position([source]) == ("documents read", 2, 2)


def _ingests() -> dict[str, click.Command]:
    """Return the commands that ingest."""
    context = click.Context(knowtrail)
    group = knowtrail.get_command(context, "ingest")
    assert isinstance(group, click.Group)
    found = {
        name: group.get_command(context, name) for name in group.list_commands(context)
    }
    return {name: command for name, command in found.items() if command is not None}


def test_every_ingest_may_be_limited_and_tried() -> None:
    """All commands that ingest have the same options for it."""
    wanted = {"corpus", "cleanup", "limit", "dry_run", "as_json"}

    missing = {
        name: wanted - {parameter.name for parameter in command.params}
        for name, command in _ingests().items()
    }

    assert len(missing) == 5
    assert not any(missing.values()), missing


@pytest.mark.parametrize("kind", ["dump", "jsonl", "files", "custodians"])
def test_a_dry_run_stores_nothing(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No server is started, no folder made; the limit holds, and not with full."""
    monkeypatch.delenv("NEO4J_URI", raising=False)
    home, file = tmp_path / "home", tmp_path / "in.jsonl"
    rows = [{"id": f"{n}", "name": f"House {n}", "text": "Old."} for n in range(3)]
    file.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "a.txt").write_text("A. B.")
    (tmp_path / "b.rst").write_text("It is.")
    (tmp_path / "d.xml").write_text(
        dump(*(page(f"P{n}", "It is.", number=n) for n in range(3)))
    )
    named = {"files": tmp_path, "dump": tmp_path / "d.xml"}.get(kind, file)
    words = ["ingest", kind, str(named), "--corpus", "c", "--dry-run"]

    def run(*more: str) -> int | str | None:
        with pytest.raises(SystemExit) as ended:
            main([f"--home={home}", "--embedder=hash:16", *words, *more])
        return ended.value.code

    assert run("--json") in {0, None}
    found = json.loads(capsys.readouterr().out)
    assert run("--limit", "1") in {0, None}
    told = capsys.readouterr().out
    assert run("--limit", "1", "--cleanup", "full") == 2

    assert (found["documents"], found["whole"]) == (2 if kind == "files" else 3, True)
    assert "would be ingested: 1 document, " in told
    assert "That takes a few seconds after the start and under 1 MB. Nothing" in told
    assert "was stored; what the corpus has already was not" in told
    assert not home.exists()


@pytest.mark.parametrize("kind", ["jsonl", "custodians"])
def test_a_dry_run_exits_as_the_ingest_would(kind: str, tmp_path: Path) -> None:
    """With 1 where a line cannot be used, so that it serves as a check."""
    rows = [{"id": "a", "name": "House", "text": "Old."}, {"id": "b"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))

    with pytest.raises(SystemExit) as ended:
        main(["ingest", kind, f"{tmp_path}/in.jsonl", "--corpus=c", "--dry-run"])

    assert ended.value.code == 1
