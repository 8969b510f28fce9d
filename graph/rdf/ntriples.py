"""N-Triples, read line by line; and what all parsers share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from rdflib.term import BNode, Literal, URIRef

from graph.errors import RdfError
from graph.rdf.terms import value_of_term
from graph.rdf.vocabulary import is_iri

if TYPE_CHECKING:
    from pathlib import Path

    from graph.rdf.vocabulary import Value

__all__ = ["Sink", "parse_ntriples", "plain_term", "refused"]

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


class Sink(Protocol):
    """What takes the triples of a file."""

    def add(self, subject: str, predicate: str, found: str | Value) -> None:
        """Take a triple; blank nodes begin with `_:`."""
        ...

    def bind(self, prefix: str, namespace: str) -> None:
        """Take a prefix of the file."""
        ...


def refused(path: Path, line: int | None, why: object) -> RdfError:
    """Return the error for a file that is not well-formed."""
    where = "" if line is None else f", line {line}"
    plain = str(why).encode("utf-8", "backslashreplace").decode("utf-8")
    text = " ".join(plain.split())[:200].rstrip(".")
    return RdfError(f"{path}{where}: {text}. Nothing was stored.")


def plain_term(term: Any) -> str:
    """Return an IRI or blank node as text.

    Raises:
        ValueError: If it is no absolute IRI.
    """
    if isinstance(term, BNode):
        return f"_:{term}"
    if not is_iri(str(term)):
        msg = f"<{term}> is no IRI"
        raise ValueError(msg)
    return str(term)


def parse_ntriples(path: Path, sink: Sink, base: str) -> None:
    """Give the triples of a file in N-Triples to a sink.

    Args:
        path: The file.
        sink: What takes them.
        base: Not used: all IRIs are absolute.

    Raises:
        RdfError: If a line is no triple.
    """
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
                raise refused(path, number, error) from error


def _nt_triple(found: re.Match[str]) -> tuple[str, str, str | Value]:
    """Return the triple of a line of N-Triples.

    Raises:
        ValueError: If a term is not what it should be.
    """
    subject, blank, predicate, target, other, text, datatype, language = found.groups()
    first = f"_:{blank}" if subject is None else _checked(subject)
    if text is None:
        last: str | Value = f"_:{other}" if target is None else _checked(target)
    else:
        kind = None if datatype is None else URIRef(_checked(datatype))
        last = value_of_term(Literal(_decoded(text), datatype=kind, lang=language))
    return first, _checked(predicate), last


def _checked(text: str) -> str:
    """Return an IRI, decoded.

    Raises:
        ValueError: If it is no absolute IRI.
    """
    return plain_term(_decoded(text) if "\\" in text else text)


def _decoded(text: str) -> str:
    """Return a text with its escapes decoded.

    Raises:
        ValueError: If an escape is none.
    """
    return _CODE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    """Return the character of an escape.

    Raises:
        ValueError: If there is none.
    """
    code = found[1] or found[2]
    character = chr(int(code, 16)) if code else _LETTERS.get(found[3], "")
    if not character or "\ud800" <= character <= "\udfff":
        msg = f"{found[0]!r} is no character"
        raise ValueError(msg)
    return character
