"""Shards are what an ingest on this machine makes, and are made once."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError, InputError, MissingExtraError
from knowtrail.graph.files import held_file
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import Settings
from knowtrail.ingest import pipeline, ray_engine, shards
from knowtrail.ingest.background import in_turn
from knowtrail.ingest.bulk.spool import Spool
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import Ingest
from knowtrail.ingest.prepare import PreparedDocument, content_hash, document_id
from knowtrail.ingest.ray_engine import RayEngine, ray_itself
from knowtrail.ingest.records import Failure, LeftOut, RawDocument
from knowtrail.ingest.shards import (
    UNCHANGED,
    Order,
    ReadyDocument,
    ShardEmbedder,
    Work,
    prepare_shard,
    shard_path,
    stored_digest,
)
from knowtrail.ingest.sources.jsonl import JsonlSource
from knowtrail.ingest.sources.wikipedia import WikipediaSource
from knowtrail.ingest.store import EmbeddedDocument
from tests.command_line import typed

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = "shards"
ROWS = [
    *({"id": f"d{n}", "text": f"The comet {n} came. It went. A star." * 3, "n": n}
      for n in range(6)),
    {"id": "blank", "text": " "},
    {"id": "none", "text": "\u200b"},
    {"id": "bad"},
    {"id": "again", "title": "Ä", "text": "Halley saw \ud800 it.", "links": [
        {"start": 0, "end": 6, "target": "d1"}], "sections": [
        {"title": "S", "start": 1}], "categories": ["C"]},
]  # fmt: skip


class Forgetful(HashEmbedder):
    """Has no memory for more than four texts, or than it is told."""

    most = 4

    def embed_array(self, texts: list[str]) -> Any:
        if len(texts) > self.most:
            raise MemoryError
        return super().embed_array(texts)


@pytest.fixture
def source(tmp_path: Path) -> JsonlSource:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return JsonlSource([path])


def _order(stored: list[int] | None = None, embedder: Any = None) -> Order:
    return Order(
        corpus=CORPUS,
        options=IngestOptions(themes="none"),
        embedder=embedder or HashEmbedder(8),
        keep=False,
        stored=np.sort(np.array(stored or [], dtype=np.uint64)),
    )


def _in_this_process(rows: list[dict[str, Any]], work: Work) -> Iterator[str]:
    """Do what workers do."""
    embed = ShardEmbedder(work)
    for row in reversed(rows):
        yield embed(prepare_shard(row, work))["name"]


def _sent(value: Any) -> Any:
    """Return what a value is on another machine."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - its own


def _mapped_here(call: Any, parts: Any, shared: Any) -> Iterator[Any]:
    """Do what workers do, with what travels to them and back."""
    yield from map(_sent, in_turn(call, map(_sent, parts), _sent(shared)))


class Run:
    """A run of the engine, its workers in this process."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = Settings(home=tmp_path / "home")
        self.folder: Path | None = None
        self.made: list[str] = []
        self._engine = RayEngine(shard=300)

        @contextmanager
        def workers(
            _: RayEngine, rows: list[dict[str, Any]], work: Work
        ) -> Iterator[Iterator[str]]:
            self.folder = work.folder
            self.made = [row["name"] for row in rows]
            yield _in_this_process(rows, work)

        monkeypatch.setattr(RayEngine, "_made", workers)
        monkeypatch.setattr(RayEngine, "mapped", staticmethod(_mapped_here))

    def items(self, source: Any, order: Order, *, most: int | None = None) -> list[Any]:
        """Return what the shards have; stop as a kill does after so many."""
        with self._engine.shards(
            [source], order, settings=self.settings, progress=lambda *_: None
        ) as found:
            items = []
            for item in found.items():
                items.append(item)
                if most and len(items) >= most:
                    raise KeyboardInterrupt
            assert found.position == found.size
        return items


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path, monkeypatch)


def _vectors(items: list[Any]) -> list[Any]:
    return [
        i.made.vectors.tolist() if isinstance(i.made, EmbeddedDocument) else i.made
        for i in items
        if isinstance(i, ReadyDocument)
    ]


def test_shards_have_what_is_made_here(source: JsonlSource, run: Run) -> None:
    """Documents as prepared and embedded here, in order; the rest as it was read."""
    raws = list(source.items())

    items = run.items(source, _order())

    assert len(items) == len(raws)
    assert run.folder is not None
    assert (len(run.made) > 1, run.folder.exists()) == (True, False)
    for raw, item in zip(raws, items, strict=True):
        if not isinstance(raw, RawDocument):
            assert item == raw
            assert isinstance(item, LeftOut | Failure)
            continue
        made = shards.prepared_or_why(raw, corpus=CORPUS, options=_order().options)
        assert isinstance(made, PreparedDocument)
        assert (item.source_id, item.hash) == (raw.source_id, content_hash(raw))
        if not made.size:
            assert item.made == made
            continue
        texts = [row["text"] for row in (*made.sentences, *made.chunks)]
        assert item.made.document == made
        assert item.made.vectors.tolist() == HashEmbedder(8).embed_array(texts).tolist()


def test_rows_of_one_id_have_vectors_of_their_own(tmp_path: Path, run: Run) -> None:
    """The second, which the ingest refuses, lends the first neither text nor length."""
    texts = ("One lamp burns.", "Two boats sail. They come home. It rains. It stops.")
    path = tmp_path / "twice.jsonl"
    lines = [{"id": "a", "title": "A", "text": text} for text in texts]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    items = run.items(JsonlSource([path]), _order())

    for item, text in zip(items, texts, strict=True):
        document = item.made.document
        rows = [row["text"] for row in (*document.sentences, *document.chunks)]
        assert document.properties["text"] == text
        assert item.made.vectors.tolist() == HashEmbedder(8).embed_array(rows).tolist()


def _spooled(
    folder: Path, source: JsonlSource, engine: RayEngine | None
) -> tuple[list[Any], list[Any]]:
    """Return all rows and edges of an ingest into files."""
    with closing(Spool(folder)) as spool:
        report = Ingest(
            spool,
            CORPUS,
            HashEmbedder(8),
            Settings(home=folder),
            IngestOptions(),
            "incremental",
            lambda *_: None,
            work=spool.work,
            write=spool.write_documents,
        ).run([source], engine)
        rows = [
            list(map(tuple, spool._database.execute(f"SELECT * FROM {table}")))  # noqa: S608
            for table in ("document", "redirect", "edge")
        ]
        stored = [rows, spool._all_vectors().tolist()]
    told = report.as_dict() | {"seconds": None}
    return stored, [told["failures"], told["left_out"], told["added"], told["failed"]]


def test_an_ingest_by_shards_stores_the_same(
    source: JsonlSource, run: Run, tmp_path: Path
) -> None:
    """Rows, vectors, edges and the report, in the same order."""
    here = _spooled(tmp_path / "here", source, None)

    assert _spooled(tmp_path / "there", source, RayEngine(shard=300)) == here
    assert len(run.made) > 1


@pytest.mark.parametrize(
    ("work", "seen"), [("home/work/bulk/linking", True), ("other", False)]
)
def test_workers_search_only_files_that_all_machines_share(
    source: JsonlSource,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: str,
    seen: bool,
) -> None:
    """What lies elsewhere is searched by the process that was started."""
    taken: list[Any] = []

    def linked(*_: object, **given: Any) -> Counters:
        taken.append((given["mapped"], given["searched"]))
        return Counters()

    monkeypatch.setattr(pipeline, "link_corpus", linked)
    engine = RayEngine(shard=300)
    with closing(Spool(tmp_path / "spool")) as spool:
        Ingest(
            spool,
            CORPUS,
            HashEmbedder(8),
            run.settings,
            IngestOptions(),
            "incremental",
            lambda *_: None,
            work=tmp_path / work,
            write=spool.write_documents,
        ).run([source], engine)

    assert taken == [(engine.mapped, engine.mapped if seen else in_turn)]


def test_finished_shards_are_not_made_again(source: JsonlSource, run: Run) -> None:
    """A run that was ended goes on; other options begin anew."""
    whole = run.items(source, _order())
    every = run.made
    with pytest.raises(KeyboardInterrupt):
        run.items(source, _order(), most=1)
    assert run.folder is not None
    kept = {path.name for path in run.folder.glob("*.parquet")}
    shard_path(run.folder, run.made[0]).unlink()

    again = run.items(source, _order())

    assert len(kept) == len(every)
    assert run.made == every[:1]
    assert _vectors(again) == _vectors(whole)
    assert _order().key != _order(embedder=HashEmbedder(16)).key


@pytest.mark.parametrize(
    "name",
    [
        "ingest/themes.py",
        "ingest/data/heritage/institutions.toml",
        "graph/vectors.py",
        "graph/batches.py",
        "graph/models/faults.py",
        "graph/files/lines.py",
    ],
)
def test_shards_hang_on_the_code_that_makes_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line more in any of it makes another key; other files do not."""
    root = Path(shards.__file__).parents[1]
    unwanted = shutil.ignore_patterns("__pycache__", "server", "rdf", "db")
    for folder in ("ingest", "graph"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=unwanted)
    monkeypatch.setattr(shards, "__file__", str(tmp_path / "ingest" / "shards.py"))
    key = shards.code_key.__wrapped__  # keeps no answer
    before = key()

    for left in ("new.pyc", "new.cpython-311.pyc.140234567", ".DS_Store", "shards.py~"):
        (tmp_path / "ingest" / left).write_bytes(b"x")
    (tmp_path / "ingest" / ".#shards.py").symlink_to("nobody@nowhere")
    assert key() == before
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write("# another\n")

    assert key() != before


def test_shards_hang_on_files_of_every_kind() -> None:
    """A new kind of file in one of these folders is one that the key must know."""
    root = Path(shards.__file__).resolve().parents[1]
    kinds = {
        path.suffix
        for folder in ("ingest", "graph/models", "graph/files")
        for path in (root / folder).rglob("*.*")
        if path.is_file()
    }

    assert kinds - {".pyc"} == shards._CODE


def test_stored_documents_are_left_out(source: JsonlSource, run: Run) -> None:
    """They cost no embedding; where one is deleted meanwhile its shard is void."""
    raws = [i for i in source.items() if isinstance(i, RawDocument)]
    keys = [
        stored_digest(document_id(CORPUS, r.source_id), content_hash(r), keep=False)
        for r in raws[:3]
    ]

    with pytest.raises(KeyboardInterrupt):
        run.items(source, _order(keys), most=3)
    with pytest.raises(IngestError, match="again"):
        run.items(source, _order())
    items = run.items(source, _order(keys))

    ready = [i for i in items if isinstance(i, ReadyDocument)]
    assert [i.made == UNCHANGED for i in ready] == [n < 3 for n in range(len(raws))]


def test_less_memory_makes_smaller_batches(
    source: JsonlSource, run: Run, tmp_path: Path
) -> None:
    """The vectors are the same; a shard that ends workers again and again is named."""
    least = run.items(source, _order(embedder=Forgetful(8)))

    assert _vectors(least) == _vectors(run.items(source, _order()))
    work = Work(
        sources=(source,), order=_order(), folder=tmp_path, token="", code="",
        settings=Settings(), batch=64,
    )  # fmt: skip
    (tmp_path / "abc.tries").write_bytes(b".....")
    with pytest.raises(IngestError, match="Shard abc ended 5 workers"):
        ShardEmbedder(work)({"name": "abc", "lines": ""})


def test_a_text_that_no_memory_holds_names_its_shard(
    source: JsonlSource, run: Run
) -> None:
    """No whole shard is left, and the error says what to do."""
    none = Forgetful(8)
    none.most = 0

    with pytest.raises(IngestError, match=r"Shard \w+: no memory .* give workers more"):
        run.items(source, _order(embedder=none))
    assert run.folder is not None
    assert not list(run.folder.glob("*.parquet"))


def test_logs_have_the_names_of_shards(
    source: JsonlSource, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is named with the file and the byte that it begins at, in their order."""
    caplog.set_level("INFO")

    run.items(source, _order())

    told = [line for line in caplog.messages if line.startswith("Storing shard ")]
    assert [line.split()[2].rstrip(":") for line in told] == run.made
    assert all("rows.jsonl from " in line for line in told)


def test_workers_say_what_they_lack(
    source: JsonlSource, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of this machine alone, other code, a second driver."""
    order = _order()
    monkeypatch.setattr(shards, "MANIFEST", "elsewhere.json")
    with pytest.raises(InputError, match="does not see the shards"):
        run.items(source, order)
    monkeypatch.setattr(ray_engine, "code_key", lambda: "other")
    with pytest.raises(InputError, match="another version"):
        run.items(source, order)
    assert run.folder is not None
    with (
        held_file(run.folder / ray_engine._LOCK, InputError("nobody else is here")),
        pytest.raises(InputError, match="Another process makes the shards"),
    ):
        run.items(source, order)
    with pytest.raises(InputError, match="cannot be read in pieces"):
        run.items(WikipediaSource(titles=["A"], contact="a@b.example"), order)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--ray-address=a:1"], "--ray-address goes with --engine ray alone"),
        (["--engine=ray", "--limit=3"], "--limit does not go with --engine ray"),
        (["--engine=ray", "--dry-run"], "--dry-run does not go with --engine ray"),
    ],
)
def test_options_that_do_not_apply_are_refused(words: list[str], told: str) -> None:
    """In one line, before anything is started."""
    done = typed("ingest", "jsonl", "x.jsonl", "--corpus=c", *words)

    assert done.code == 2
    assert told in done.errors[-1]


def test_without_ray_it_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else of an ingest needs it."""
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match=r"extra `ray`.*--engine local"):
        ray_itself()


def test_a_cluster_that_is_not_there_is_told_at_once() -> None:
    """Before Ray tries for minutes."""
    with pytest.raises(InputError, match=r"127.0.0.1:9 cannot be used.*--ray-address"):
        RayEngine(address="127.0.0.1:9")._connect(None, Path())


def test_errors_of_workers_are_found_behind_those_of_ray() -> None:
    """What is not ours becomes one line."""
    own, outer = InputError("no folder"), RuntimeError("ray\ntrace")
    outer.cause = own  # type: ignore[attr-defined]

    assert ray_engine._told(outer) is own
    assert str(ray_engine._told(RuntimeError("a\nlast"))).endswith("part: last")
