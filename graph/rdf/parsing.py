"""RDF files as triples, piece by piece, with the line of what cannot be read.

N-Triples are read line by line and RDF/XML as a stream; Turtle is given to rdflib's
parser a few statements at a time, and so is JSON-LD that has a line for each node, as
exports have it. Other JSON-LD is held in memory whole.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any, Protocol
from xml.parsers import expat
from xml.sax import SAXParseException

from rdflib import Graph
from rdflib.parser import create_input_source
from rdflib.plugins.parsers import notation3
from rdflib.plugins.parsers.jsonld import to_rdf
from rdflib.plugins.parsers.rdfxml import RDFXMLParser
from rdflib.store import Store
from rdflib.term import BNode, Literal, URIRef

from knowtrail.graph.errors import RdfError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.graph.rdf.export import ESCAPED
from knowtrail.graph.rdf.values import value_of_term
from knowtrail.graph.rdf.vocabulary import Value, is_iri

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TERM = r"<([^<>\"{}|^`\\\x00-\x20]*(?:\\u[0-9A-Fa-f]{4}[^<>\"{}|^`\\\x00-\x20]*)*)>"
_LABEL = r"_:([A-Za-z0-9_](?:[\w.·-]*[\w·-])?)"
_LINE = re.compile(
    rf"[ \t]*(?:{_TERM}|{_LABEL})[ \t]*{_TERM}[ \t]*(?:{_TERM}|{_LABEL}|"
    r"\"((?:[^\"\\\n\r]|\\.)*)\"(?:\^\^" + _TERM + r"|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?)"
    r"[ \t]*\.[ \t]*(?:#.*)?"
)
_PREFIX = re.compile(r"#\s*@prefix\s+([A-Za-z][A-Za-z0-9]*):\s*<([^<>\s]+)>\s*\.\s*")
_CODE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_LETTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LETTERS |= {'"': '"', "'": "'", "\\": "\\"}
_BLOCK = 1 << 16
_NODES = 500
_HALF = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(
    r"#[^\n]*|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r"|\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*'"
    r"|<[^<>\s]*>|[\[\](){}]|\.(?=\s)|[^#\"'<\[\](){}.]+|\.|.",
    re.DOTALL,
)


class Sink(Protocol):
    """What takes the triples of a file."""

    def add(self, subject: str, predicate: str, found: str | Value) -> None:
        """Take a triple; blank nodes begin with `_:`."""
        ...

    def bind(self, prefix: str, namespace: str) -> None:
        """Take a prefix of the file."""
        ...


def _refused(path: Path, line: int | None, why: object) -> RdfError:
    """Return the error for a file that is not well-formed."""
    where = "" if line is None else f", line {line}"
    plain = str(why).encode("utf-8", "backslashreplace").decode("utf-8")
    text = " ".join(plain.split())[:200].rstrip(".")
    return RdfError(f"{path}{where}: {text}. Nothing was stored.")


def _plain_term(term: Any) -> str:
    """Return an IRI or blank node as text."""
    if isinstance(term, BNode):
        return f"_:{term}"
    if not is_iri(str(term)):
        msg = f"<{term}> is no IRI"
        raise ValueError(msg)
    return str(term)


def _parse_ntriples(path: Path, sink: Sink, base: str) -> None:
    """Give the triples of a file in N-Triples to a sink."""
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for number, line in enumerate(stream, start=1):
            text = line.rstrip("\r\n")
            if not text.strip() or text.lstrip().startswith("#"):
                prefix = _PREFIX.fullmatch(text)
                if prefix is not None:
                    sink.bind(prefix[1], prefix[2])
                continue
            found = _LINE.fullmatch(text)
            try:
                if found is None:
                    msg = f"{text[:80]!r} is no triple"
                    raise ValueError(msg)
                sink.add(*_nt_triple(found))
            except ValueError as error:
                raise _refused(path, number, error) from error


def _nt_triple(found: re.Match[str]) -> tuple[str, str, str | Value]:
    """Return the triple of a line of N-Triples."""
    subject, blank, predicate, target, other, text, datatype, language = found.groups()
    first = f"_:{blank}" if subject is None else _checked(subject)
    if text is None:
        last: str | Value = f"_:{other}" if target is None else _checked(target)
    else:
        kind = None if datatype is None else URIRef(_checked(datatype))
        last = value_of_term(Literal(_decoded(text), datatype=kind, lang=language))
    return first, _checked(predicate), last


def _checked(text: str) -> str:
    """Return an IRI, decoded."""
    return _plain_term(_decoded(text) if "\\" in text else text)


def _decoded(text: str) -> str:
    """Return a text with its escapes decoded."""
    return _CODE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    """Return the character of an escape."""
    code = found[1] or found[2]
    character = chr(int(code, 16)) if code else _LETTERS.get(found[3], "")
    if not character or "\ud800" <= character <= "\udfff":
        msg = f"{found[0]!r} is no character"
        raise ValueError(msg)
    return character


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

    Args:
        path: The file, in UTF-8.
        sink: What takes them; blank nodes have the file's own names.
        form: `turtle`, `nt`, `json-ld` or `xml`.
        base: What relative IRIs are resolved against.

    Raises:
        RdfError: If the file is not well-formed; the message has the line.
        SourceError: If it cannot be read.
    """
    parsers: dict[str, Callable[[Path, Sink, str], None]] = {
        "nt": _parse_ntriples,
        "turtle": _parse_turtle,
        "json-ld": _parse_jsonld,
        "xml": _parse_xml,
    }
    try:
        parsers[form](path, sink, base)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror or error}): name an RDF file."
        raise SourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 at byte {error.start}: convert it first."
        raise RdfError(msg) from error
    except RecursionError as error:
        msg = f"{path} is nested too deeply to be read."
        raise RdfError(msg) from error


class _Adapter(Store):
    """A store of rdflib that gives what it is given to a sink."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink

    def add(self, triple: Any, context: Any = None, quoted: bool = False) -> None:
        """Take a triple from a parser of rdflib."""
        subject, predicate, found = triple
        if isinstance(subject, Literal) or not isinstance(predicate, URIRef):
            msg = f"{subject!r} {predicate!r} is no beginning of a triple"
            raise ValueError(msg)
        self._sink.add(
            _plain_term(subject),
            _plain_term(predicate),
            _value(found) if isinstance(found, Literal) else _plain_term(found),
        )

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        """Take a prefix from a parser of rdflib."""
        self._sink.bind(str(prefix or ""), str(namespace))

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:
        """Yield nothing: what was added is gone."""
        yield from ()


def _value(term: Literal) -> Value:
    """Return a literal; text that XML cannot hold was written as a JSON string."""
    value = value_of_term(term)
    if value.datatype.endswith(f"/datatype/{ESCAPED}"):
        value = Value(str(json.loads(value.text)))
    if _HALF.search(value.text):
        msg = f"{value.text[:80]!r} has half a character (a lone surrogate)"
        raise ValueError(msg)
    return value


def _parse_turtle(path: Path, sink: Sink, base: str) -> None:
    """Read Turtle, some statements at a time."""
    graph = Graph(store=_Adapter(sink), bind_namespaces="none")
    parser = notation3.SinkParser(notation3.RDFSink(graph), baseURI=base, turtle=True)
    parser.startDoc()
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for piece in _statements(stream):
                parser.feed(piece)
        parser.endDoc()
    except (OSError, UnicodeDecodeError, RecursionError):
        raise
    except notation3.BadSyntax as error:
        raise _refused(path, error.lines + 1, error._why) from error
    except Exception as error:
        # rdflib's parser raises whatever it stumbles over.
        raise _refused(path, parser.lines + 1, error) from error
    for prefix, namespace in parser._bindings.items():
        sink.bind(prefix, str(namespace))


def _statements(stream: io.TextIOBase | Any) -> Iterator[str]:
    """Yield pieces of Turtle that end where a statement does."""
    buffer = ""
    while block := stream.read(_BLOCK):
        buffer += block
        end = _last_end(buffer)
        if end:
            yield buffer[:end]
            buffer = buffer[end:]
    yield buffer


def _ends(text: str, place: int) -> bool:
    """Return whether a space stands at a place of a text."""
    return text[place : place + 1].isspace()


def _last_end(text: str) -> int:
    """Return where the last statement ends that is certainly whole."""
    depth = end = 0
    for found in _TOKEN.finditer(text):
        piece = found[0]
        if piece in {"'", '"', "<"}:
            break
        if piece in {"[", "(", "{"}:
            depth += 1
        elif piece in {"]", ")", "}"}:
            depth -= 1
        elif piece == "." and depth <= 0 and _ends(text, found.end()):
            end = found.end()
    return end


def _parse_xml(path: Path, sink: Sink, base: str) -> None:
    """Read RDF/XML."""
    graph = Graph(store=_Adapter(sink), bind_namespaces="none")
    _check_entities(path)
    try:
        with path.open("rb") as stream:
            source = create_input_source(file=stream, publicID=base, format="xml")
            RDFXMLParser().parse(source, graph)  # type: ignore[no-untyped-call]
    except (OSError, RecursionError):
        raise
    except SAXParseException as error:
        raise _refused(path, error.getLineNumber(), error.getMessage()) from error
    except Exception as error:
        # rdflib's parser raises whatever it stumbles over.
        raise _refused(path, None, error) from error


def _check_entities(path: Path) -> None:
    """Refuse XML whose entities hold others, or are in another file.

    The first grow without end; the second would be read as if they were empty.
    """
    parser = expat.ParserCreate()
    begun: list[str] = []

    def declared(name: str, _: Any, value: str | None, *__: Any) -> None:
        if value is None or "&" in value:
            why = f"entity {name[:80]!r} holds another one, or is elsewhere"
            raise _refused(path, parser.CurrentLineNumber, why)

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = lambda name, _: begun.append(name)
    with path.open("rb") as stream:
        while not begun and (block := stream.read(_BLOCK)):
            try:
                parser.Parse(block, False)
            except expat.ExpatError:
                return  # what is wrong is told when it is read


def _parse_jsonld(path: Path, sink: Sink, base: str) -> None:
    """Read JSON-LD, some nodes at a time where it has a line for each."""
    graph = Graph(store=_Adapter(sink), bind_namespaces="none")
    with path.open(encoding="utf-8-sig") as stream:
        first = stream.readline()
        context = _line_context(first)
        second = "" if context is None else stream.readline()
        if context is None or not _is_line(second):
            text = first + second + stream.read()
            _add_jsonld(graph, sink, _json(path, text, 1), base, path, None)
            return
        nodes: list[Any] = []
        line, number = second, 2
        for number, line in enumerate(itertools.chain([second], stream), start=2):
            text = line.strip().removesuffix(",")
            if text in {"", "]}"}:
                continue
            nodes.append(_json(path, text, number))
            if len(nodes) == _NODES:
                _add_jsonld(
                    graph, sink, context | {"@graph": nodes}, base, path, number
                )
                nodes = []
        if line.strip() != "]}":
            raise _refused(path, number, "the end of the file is missing")
        _add_jsonld(graph, sink, context | {"@graph": nodes}, base, path, number)


def _line_context(first: str) -> dict[str, Any] | None:
    """Return the context of a file with a line for each node, None for another."""
    if not first.rstrip().endswith("["):
        return None
    try:
        head = json.loads(f"{first.rstrip()}]}}")
    except ValueError:
        return None
    if not isinstance(head, dict) or set(head) != {"@context", "@graph"}:
        return None
    return {"@context": head["@context"]}


def _is_line(text: str) -> bool:
    """Return whether a line is a node, or the end of the nodes."""
    text = text.strip().removesuffix(",")
    if text in {"", "]}"}:
        return True
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _json(path: Path, text: str, line: int) -> Any:
    """Read JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        at = getattr(error, "lineno", 1)
        raise _refused(path, line + at - 1, getattr(error, "msg", error)) from error


def _add_jsonld(
    graph: Graph, sink: Sink, data: Any, base: str, path: Path, line: int | None
) -> None:
    """Give the triples of JSON-LD to a graph."""
    if _loads_contexts(data):
        why = "a context from elsewhere is not loaded: write it into the file"
        raise _refused(path, line, why)
    try:
        to_rdf(data, graph, base=base)
    except RecursionError:
        raise
    except Exception as error:
        # rdflib's parser raises whatever it stumbles over.
        raise _refused(path, line, error) from error


def _loads_contexts(data: Any) -> bool:
    """Return whether JSON-LD names a context by its address."""
    if isinstance(data, list):
        return any(map(_loads_contexts, data))
    if not isinstance(data, dict):
        return False
    for key, value in data.items():
        if key == "@import" or (key == "@context" and _has_text(value)):
            return True
        if _loads_contexts(value):
            return True
    return False


def _has_text(context: Any) -> bool:
    """Return whether a context is an address, or has one among its parts."""
    return isinstance(context, str) or (
        isinstance(context, list) and any(map(_has_text, context))
    )
