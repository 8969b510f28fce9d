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
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from knowtrail.graph.errors import StorageError
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.keys import document_key, page_key
from knowtrail.ingest.mentions import SHORTEST
from knowtrail.ingest.names import words_of
from knowtrail.ingest.terms import LINKED_SHARE, MOST_LINKED, NameTally
from knowtrail.ingest.vector_file import working_folder

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from knowtrail.ingest.terms import Names

Found = tuple[str, list[tuple[str, list[str]]]]
"""A document and, for each of its chunks, the names found in it."""
Edges = Literal["linked", "named", "written"]
"""Of a document: its links and mentions are stored; its names are found; are stored."""

_FORMAT = 3
SECONDS = 10.0
"""Between two commits, at most about as much as a kill costs."""
_RUN = re.compile(r"[^\W_]+")
_TABLES = Path(__file__).with_name("text_index.sql").read_text("utf-8")
_SQL: dict[str, str] = packaged(__package__, "text_index.toml")
_KINDS: tuple[Edges, ...] = ("linked", "named", "written")


def words_in(text: str, targets: Iterable[str]) -> set[str]:
    """Return what a document is found by: its words in every form, and its links."""
    words = set(words_of(text))
    if not text.isascii():
        words.update(run.lower() for run in _RUN.findall(text))
    words.update(map(_link, {key for t in targets for key in (t, page_key(t))}))
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

    The key tells corpora made anew under an old name apart. The content depends on the
    documents, on what it is `about` and on the state that the graph names; this linking
    makes a new one.

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
        (self.fresh,) = self._database.execute(_SQL["fresh"]).fetchone()
        self._describe(about=about, states=json.dumps([state, new_state]))
        self._tally = NameTally(self._database, noting=not self.fresh)
        self.commit()

    def _describe(self, **about: str) -> None:
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
            _SQL["add"], (identity, content, chunks, done, done, kept, _packed([]))
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
            self.commit(every=SECONDS)

    def retitle(
        self,
        titles: Mapping[str, tuple[str, str]],
        containing: Callable[[Mapping[str, Sequence[str]]], Iterable[str]],
    ) -> None:
        """Store what each title stands for; where that changed, links are undone.

        Titles are title key -> (as it is written, document; "" for none). `containing`
        is given the phrases that may stand in documents, and returns those in which
        one does.
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
            named = containing(self._linked_with(sorted(forms))) if forms else ()
            self._database.executemany(
                "UPDATE documents SET linked = 0 WHERE id = ?", [(i,) for i in named]
            )
        self._database.executemany(
            "DELETE FROM titles WHERE key = ?", [(key,) for key in changed]
        )
        self._database.executemany(
            "INSERT INTO titles VALUES (?, ?, ?)",
            [(key, *titles[key]) for key in changed if key in titles],
        )
        self.commit()

    def _linked_with(self, phrases: Iterable[str]) -> dict[str, list[str]]:
        """Return the linked documents that have all words of phrases, and these."""
        rows = self._database.execute("SELECT number, id FROM documents WHERE linked")
        linked = dict(rows.fetchall())
        found: defaultdict[str, list[str]] = defaultdict(list)
        for phrase in phrases:
            for number in self._having([w.lower() for w in _RUN.findall(phrase)]):
                if number in linked:
                    found[linked[number]].append(phrase)
        return found

    def choose(self, titled: Mapping[str, str]) -> tuple[set[str], set[str]]:
        """Choose the names that may be terms; those that are titles have labels.

        Documents in which one was found that is gone are to be named again, and those
        with the words of one that appears, where it stands in their texts. Returned
        are the documents that are to be named in any case, and the names that appear.
        """
        self._tally.flush()
        execute, many = self._database.execute, self._database.executemany
        rows = execute("SELECT name, titled FROM terms WHERE titled IS NOT NULL")
        old = dict(rows.fetchall())
        retitled = [
            n for n in old.keys() | titled.keys() if old.get(n) != titled.get(n)
        ]
        if self.fresh:
            execute("UPDATE terms SET chosen = NULL")
        else:
            many("INSERT OR IGNORE INTO touched VALUES (?)", [(n,) for n in retitled])
        before = dict(execute(_SQL["touched_labels"]))
        chosen = self._tally.chosen(touched=not self.fresh)
        execute(
            "UPDATE terms SET chosen = NULL WHERE name IN (SELECT key FROM touched)"
        )
        many(_SQL["chosen"], chosen.items())
        many(_SQL["titled"], [(name, titled.get(name)) for name in retitled])
        after = dict(execute(_SQL["touched_labels"]))
        execute("DELETE FROM touched")
        self._undo_found("named", before.keys() - after.keys())
        unnamed = {identity for identity, _ in self.undone("named")}
        appeared = after.keys() - before.keys()
        for name in appeared:
            self._undo("named", name.split(" "))
        self.commit()
        return unnamed, appeared

    def names(self) -> list[str]:
        """Return the names that may be terms."""
        return [name for name, _ in self._database.execute(_SQL["labels"])]

    def _undo(self, edges: Edges, words: Collection[str]) -> None:
        """Mark the documents that have all of some words."""
        self._mark(edges, self._having(words))

    def _mark(self, edges: Edges, numbers: Iterable[int]) -> None:
        kept = [int(kind != edges) for kind in _KINDS]
        self._database.executemany(
            _SQL["undo"], [(*kept, number) for number in numbers]
        )

    def _undo_found(self, edges: Edges, names: Collection[str]) -> None:
        """Mark the documents in which some names were found."""
        numbers = {n for name in names for n in self._having(name.split(" "))}
        wanted = frozenset(names)
        self._mark(
            edges,
            [
                number
                for number in sorted(numbers)
                for (packed,) in self._database.execute(
                    "SELECT found FROM documents WHERE number = ?", [number]
                )
                if any(not wanted.isdisjoint(there) for _, there in _unpacked(packed))
            ],
        )

    def _having(self, words: Collection[str]) -> list[int]:
        """Return the numbers of the documents that have all of some words."""
        execute = self._database.execute
        if not words:
            return [number for (number,) in execute("SELECT number FROM documents")]
        first, *rest = map(_code, sorted(set(words), key=lambda w: (-len(w), w)))
        rows = execute("SELECT document FROM words WHERE word = ?", [first])
        numbers = [number for (number,) in rows]
        for code in rest:
            has = "SELECT 1 FROM words WHERE word = ? AND document = ?"
            numbers = [n for n in numbers if execute(has, (code, n)).fetchone()]
        return numbers

    def undone(self, *edges: Edges) -> list[tuple[str, set[Edges]]]:
        """Return documents of which some kinds of edges are undone, and these kinds."""
        out = []
        for identity, *done in self._database.execute(_SQL["undone"]):
            open_ = {k for k, d in zip(_KINDS, done, strict=True) if not d}
            if kinds := open_.intersection(edges):
                out.append((identity, kinds))
        return out

    def done(self, edges: Edges, identities: Iterable[str]) -> None:
        """Mark documents whose edges of a kind are up to date."""
        flags = [int(kind == edges) for kind in _KINDS]
        self._database.executemany(_SQL["done"], [(*flags, i) for i in identities])

    def found(self, identities: Sequence[str]) -> Iterator[Found]:
        """Yield the names found in documents."""
        for identity in identities:
            (packed,) = self._database.execute(
                "SELECT found FROM documents WHERE id = ?", [identity]
            ).fetchone()
            yield identity, _unpacked(packed)

    def find(self, found: Found) -> None:
        """Store the names found in a document; if they differ, its NAMES are undone."""
        identity, chunks = found
        ((_, old),) = self.found([identity])
        if old == chunks:
            self.done("named", [identity])
            return
        self._count(old, -1)
        self._count(chunks, 1)
        self._database.execute(_SQL["find"], [_packed(chunks), identity])

    def _count(self, chunks: Iterable[tuple[str, Sequence[str]]], times: int) -> None:
        self._database.executemany(
            "UPDATE terms SET chunks = chunks + ? WHERE name = ?",
            [(times, name) for _, names in chunks for name in names],
        )

    def store_terms(self, stored: Mapping[str, tuple[str, int]]) -> None:
        """Note label and count of terms as the graph has them now."""
        self._database.executemany(
            _SQL["stored"], [(name, *pair) for name, pair in stored.items()]
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
        """Settle which terms there are, the counts of all documents being known.

        Returned are terms that the graph has not as they are, names that it has and
        that are no terms, names that are linked and were not or the reverse, and how
        many chunks there are. The documents in which one turned are to be written.
        """
        (total,) = self._database.execute(
            "SELECT coalesce(sum(chunks), 0) FROM documents"
        ).fetchone()
        limits = {"most": MOST_LINKED, "share": LINKED_SHARE, "total": total}
        rows = self._database.execute(_SQL["settled"], limits).fetchall()
        turned = [(row[4], row[0]) for row in rows if row[4] != row[5]]
        self._database.executemany("UPDATE terms SET linked = ? WHERE name = ?", turned)
        names = {name for _, name in turned}
        if not self.fresh:
            self._undo_found("written", names)
        self.commit()
        differing = [row[:4] for row in rows if row[-1]]
        changed = {name: (label, n) for name, label, n, term in differing if term}
        gone = [name for name, _, _, term in differing if not term]
        return changed, gone, names, total

    def linked(self, names: Collection[str]) -> set[str]:
        """Return those of some names that are linked from their chunks."""
        rows = self._database.execute(
            "SELECT name FROM terms JOIN json_each(?) ON name = value WHERE linked",
            [json.dumps(list(names))],
        )
        return {name for (name,) in rows}


def _packed(chunks: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    return zlib.compress(json.dumps(chunks).encode(), 1)


def _unpacked(data: bytes) -> list[tuple[str, list[str]]]:
    return [(chunk, names) for chunk, names in json.loads(zlib.decompress(data))]
