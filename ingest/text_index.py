"""What the texts of a corpus hold, kept on disk from one linking to the next.

For each document the file has the words in it, the names it adds to the counts that
decide what a term is, the terms found in it, and which of its edges are up to date.
So a change reads the texts that changed and those that have all words of a name that
is looked for now and was not before, or the reverse. The graph says which state of the
file describes it; any other is no use, and everything is read anew.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from knowtrail.graph.errors import StorageError
from knowtrail.ingest.keys import document_key
from knowtrail.ingest.mentions import SHORTEST
from knowtrail.ingest.names import words_of
from knowtrail.ingest.tally import NameTally
from knowtrail.ingest.terms import is_linked, is_term
from knowtrail.ingest.vector_file import working_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.ingest.tally import Names

Found = tuple[str, list[tuple[str, list[str]]]]
"""A document and, for each of its chunks, the names found in it."""
Edges = Literal["linked", "named", "written"]
"""Of a document: its links and mentions are stored; its names are found; are stored."""

_FORMAT = 1
SECONDS = 10.0
"""Between two commits, at most about as much as a kill costs."""
_RUN = re.compile(r"[^\W_]+")
_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, hash TEXT, chunks INT,
    linked INT, named INT, written INT, names BLOB, found BLOB
);
CREATE INDEX IF NOT EXISTS undone ON documents (id)
    WHERE NOT (linked AND named AND written);
CREATE TABLE IF NOT EXISTS words (
    word INT, document INT, PRIMARY KEY (word, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS titles (key TEXT PRIMARY KEY, name TEXT, target TEXT)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS terms (
    name TEXT PRIMARY KEY, chosen TEXT, titled TEXT, chunks INT DEFAULT 0,
    linked INT DEFAULT 0, stored TEXT
) WITHOUT ROWID;
"""
_CHOSEN = (
    "INSERT INTO terms (name, chosen) VALUES (?, ?) "
    "ON CONFLICT (name) DO UPDATE SET chosen = excluded.chosen"
)
_TITLED = (
    "INSERT INTO terms (name, titled) VALUES (?, ?) "
    "ON CONFLICT (name) DO UPDATE SET titled = excluded.titled"
)
_UNDO = (
    "UPDATE documents SET linked = min(linked, ?), named = min(named, ?), "
    "written = min(written, ?)"
)
_DONE = (
    "UPDATE documents SET linked = max(linked, ?), named = max(named, ?), "
    "written = max(written, ?) WHERE id = ?"
)
_UNDONE = (
    "SELECT id, linked, named, written FROM documents "
    "WHERE NOT (linked AND named AND written) ORDER BY id"
)
_KINDS: tuple[Edges, ...] = ("linked", "named", "written")


def words_in(text: str, targets: Iterable[str]) -> set[str]:
    """Return what a document is found by: its words in every form, and its links."""
    words = set(words_of(text))
    if not text.isascii():
        words.update(run.lower() for run in _RUN.findall(text))
    words.update(map(_link, targets))
    return words


def _link(key: str) -> str:
    """Return what stands for a link to a title or document among the words."""
    return f"\0{key}"


def _code(word: str) -> int:
    """Return a number for a word; where two share one, more texts are read."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


@contextmanager
def open_text_index(
    work: Path, key: str, *, about: str, state: str | None, new_state: str
) -> Iterator[TextIndex]:
    """Open the file of a corpus, emptied where it does not describe the graph.

    Args:
        work: The folder of working files.
        key: Identifies the corpus, made anew under an old name too.
        about: What the content depends on beside the documents.
        state: The state that the graph names.
        new_state: The state that this linking makes.

    Raises:
        StorageError: If there is no space or no right to write; a file that is damaged
            is removed.
    """
    path = working_folder(work) / f"{key}.texts"
    about = f"{_FORMAT} {about}"
    try:
        try:
            index = TextIndex(path, about, state, new_state)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            _remove(path)
            index = TextIndex(path, about, state, new_state)
        try:
            yield index
            index.finish(new_state)
        finally:
            index.close()
    except sqlite3.OperationalError as error:
        msg = f"Working file {path} cannot be written ({error}): free some space."
        raise StorageError(msg) from error
    except sqlite3.DatabaseError as error:
        _remove(path)
        msg = f"Working file {path} was damaged ({error}) and is removed: try again."
        raise StorageError(msg) from error


def _remove(path: Path) -> None:
    """Remove a file of SQLite with what belongs to it."""
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


class TextIndex:
    """The documents, words, titles and terms of a corpus as they were last linked."""

    def __init__(
        self, path: Path, about: str, state: str | None, new_state: str
    ) -> None:
        self._committed = 0.0
        self._database = sqlite3.connect(path)
        self._database.executescript(_TABLES)
        stored = dict(self._database.execute("SELECT name, value FROM about"))
        states = json.loads(stored.get("states", "[]"))
        if stored.get("about") != about or not state or state not in states:
            self._database.close()
            _remove(path)
            for file in path.parent.glob(f"{path.stem}-*"):
                file.unlink(missing_ok=True)
            self._database = sqlite3.connect(path)
            self._database.executescript(_TABLES)
        (self.fresh,) = self._database.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM documents WHERE linked OR named)"
        ).fetchone()
        self._describe(about=about, states=json.dumps([state, new_state]))
        self._tally = NameTally(self._database, noting=not self.fresh)
        self.commit()

    def _describe(self, **about: str) -> None:
        """Note what the file is about."""
        self._database.executemany(
            "INSERT OR REPLACE INTO about VALUES (?, ?)", about.items()
        )

    @property
    def knows_terms(self) -> bool:
        """Whether the terms that the graph has were taken in."""
        rows = self._database.execute("SELECT 1 FROM about WHERE name = 'terms'")
        return rows.fetchone() is not None

    @knows_terms.setter
    def knows_terms(self, value: bool) -> None:
        self._describe(terms=str(value))

    def finish(self, state: str) -> None:
        """Note that the graph is in the new state, and in no older one any more."""
        self._describe(states=json.dumps([state]))
        self.commit()

    def commit(self, *, every: float = 0.0) -> None:
        """Make what was done lasting, if so many seconds have passed since."""
        if not every or time.monotonic() - self._committed > every:
            self._tally.flush()
            self._database.commit()
            self._committed = time.monotonic()

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        self._database.close()

    def documents(self) -> dict[str, str]:
        """Return the hash of each document by its id."""
        return dict(self._database.execute("SELECT id, hash FROM documents"))

    def add(
        self,
        identity: str,
        *,
        content: str,
        chunks: int,
        words: set[str],
        names: Names | None,
        appears: bool,
    ) -> None:
        """Take in a document of a content hash; without names it has no terms.

        Where it appears, links to it by its id are undone; with one that goes, go they.
        """
        done = int(names is None)
        names = names or ({}, {})
        self._tally.add(names)
        kept = zlib.compress(json.dumps(names).encode(), 1)
        number = self._database.execute(
            "INSERT INTO documents (id, hash, chunks, linked, named, written, names, "
            "found) VALUES (?, ?, ?, 0, ?, ?, ?, ?)",
            (identity, content, chunks, done, done, kept, _packed([])),
        ).lastrowid
        self._database.executemany(
            "INSERT OR IGNORE INTO words VALUES (?, ?)",
            sorted((_code(word), number) for word in words),
        )
        if appears and not self.fresh:
            self._undo("linked", [_link(document_key(identity))])
        self.commit(every=SECONDS)

    def remove(self, identities: Iterable[str]) -> None:
        """Take documents out, and what they counted."""
        for identity in identities:
            names, found = self._database.execute(
                "SELECT names, found FROM documents WHERE id = ?", [identity]
            ).fetchone()
            self._tally.add(json.loads(zlib.decompress(names)), -1)
            self._count(_unpacked(found), -1)
            self._database.execute("DELETE FROM documents WHERE id = ?", [identity])
        self.commit()

    def retitle(self, titles: Mapping[str, tuple[str, str]]) -> None:
        """Store what each title stands for; where that changed, links are undone.

        Args:
            titles: Title key -> (as it is written, document; "" for none).
        """
        rows = self._database.execute("SELECT key, name, target FROM titles")
        old = {key: (name, target) for key, name, target in rows}
        changed = [
            key for key in old.keys() | titles.keys() if old.get(key) != titles.get(key)
        ]
        if not self.fresh:
            for key in changed:
                self._undo("linked", [_link(key)])
            forms = {
                form
                for key in changed
                for name, _ in filter(None, (old.get(key), titles.get(key)))
                if len(name) >= SHORTEST
                for form in (name, name[0].lower() + name[1:])
            }
            for form in forms:
                self._undo("linked", [run.lower() for run in _RUN.findall(form)])
        self._database.executemany(
            "DELETE FROM titles WHERE key = ?", [(key,) for key in changed]
        )
        self._database.executemany(
            "INSERT INTO titles VALUES (?, ?, ?)",
            [(key, *titles[key]) for key in changed if key in titles],
        )
        self.commit()

    def choose(self, titled: Mapping[str, str]) -> dict[str, str]:
        """Return the names that may be terms with their labels; some may be new.

        Args:
            titled: Those that are titles.
        """
        self._tally.flush()
        before = self._labels()
        chosen = self._tally.chosen(touched=not self.fresh)
        execute, many = self._database.execute, self._database.executemany
        if self.fresh:
            execute("UPDATE terms SET chosen = NULL")
        else:
            execute(
                "UPDATE terms SET chosen = NULL WHERE name IN (SELECT key FROM touched)"
            )
        many(_CHOSEN, chosen.items())
        many(_TITLED, titled.items())
        rows = execute("SELECT name FROM terms WHERE titled IS NOT NULL").fetchall()
        many(
            "UPDATE terms SET titled = NULL WHERE name = ?",
            [row for row in rows if row[0] not in titled],
        )
        execute("DELETE FROM touched")
        labels = self._labels()
        if not self.fresh:
            for name in before.keys() ^ labels.keys():
                self._undo("named", name.split(" "))
        self.commit()
        return labels

    def _labels(self) -> dict[str, str]:
        """Return the names that may be terms."""
        rows = self._database.execute(
            "SELECT name, coalesce(titled, chosen) AS label FROM terms "
            "WHERE label IS NOT NULL"
        )
        return dict(rows)

    def _undo(self, edges: Edges, words: Collection[str]) -> None:
        """Mark the documents that have all of some words, all of them for no words."""
        execute = self._database.execute
        kept = [int(kind != edges) for kind in _KINDS]
        if not words:
            execute(_UNDO, kept)
            return
        first, *rest = map(_code, sorted(set(words), key=lambda w: (-len(w), w)))
        rows = execute("SELECT document FROM words WHERE word = ?", [first])
        numbers = [number for (number,) in rows]
        for code in rest:
            has = "SELECT 1 FROM words WHERE word = ? AND document = ?"
            numbers = [n for n in numbers if execute(has, (code, n)).fetchone()]
        self._database.executemany(
            f"{_UNDO} WHERE number = ?", [(*kept, number) for number in numbers]
        )

    def undone(self, *edges: Edges) -> list[tuple[str, set[Edges]]]:
        """Return documents of which some kinds of edges are undone, and these kinds."""
        out = []
        for identity, *done in self._database.execute(_UNDONE):
            open_ = {k for k, d in zip(_KINDS, done, strict=True) if not d}
            if kinds := open_.intersection(edges):
                out.append((identity, kinds))
        return out

    def done(self, edges: Edges, identities: Iterable[str]) -> None:
        """Mark documents whose edges of a kind are up to date."""
        flags = [int(kind == edges) for kind in _KINDS]
        self._database.executemany(_DONE, [(*flags, i) for i in identities])

    def found(self, identities: Sequence[str]) -> Iterator[Found]:
        """Yield the names found in documents."""
        for identity in identities:
            (packed,) = self._database.execute(
                "SELECT found FROM documents WHERE id = ?", [identity]
            ).fetchone()
            yield identity, _unpacked(packed)

    def find(self, found: Found) -> None:
        """Store the names found in a document."""
        identity, chunks = found
        ((_, old),) = self.found([identity])
        self._count(old, -1)
        self._count(chunks, 1)
        self._database.execute(
            "UPDATE documents SET found = ?, named = 1, written = 0 WHERE id = ?",
            [_packed(chunks), identity],
        )

    def _count(self, chunks: Iterable[tuple[str, Sequence[str]]], times: int) -> None:
        """Count the chunks that name each term."""
        self._database.executemany(
            "UPDATE terms SET chunks = chunks + ? WHERE name = ?",
            [(times, name) for _, names in chunks for name in names],
        )

    def store_terms(self, stored: Mapping[str, tuple[str, int]]) -> None:
        """Note label and count of terms as the graph has them now."""
        self._database.executemany(
            "INSERT INTO terms (name, stored) VALUES (?, ?) ON CONFLICT (name) "
            "DO UPDATE SET stored = excluded.stored",
            [(name, json.dumps(pair)) for name, pair in stored.items()],
        )
        self.commit()

    def drop_terms(self, names: Iterable[str]) -> None:
        """Note that the graph has some terms no longer."""
        self._database.executemany(
            "UPDATE terms SET stored = NULL WHERE name = ?", [(n,) for n in names]
        )
        self._database.execute(
            "DELETE FROM terms WHERE coalesce(chosen, titled, stored) IS NULL"
        )
        self.commit()

    def settle(self) -> tuple[dict[str, tuple[str, int]], list[str], set[str], int]:
        """Say which terms there are, the counts of all documents being known.

        Returns:
            Terms that the graph has not as they are; names that it has and that are no
            terms; the names that are linked from their chunks; how many chunks there
            are.
        """
        (total,) = self._database.execute(
            "SELECT coalesce(sum(chunks), 0) FROM documents"
        ).fetchone()
        changed: dict[str, tuple[str, int]] = {}
        gone, linked, turned = [], set(), []
        for name, label, titled, chunks, was, stored in self._database.execute(
            "SELECT name, coalesce(titled, chosen), titled IS NOT NULL, chunks, "
            "linked, stored FROM terms"
        ):
            term = label is not None and is_term(chunks=chunks, titled=bool(titled))
            links = term and is_linked(chunks=chunks, total=total)
            if links:
                linked.add(name)
            if links != bool(was):
                turned.append((links, name))
            if term and stored != json.dumps([label, chunks]):
                changed[name] = label, chunks
            elif stored is not None and not term:
                gone.append(name)
        self._database.executemany("UPDATE terms SET linked = ? WHERE name = ?", turned)
        if not self.fresh:
            for _, name in turned:
                self._undo("written", name.split(" "))
        self.commit()
        return changed, gone, linked, total


def _packed(chunks: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    """Return the names of chunks for the file."""
    return zlib.compress(json.dumps(chunks).encode(), 1)


def _unpacked(data: bytes) -> list[tuple[str, list[str]]]:
    """Return what was packed."""
    return [(chunk, names) for chunk, names in json.loads(zlib.decompress(data))]
