"""RDF files as triples, as a stream, with the line of what cannot be read.

Oxigraph reads them. JSON-LD that has a line for each node, with its types first, as
exports have it, is a stream too; other JSON-LD is held in memory whole.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol
from xml.parsers import expat

from knowtrail.graph.errors import RdfError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.graph.rdf.export import ESCAPED
from knowtrail.graph.rdf.vocabulary import RDF, XSD, Value, is_iri

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX = re.compile(rb"#\s*@prefix\s+([A-Za-z][A-Za-z0-9]*):\s*<([^<>\s]+)>\s*\.\s*")
_PLACE = re.compile(r"Parser error [^:]*: ")
_MARK = b"\xef\xbb\xbf"
_IMPLIED = frozenset({f"{XSD}string", f"{RDF}langString"})
"""Datatypes that a literal has without naming them."""


class Sink(Protocol):
    """What takes the triples of a file."""

    def add(self, subject: str, predicate: str, found: str | Value) -> None:
        """Take a triple; blank nodes begin with `_:`."""
        ...

    def bind(self, prefix: str, namespace: str) -> None:
        """Take a prefix of the file."""
        ...

    def clear(self) -> None:
        """Forget everything: the file is read again."""
        ...


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


def parse(path: Path, sink: Sink, *, form: str, base: str) -> None:
    """Give the triples of a file to a sink.

    Raises:
        RdfError: If the file is not well-formed; the message has the line.
        SourceError: If it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MARK)) != _MARK:
                stream.seek(0)
            _parse(stream, sink, form, base)
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


def _parse(stream: BinaryIO, sink: Sink, form: str, base: str) -> None:
    """Give the triples of an open file to a sink."""
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
            sink.add(_name(triple.subject), _name(triple.predicate), found)
        for prefix, namespace in triples.prefixes.items():
            sink.bind(prefix, namespace)

    if form == "xml":
        checked = _CheckedXml(stream, sink)
        read(checked, formats[form])
        checked.close()
        return
    begin = stream.tell()
    first = stream.readline()
    streams = first.endswith(b'"@graph": [\n') and stream.readline(9) == b'{"@type":'
    while form == "nt" and first.startswith(b"#"):
        if (found := _PREFIX.fullmatch(first)) is not None:
            sink.bind(found[1].decode(), found[2].decode())
        first = stream.readline()
    stream.seek(begin)
    if form == "json-ld" and streams:
        try:
            read(stream, pyoxigraph.RdfFormat.STREAMING_JSON_LD)
        except SyntaxError:
            # A later node may not begin with its types: then all is read at once.
            sink.clear()
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

    The prefixes in it are given to a sink.
    """

    def __init__(self, stream: BinaryIO, sink: Sink) -> None:
        self._stream = stream
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.EntityDeclHandler = self._declared
        self._parser.StartNamespaceDeclHandler = lambda prefix, name: sink.bind(
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
