"""A first load up to its files, which needs no server."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from knowtrail.graph.errors import InputError, StorageError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import Settings
from knowtrail.ingest import pipeline, similarity, text_linking
from knowtrail.ingest.bulk import columns, load
from knowtrail.ingest.bulk.columns import ColumnFiles
from knowtrail.ingest.bulk.load import LOADING, _spool
from knowtrail.ingest.bulk.spool import Spool
from knowtrail.ingest.options import IngestOptions
from tests.corpora import ListSource
from tests.integration.bulk_child import CORPUS, ITEMS
from tests.integration.ingest_child import FirstWords

OPTIONS = IngestOptions()


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Return settings with a home of their own; themes need no model."""
    monkeypatch.setattr(pipeline, "theme_source", lambda *_: FirstWords())
    return Settings.from_env(env={}, home=tmp_path / "home")


def ingest(spool, settings, items=ITEMS, cleanup="incremental"):
    """Ingest into a spool."""
    return pipeline.Ingest(
        spool,
        CORPUS,
        HashEmbedder(32),
        settings,
        OPTIONS,
        cleanup,
        lambda *_: None,
        work=spool.work,
        write=spool.write_documents,
    ).run([ListSource(items)])


def written(spool, folder):
    """Return the rows of all column files, by label or type."""
    with ColumnFiles(folder / "files") as files:
        spool.write_files(files, OPTIONS, status=LOADING, tell=lambda _: None)
    rows = {}
    for path in sorted(folder.rglob("*.parquet")):
        name = path.stem.partition("-")[0]
        rows.setdefault(name, []).extend(pq.read_table(path).to_pylist())
    return rows, files


def test_files_hold_every_node_and_edge(settings, tmp_path):
    """Counts follow from the documents, and each edge's ends are there."""
    spool = Spool(tmp_path / "load")
    report = ingest(spool, settings)
    rows, _ = written(spool, tmp_path / "load")

    assert (report.added, report.failed) == (40, 0)
    counts = {name: len(found) for name, found in rows.items()}
    assert counts["Document"] == counts["IN_CORPUS"] == 40
    assert counts["Sentence"] == 40 * 8
    assert counts["Chunk"] == counts["FROM_DOCUMENT"] == 40 * 6
    assert counts["HAS_SENTENCE"] == 40 * 6 * 3
    assert counts["IN_CATEGORY"] == 80
    assert counts["Category"] == 4
    assert counts["Redirect"] == 8
    keys = {
        label: {row[f"{key}:ID({label})"] for row in rows[label]}
        for label, key in (("Document", "id"), ("Chunk", "id"), ("Term", "id"))
    }
    for row in rows["NAMES"]:
        assert row[":START_ID(Chunk)"] in keys["Chunk"]
        assert row[":END_ID(Term)"] in keys["Term"]
    aliases = [row["aliases:string[]"] for row in rows["Document"]]
    assert sum(map(len, aliases)) == 8


def test_working_files_go_where_there_is_no_room_for_others(
    settings, tmp_path, monkeypatch
):
    """What a change would make anew is given up before a load is refused."""
    spool = Spool(tmp_path / "load")
    ingest(spool, settings)
    kept = [path.name for path in spool.work.iterdir()]

    def usage(_):
        return SimpleNamespace(free=0 if spool.work.exists() else 10**12)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    room = load._check_space(spool, tmp_path)

    assert any(name.endswith(".vectors") for name in kept)
    assert not spool.work.exists()
    assert room == "0.0 GB"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(StorageError, match="free some and run it again"):
        load._check_space(spool, tmp_path)


def test_vectors_are_those_of_the_embedder(settings, tmp_path):
    """Every number of a chunk's vector comes out as it went in."""
    spool = Spool(tmp_path / "load")
    ingest(spool, settings)
    rows, _ = written(spool, tmp_path / "load")

    embedder = HashEmbedder(32)
    for row in rows["Chunk"][::17]:
        expected = np.asarray(embedder.embed_documents([row["text:string"]])[0])
        assert np.array_equal(row["embedding:float[]"], expected.astype(np.float32))


def test_properties_of_other_types_go_to_files_of_their_own(settings, tmp_path):
    """A year is a number, a fraction or a word; empty texts are kept apart."""
    spool = Spool(tmp_path / "load")
    ingest(spool, settings)
    rows, files = written(spool, tmp_path / "load")

    names = [path.name for path in (tmp_path / "load" / "files").glob("Document-*")]
    assert len(names) == 3
    years = {
        name: [row[name] for row in rows["Document"] if row.get(name) is not None]
        for name in ("year:long", "year:double", "year:string")
    }
    assert [len(found) for found in years.values()] == [10, 10, 10]
    assert len(files.blanks) == 10
    assert all(row["properties"] == {"note": ""} for row in files.blanks)


def test_long_texts_are_written_before_there_are_many(tmp_path, monkeypatch):
    """Rows are held by their characters, too, and come out as they went in."""
    monkeypatch.setattr(columns, "_CHARACTERS", 1000)
    rows = [{"id": str(n), "text": "word " * 100} for n in range(7)]
    with ColumnFiles(tmp_path) as files:
        files.add_nodes("Document", rows)

    found = pq.ParquetFile(tmp_path / "Document-0.parquet")
    assert found.num_row_groups == 4
    assert found.read()["text:string"].to_pylist() == [row["text"] for row in rows]


def test_second_run_goes_on_and_replaces_what_changed(settings, tmp_path):
    """What is in the spool is not prepared again; what is gone goes with `full`."""
    spool = Spool(tmp_path / "load")
    ingest(spool, settings, ITEMS[:20])
    spool.close()

    spool = Spool(tmp_path / "load")
    report = ingest(spool, settings)
    assert (report.skipped, report.added) == (20, 20)
    report = ingest(spool, settings, ITEMS[5:], cleanup="full")
    assert (report.skipped, report.deleted) == (35, 5)

    rows, _ = written(spool, tmp_path / "load")
    once = Spool(tmp_path / "once")
    ingest(once, settings, ITEMS[5:])
    fresh, _ = written(once, tmp_path / "once")
    for row in (*rows["Chunk"], *fresh["Chunk"]):
        del row["corpusVersion:long"]
    for name in fresh:
        if name not in {"Corpus", "Document"}:
            assert sorted(map(str, rows[name])) == sorted(map(str, fresh[name])), name


def _linked(spool):
    """Return what linking stored, by the run that did."""
    found = defaultdict(list)
    for run, *row in spool._database.execute("SELECT run, kind, columns FROM edge"):
        found[run].append(tuple(row))
    return found


@pytest.fixture
def often(monkeypatch):
    """Commit working files after each step, and compare a few chunks at a time."""
    monkeypatch.setattr(text_linking, "SECONDS", 0)
    monkeypatch.setattr(text_linking, "_DOCUMENTS", 7)
    monkeypatch.setattr(similarity, "ROWS", 50)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.99])
@pytest.mark.usefixtures("often")
def test_linking_goes_on_where_it_was_ended(settings, tmp_path, monkeypatch, share):
    """What was linked stays, hardly anything is linked again, and nothing twice."""
    once = Spool(tmp_path / "once")
    ingest(once, settings)
    whole, _ = written(once, tmp_path / "once")
    (all_of_it,) = _linked(once).values()
    spool, link, made = Spool(tmp_path / "load"), Spool._link, []
    most = int(share * len(all_of_it))

    def ended(self, kind, **columns):
        made.extend([kind] * any(columns.values()))
        if len(made) > most:
            raise KeyboardInterrupt
        return link(self, kind, **columns)

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "_link", ended)
        with pytest.raises(KeyboardInterrupt):
            ingest(spool, settings)
    spool.close()
    spool = Spool(tmp_path / "load")
    report = ingest(spool, settings)
    linked = _linked(spool)

    assert report.skipped == len(whole["Document"])
    assert set(linked) == {1, 2}
    assert len(linked[1]) == most
    assert len(linked[2]) <= len(all_of_it) - most + 4
    assert set(linked[1]) | set(linked[2]) == set(all_of_it)
    rows, _ = written(spool, tmp_path / "load")
    for name in whole.keys() - {"Corpus"}:
        assert sorted(map(str, rows[name])) == sorted(map(str, whole[name])), name


@pytest.mark.usefixtures("often")
def test_linking_that_lost_its_working_files_is_not_doubled(
    settings, tmp_path, monkeypatch
):
    """Edges of a run before are left out where they were made once more."""
    once, spool = Spool(tmp_path / "once"), Spool(tmp_path / "load")
    ingest(once, settings)
    whole, _ = written(once, tmp_path / "once")
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "link_corpus", _interrupted(pipeline.link_corpus))
        with pytest.raises(KeyboardInterrupt):
            ingest(spool, settings)
    spool.close()
    shutil.rmtree(spool.work)
    spool = Spool(tmp_path / "load")
    monkeypatch.setattr(text_linking, "_DOCUMENTS", 3)
    ingest(spool, settings)

    assert set(_linked(spool)) == {1, 2}
    rows, _ = written(spool, tmp_path / "load")
    for name in whole.keys() - {"Corpus"}:
        assert sorted(map(str, rows[name])) == sorted(map(str, whole[name])), name


def _interrupted(call):
    """Return a call that is interrupted when it has done all."""

    def interrupted(*args, **options):
        call(*args, **options)
        raise KeyboardInterrupt

    return interrupted


def test_spool_of_other_settings_or_damaged_is_begun_again(settings, tmp_path):
    """Neither another window nor a broken file stands in the way."""
    folder = tmp_path / "load"
    spool = Spool(folder)
    ingest(spool, settings)
    spool.close()

    same = _spool(folder, CORPUS, HashEmbedder(32), OPTIONS, settings)
    assert len(same.read("ingest/document_ids")) == 40
    same.close()
    other = _spool(folder, CORPUS, HashEmbedder(32), IngestOptions(window=4), settings)
    assert other.read("ingest/document_ids") == []
    other.close()
    (folder / "spool.sqlite").write_bytes(b"no database" * 1000)
    mended = _spool(folder, CORPUS, HashEmbedder(32), OPTIONS, settings)
    assert mended.read("ingest/document_ids") == []


def test_spool_of_an_earlier_version_is_begun_again(settings, tmp_path, caplog):
    """A warning says why."""
    folder = tmp_path / "load"
    spool = Spool(folder)
    spool._do("PRAGMA user_version = 1")
    (folder / "left").touch()
    spool.close()

    again = _spool(folder, CORPUS, HashEmbedder(32), OPTIONS, settings)

    again.close()
    assert not (folder / "left").exists()
    assert "begun again: it is of another version of Knowtrail" in caplog.text


def test_lack_of_space_is_one_line(settings, tmp_path):
    """SQLite's own error becomes ours, and others stay what they are."""
    spool = Spool(tmp_path / "load")
    ingest(spool, settings, ITEMS[:4])
    (pages,) = spool._database.execute("PRAGMA page_count").fetchone()
    spool._database.execute(f"PRAGMA max_page_count = {pages + 4}")

    with pytest.raises(StorageError, match="full"):
        ingest(spool, settings)
    with pytest.raises(sqlite3.OperationalError, match="syntax"), spool._changing():
        spool._do("no statement")


def test_folder_that_the_tool_cannot_name_is_refused(tmp_path):
    """Commas part files in the import tool's arguments."""
    with pytest.raises(InputError, match="no path with , or ="):
        ColumnFiles(tmp_path / "a,b")
