"""Write the graph as RDF: streamed, in an order of its own, whole or not at all.

The formats are Turtle, N-Triples, JSON-LD and RDF/XML, one subject after another.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import (
    InputError,
    RdfError,
    StorageError,
    UnknownCorpusError,
)
from knowtrail.graph.files import whole_file
from knowtrail.graph.rdf.mapping import LABELS
from knowtrail.graph.rdf.run import Run
from knowtrail.graph.rdf.triples import graph_triples
from knowtrail.graph.rdf.vocabulary import (
    DEFAULT_BASE,
    PREFIXES,
    RDF,
    Value,
    Vocabulary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Mapping as Dictionary

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.rdf.triples import Triple

    Writer = Callable[
        [Iterable[Triple], Vocabulary, Dictionary[str, str]], Iterator[str]
    ]

ESCAPED = "escaped"
"""Datatype of text in RDF/XML that XML cannot hold: it stands as a JSON string."""

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*$")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

SUFFIXES = {
    ".ttl": "turtle",
    ".nt": "nt",
    ".jsonld": "json-ld",
    ".json": "json-ld",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
}
"""Ending of a file's name -> its format."""

_FOREVER = 1e9


def written(
    triples: Iterable[Triple],
    vocabulary: Vocabulary,
    foreign: Dictionary[str, str],
    *,
    form: str,
) -> Iterator[str]:
    """Yield the text of a file piece by piece.

    Raises:
        RdfError: If a triple cannot be written in this format.
    """
    solid = (_without_blanks(triple, vocabulary) for triple in triples)
    yield from FORMATS[form](solid, vocabulary, foreign)


def _without_blanks(triple: Triple, vocabulary: Vocabulary) -> Triple:
    """Return a triple with IRIs in place of blank nodes."""
    subject, predicate, found = triple
    if subject.startswith("_:"):
        subject = vocabulary.skolem(subject)
    if isinstance(found, str) and found.startswith("_:"):
        found = vocabulary.skolem(found)
    return subject, predicate, found


def _escaped(text: str) -> str:
    """Return a text as it stands between quotes."""
    return _TO_ESCAPE.sub(
        lambda found: _ESCAPES.get(found[0], f"\\u{ord(found[0]):04X}"), text
    )


def _literal(value: Value, datatype: Callable[[str], str]) -> str:
    """Return a literal in the syntax that Turtle and N-Triples share."""
    text = f'"{_escaped(value.text)}"'
    if value.language:
        return f"{text}@{value.language}"
    return f"{text}^^{datatype(value.datatype)}" if value.datatype else text


def _bracketed(iri: str) -> str:
    """Return an IRI between angle brackets."""
    return f"<{iri}>"


def _ntriples(
    triples: Iterable[Triple], vocabulary: Vocabulary, foreign: Dictionary[str, str]
) -> Iterator[str]:
    """Yield N-Triples; prefixes of others stand in comments."""
    for prefix, namespace in sorted(foreign.items()):
        yield f"# @prefix {prefix}: <{namespace}> .\n"
    for subject, predicate, found in triples:
        target = (
            _literal(found, _bracketed)
            if isinstance(found, Value)
            else _bracketed(found)
        )
        yield f"<{subject}> <{predicate}> {target} .\n"


def _turtle(
    triples: Iterable[Triple], vocabulary: Vocabulary, foreign: Dictionary[str, str]
) -> Iterator[str]:
    """Yield Turtle, a paragraph for each subject."""
    prefixes = PREFIXES | vocabulary.prefixes | dict(foreign)
    for prefix, namespace in sorted(prefixes.items()):
        yield f"@prefix {prefix}: <{namespace}> .\n"
    spaces = sorted(
        ((namespace, prefix) for prefix, namespace in prefixes.items()),
        key=lambda pair: (-len(pair[0]), pair[1]),
    )
    known: dict[str, str] = {f"{RDF}type": "a"}

    def name(iri: str) -> str:
        if iri not in known:
            if len(known) > 50_000:
                known.clear()
                known[f"{RDF}type"] = "a"
            known[iri] = _turtle_name(iri, spaces)
        return known[iri]

    def kind(iri: str) -> str:
        return "rdf:type" if iri == f"{RDF}type" else name(iri)

    for subject, group in itertools.groupby(triples, key=lambda t: t[0]):
        lines = [
            f"    {name(predicate)} "
            + (_literal(found, kind) if isinstance(found, Value) else kind(found))
            for _, predicate, found in group
        ]
        yield f"\n{kind(subject)}\n" + " ;\n".join(lines) + " .\n"


def _turtle_name(iri: str, spaces: list[tuple[str, str]]) -> str:
    """Return the shortest name of an IRI."""
    for namespace, prefix in spaces:
        if iri.startswith(namespace) and _LOCAL.fullmatch(iri[len(namespace) :]):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"


def _jsonld(
    triples: Iterable[Triple], vocabulary: Vocabulary, foreign: Dictionary[str, str]
) -> Iterator[str]:
    """Yield JSON-LD, a line for each subject; readers that stream want types first."""
    context = {prefix: {"@id": n, "@prefix": True} for prefix, n in foreign.items()}
    yield f'{{"@context": {json.dumps(context, sort_keys=True)}, "@graph": [\n'
    separator = ""
    for subject, group in itertools.groupby(triples, key=lambda t: t[0]):
        node: dict[str, list[object]] = {}
        for _, predicate, found in group:
            if predicate == f"{RDF}type" and isinstance(found, str):
                node.setdefault("@type", []).append(found)
            else:
                node.setdefault(predicate, []).append(_jsonld_object(found))
        types = {"@type": node.pop("@type")} if "@type" in node else {}
        text = json.dumps({**types, "@id": subject, **node}, ensure_ascii=False)
        yield separator + text
        separator = ",\n"
    yield "\n]}\n"


def _jsonld_object(found: str | Value) -> dict[str, str]:
    """Return an object of a triple in JSON-LD."""
    if isinstance(found, str):
        return {"@id": found}
    if found.language:
        return {"@value": found.text, "@language": found.language}
    datatype = {"@type": found.datatype} if found.datatype else {}
    return datatype | {"@value": found.text}


def _rdfxml(
    triples: Iterable[Triple], vocabulary: Vocabulary, foreign: Dictionary[str, str]
) -> Iterator[str]:
    """Yield RDF/XML, an element for each subject."""
    prefixes = PREFIXES | vocabulary.prefixes | dict(foreign)
    spaces = {namespace: prefix for prefix, namespace in prefixes.items()}
    declared = "".join(
        f'\n  xmlns:{prefix}="{_attribute(namespace)}"'
        for prefix, namespace in sorted(prefixes.items())
    )
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<rdf:RDF{declared}>\n'
    for subject, group in itertools.groupby(triples, key=lambda t: t[0]):
        yield f'<rdf:Description rdf:about="{_attribute(subject)}">\n'
        for _, predicate, found in group:
            yield _xml_element(predicate, found, spaces, vocabulary)
        yield "</rdf:Description>\n"
    yield "</rdf:RDF>\n"


def _xml_element(
    predicate: str,
    found: str | Value,
    spaces: Dictionary[str, str],
    vocabulary: Vocabulary,
) -> str:
    """Return the element of one triple."""
    local = _XML_NAME.search(predicate)
    if local is None:
        msg = f"RDF/XML cannot write the predicate <{predicate}>: use another format."
        raise RdfError(msg)
    namespace = predicate[: local.start()]
    prefix = spaces.get(namespace)
    tag = f"{prefix or 'n'}:{local[0]}"
    opening = tag if prefix else f'{tag} xmlns:n="{_attribute(namespace)}"'
    if isinstance(found, str):
        return f'  <{opening} rdf:resource="{_attribute(found)}"/>\n'
    text = found.text
    attribute = ""
    if found.language:
        attribute = f' xml:lang="{found.language}"'
    elif found.datatype:
        attribute = f' rdf:datatype="{_attribute(found.datatype)}"'
    if _NOT_XML.search(text):
        if attribute:
            msg = f"RDF/XML cannot write {text[:40]!r}: use another format."
            raise RdfError(msg)
        text = json.dumps(text)
        attribute = f' rdf:datatype="{vocabulary.datatype(ESCAPED)}"'
    return f"  <{opening}{attribute}>{_content(text)}</{tag}>\n"


def _content(text: str) -> str:
    """Return text between tags; a carriage return would be read as a line feed."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def _attribute(text: str) -> str:
    """Return text between quotes."""
    return _content(text).replace('"', "&quot;")


FORMATS: dict[str, Writer] = {
    "turtle": _turtle,
    "nt": _ntriples,
    "json-ld": _jsonld,
    "xml": _rdfxml,
}
"""Name of a format -> what writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote.

    Attributes:
        triples: How many triples.
        nodes: Of how many nodes.
        left_out: Nodes that are not mapped: no label of ours, or no key.
    """

    triples: int
    nodes: int
    left_out: int


def format_of(name: str, given: str | None) -> str:
    """Return the format of a file.

    Raises:
        InputError: If there is no such format, or the name does not say which.
    """
    known = ", ".join(FORMATS)
    if given is not None:
        if given not in FORMATS:
            msg = f"No format {given!r}: choose one of {known}."
            raise InputError(msg)
        return given
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        msg = f"The name {name!r} does not say its format: choose one of {known}."
        raise InputError(msg)
    return SUFFIXES[suffix]


def export_rdf(
    connection: Connection,
    file: Path | str | TextIO,
    *,
    format: str | None = None,  # noqa: A002 - the word of rdflib and of the command
    embeddings: bool = True,
    corpus: str | None = None,
    base: str = DEFAULT_BASE,
    progress: Progress = silent,
) -> ExportReport:
    """Write the graph, or what belongs to one corpus, as RDF.

    The same graph gives the same file. A file that is there is replaced when the new
    one is whole; a failure leaves it as it was.

    Args:
        connection: The database.
        file: Where to write: a path, or an open text file.
        format: `turtle`, `nt`, `json-ld` or `xml`; None to go by the file's name.
        embeddings: Whether to write vectors.
        corpus: Name of a corpus; None for everything.
        base: What the IRIs of nodes, properties and relationships begin with.
        progress: Told of nodes as they are written.

    Raises:
        UnknownCorpusError: If there is no such corpus.
        StorageError: If the file cannot be written.
        RdfError: If the format cannot hold what is stored.
    """
    run = Run(connection, Vocabulary(base), _FOREVER)
    form = format_of(str(getattr(file, "name", file)), format)
    (row,) = connection.read("rdf/count", corpus=corpus, labels=list(LABELS))
    if corpus is not None and not row["mapped"]:
        msg = f"No corpus {corpus!r} is stored: knowtrail corpus list names them."
        raise UnknownCorpusError(msg)
    counts = {"triples": 0, "nodes": 0}

    def done(nodes: int) -> None:
        counts["nodes"] = nodes
        progress("Writing RDF", nodes, row["mapped"])

    def counted() -> Iterator[Triple]:
        for triple in graph_triples(
            run, run.mapping, corpus=corpus, embeddings=embeddings, node_done=done
        ):
            counts["triples"] += 1
            yield triple

    pieces = written(counted(), run.mapping.vocabulary, run.mapping.foreign, form=form)
    if isinstance(file, str | Path):
        _write_whole(Path(file), pieces)
    else:
        for piece in pieces:
            file.write(piece)
    left_out = row["all"] - counts["nodes"] if corpus is None else 0
    return ExportReport(
        triples=counts["triples"], nodes=counts["nodes"], left_out=max(0, left_out)
    )


def _write_whole(path: Path, pieces: Iterator[str]) -> None:
    """Write a file beside its place, then move it there."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        msg = f"{path} cannot be written: name a file in a folder that is there."
        raise StorageError(msg)
    failure = "{path} cannot be written ({reason}): choose another place."
    with whole_file(path, failure=failure) as stream:
        stream.writelines(pieces)
