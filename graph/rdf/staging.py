"""RDF files, read into a database on disk that gives their triples subject by subject.

A file is read whole before anything is stored; so what is not well-formed changes
nothing, however long it is, and memory does not grow with it. Oxigraph reads it.
JSON-LD that has a line for each node, with its types first, as exports have it, is a
stream too; other JSON-LD is held in memory whole.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.parsers import expat

from knowtrail.graph.errors import RdfError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.graph.rdf.export import ESCAPED
from knowtrail.graph.rdf.vocabulary import RDF, XSD, Value, is_iri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from knowtrail.graph.rdf.vocabulary import Vocabulary


_ROWS = 5_000
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE triple (s TEXT, p TEXT, o TEXT, kind TEXT, language TEXT);
CREATE TABLE blank (label TEXT PRIMARY KEY, number INTEGER);
CREATE TABLE node (iri TEXT PRIMARY KEY, label TEXT, property TEXT, key TEXT);
CREATE TABLE edge (s TEXT, name TEXT, o TEXT, UNIQUE (s, name, o));
CREATE TABLE stated (s TEXT, name TEXT, o TEXT, iri TEXT UNIQUE);
CREATE INDEX by_edge ON stated (s, name, o);
"""


class Staging:
    """A database in a file of its own that holds the triples of one RDF file."""

    def __init__(self, folder: Path, digest: str, vocabulary: Vocabulary) -> None:
        self.prefixes: dict[str, str] = {}
        self.count = 0
        self._digest = digest
        self._vocabulary = vocabulary
        self._rows: list[tuple[str, str, str, str | None, str]] = []
        self._database = sqlite3.connect(folder / "triples.sqlite")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(self, subject: str, predicate: str, found: str | Value) -> None:
        """Take a triple of the file."""
        row: tuple[str, str | None, str]
        if isinstance(found, Value):
            row = (found.text, found.datatype, found.language)
        else:
            row = (self._named(found), None, "")
        self._rows.append((self._named(subject), predicate, *row))
        self.count += 1
        if len(self._rows) >= _ROWS:
            self._flush()

    def bind(self, prefix: str, namespace: str) -> None:
        """Take a prefix of the file."""
        if prefix and namespace:
            self.prefixes.setdefault(prefix, namespace)

    def clear(self) -> None:
        """Forget the file: it is read again."""
        self._rows, self.count = [], 0
        self.prefixes.clear()
        self._database.execute("DELETE FROM triple")
        self._database.execute("DELETE FROM blank")

    def _named(self, iri: str) -> str:
        """Return an IRI, or a blank node by a name that depends on the file alone."""
        if not iri.startswith("_:"):
            return self._vocabulary.unskolem(iri)
        self._database.execute(
            "INSERT OR IGNORE INTO blank VALUES (?, (SELECT count(*) FROM blank))",
            (iri,),
        )
        cursor = self._database.execute(
            "SELECT number FROM blank WHERE label = ?", (iri,)
        )
        return f"_:{self._digest}-{cursor.fetchone()[0]}"

    def _flush(self) -> None:
        """Write what was taken."""
        self._database.executemany(
            "INSERT INTO triple VALUES (?, ?, ?, ?, ?)", self._rows
        )
        self._rows = []

    def finish(self) -> None:
        """Make what was taken ready to be read."""
        self._flush()
        self._database.execute("CREATE INDEX by_subject ON triple (s)")

    def subjects(self) -> Iterator[tuple[str, list[tuple[str, str | Value]]]]:
        """Yield each subject with its predicates and objects, each pair once."""
        rows = self._database.execute(
            "SELECT DISTINCT s, p, o, kind, language FROM triple "
            "ORDER BY s, p, o, kind, language"
        )
        for subject, group in itertools.groupby(rows, key=lambda row: row[0]):
            yield (
                subject,
                [
                    (p, o if kind is None else Value(o, kind, language))
                    for _, p, o, kind, language in group
                ],
            )

    def texts(self, predicates: Iterable[str]) -> set[str]:
        """Return the literals that some predicates lead to."""
        return {
            row[0]
            for predicate in predicates
            for row in self._database.execute(
                "SELECT DISTINCT o FROM triple WHERE p = ? AND kind IS NOT NULL",
                (predicate,),
            )
        }

    def predicates(self) -> list[str]:
        """Return the predicates of the file."""
        rows = self._database.execute("SELECT DISTINCT p FROM triple ORDER BY p")
        return [row[0] for row in rows]

    def longer(self, most: int) -> Iterator[tuple[str, str, str, bool]]:
        """Yield the triples with a text that has more than some bytes."""
        rows = self._database.execute(
            "SELECT s, p, o, kind IS NOT NULL FROM triple "
            "WHERE length(CAST(s AS BLOB)) > ? OR length(CAST(o AS BLOB)) > ?",
            (most, most),
        )
        for subject, predicate, found, is_literal in rows:
            yield subject, predicate, found, bool(is_literal)

    def is_class(self, iri: str, kind: str) -> bool:
        """Return whether the file says that an IRI is of a type."""
        found = self._database.execute(
            "SELECT 1 FROM triple WHERE s = ? AND o = ? AND kind IS NULL "
            "AND p = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type' LIMIT 1",
            (iri, kind),
        )
        return found.fetchone() is not None

    def place(self, iri: str, label: str, name: str, key: str) -> None:
        """Note where the node of an IRI is."""
        self._database.execute(
            "INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?)", (iri, label, name, key)
        )

    def connect(self, source: str, name: str, target: str) -> None:
        """Note a relationship, once."""
        self._database.execute(
            "INSERT OR IGNORE INTO edge VALUES (?, ?, ?)", (source, name, target)
        )

    def state(self, source: str, name: str, target: str, iri: str) -> None:
        """Note a statement about a relationship."""
        self.connect(source, name, target)
        self._database.execute(
            "INSERT OR IGNORE INTO stated VALUES (?, ?, ?, ?)",
            (source, name, target, iri),
        )

    def unplaced(self, limit: int) -> list[str]:
        """Return some IRIs that relationships lead to or from, but that are nowhere."""
        rows = self._database.execute(
            "SELECT i FROM (SELECT s AS i FROM edge UNION SELECT o FROM edge) "
            "WHERE i NOT IN (SELECT iri FROM node) ORDER BY i LIMIT ?",
            (limit,),
        )
        return [row[0] for row in rows.fetchall()]

    def edges(self) -> Iterator[tuple[Any, ...]]:
        """Yield relationships in groups of one kind: name, then where both ends are."""
        rows = self._database.execute(
            "SELECT e.name, a.label, a.property, b.label, b.property, a.key, b.key, "
            "e.s, e.o FROM edge e "
            "JOIN node a ON a.iri = e.s JOIN node b ON b.iri = e.o "
            "ORDER BY e.name, a.label, a.property, b.label, b.property, a.key, b.key"
        )
        yield from rows

    def count_edges(self) -> int:
        """Return how many relationships were noted."""
        return int(self._database.execute("SELECT count(*) FROM edge").fetchone()[0])

    def statements(
        self, source: str, name: str, target: str
    ) -> list[list[tuple[str, str | Value]]]:
        """Return what the file says of each statement about a relationship."""
        rows = self._database.execute(
            "SELECT iri FROM stated WHERE s = ? AND name = ? AND o = ? ORDER BY iri",
            (source, name, target),
        ).fetchall()
        return [list(self.about(row[0])) for row in rows]

    def about(self, subject: str) -> Iterable[tuple[str, str | Value]]:
        """Return the predicates and objects of one subject."""
        rows = self._database.execute(
            "SELECT DISTINCT p, o, kind, language FROM triple WHERE s = ? "
            "ORDER BY p, o, kind, language",
            (subject,),
        ).fetchall()
        return [
            (p, o if kind is None else Value(o, kind, language))
            for p, o, kind, language in rows
        ]


_PREFIX = re.compile(rb"#\s*@prefix\s+([A-Za-z][A-Za-z0-9]*):\s*<([^<>\s]+)>\s*\.\s*")
_PLACE = re.compile(r"Parser error [^:]*: ")
_MARK = b"\xef\xbb\xbf"
_IMPLIED = frozenset({f"{XSD}string", f"{RDF}langString"})
"""Datatypes that a literal has without naming them."""


class _BadXmlError(Exception):
    """A file is no XML that may be read: its line, and why."""


def _refused(path: Path, line: int | None, why: object) -> RdfError:
    """Return the error for a file that is not well-formed."""
    where = "" if line is None else f", line {line}"
    text = " ".join(str(why).split())[:200].rstrip(".")
    return RdfError(f"{path}{where}: {text}. Nothing was stored.")


def digest_of(path: Path) -> str:
    """Return a short digest of a file's content.

    Raises:
        SourceError: If it cannot be read.
    """
    try:
        return file_digest(path, size=8)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}): name an RDF file."
        raise SourceError(msg) from error


def parse(path: Path, staging: Staging, *, form: str, base: str) -> None:
    """Take the triples of a file.

    Raises:
        RdfError: If the file is not well-formed; the message has the line.
        SourceError: If it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MARK)) != _MARK:
                stream.seek(0)
            _parse(stream, staging, form, base)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror or error}): name an RDF file."
        raise SourceError(msg) from error
    except _BadXmlError as error:
        raise _refused(path, *error.args) from error
    except SyntaxError as error:
        why = _PLACE.sub("", error.msg)
        if "remote contexts" in why:
            why = "a context from elsewhere is not loaded: write it into the file"
        raise _refused(path, error.lineno, why) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, None, error) from error


def _parse(stream: BinaryIO, staging: Staging, form: str, base: str) -> None:
    """Take the triples of an open file."""
    import pyoxigraph

    formats = {
        "nt": pyoxigraph.RdfFormat.N_TRIPLES,
        "turtle": pyoxigraph.RdfFormat.TURTLE,
        "json-ld": pyoxigraph.RdfFormat.JSON_LD,
        "xml": pyoxigraph.RdfFormat.RDF_XML,
    }

    def read(source: Any, kind: pyoxigraph.RdfFormat) -> None:
        triples = pyoxigraph.parse(source, kind, base_iri=base)
        for triple in triples:
            found = _found(triple.object)
            staging.add(_name(triple.subject), _name(triple.predicate), found)
        for prefix, namespace in triples.prefixes.items():
            staging.bind(prefix, namespace)

    if form == "xml":
        checked = _CheckedXml(stream, staging)
        read(checked, formats[form])
        checked.close()
        return
    begin = stream.tell()
    first = stream.readline()
    streams = first.endswith(b'"@graph": [\n') and stream.readline(9) == b'{"@type":'
    while form == "nt" and first.startswith(b"#"):
        if (found := _PREFIX.fullmatch(first)) is not None:
            staging.bind(found[1].decode(), found[2].decode())
        first = stream.readline()
    stream.seek(begin)
    if form == "json-ld" and streams:
        try:
            read(stream, pyoxigraph.RdfFormat.STREAMING_JSON_LD)
        except SyntaxError:
            # A later node may not begin with its types: then all is read at once.
            staging.clear()
            stream.seek(begin)
        else:
            return
    read(stream, formats[form])


def _found(term: Any) -> str | Value:
    """Return an object of a triple; text that XML cannot hold was a JSON string."""
    if not hasattr(term, "language"):
        return _name(term)
    datatype = term.datatype.value
    if datatype.endswith(f"/datatype/{ESCAPED}"):
        return Value(str(json.loads(term.value)))
    kind = "" if datatype in _IMPLIED else datatype
    return Value(term.value, kind, _tag(term.language or ""))


@lru_cache(maxsize=1024)
def _tag(language: str) -> str:
    """Return a language tag in the case that RFC 5646 recommends, such as `en-US`."""
    first, *rest = language.split("-")
    usual = {2: str.upper, 4: str.title}
    return "-".join([first, *(usual.get(len(part), str)(part) for part in rest)])


def _name(term: Any) -> str:
    """Return an IRI or a blank node as text."""
    text = str(term)
    if text.startswith("_:"):
        return text
    if not is_iri(text := text[1:-1]):
        msg = f"<{text}> is no IRI"
        raise ValueError(msg)
    return text


class _CheckedXml:
    """XML that is read while it is well-formed, and its entities cannot grow.

    The prefixes in it are kept.
    """

    def __init__(self, stream: BinaryIO, staging: Staging) -> None:
        self._stream = stream
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.EntityDeclHandler = self._declared
        self._parser.StartNamespaceDeclHandler = lambda prefix, name: staging.bind(
            prefix or "", name or ""
        )

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, checked."""
        data = self._stream.read(size)
        self._parse(data, final=False)
        return data

    def close(self) -> None:
        """Check that nothing is missing."""
        self._parse(b"", final=True)

    def _parse(self, data: bytes, *, final: bool) -> None:
        """Check some bytes."""
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise _BadXmlError(error.lineno, why) from error

    def _declared(self, name: str, _: Any, value: str | None, *__: Any) -> None:
        """Refuse an entity that is elsewhere, or holds another one."""
        if value is None or "&" in value:
            why = f"entity {name[:80]!r} holds another one, or is elsewhere"
            raise _BadXmlError(self._parser.CurrentLineNumber, why)
