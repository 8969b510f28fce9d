"""Write the graph as RDF: streamed, in an order of its own, whole or not at all.

The formats are Turtle, N-Triples, JSON-LD and RDF/XML, one subject after another.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

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
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as Dictionary
    from contextlib import AbstractContextManager

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.rdf.mapping import Mapping
    from knowtrail.graph.rdf.triples import Triple

ESCAPED = "escaped"
"""Datatype of text in RDF/XML that XML cannot hold: it stands as a JSON string."""

_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*$")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

FORMATS = ("turtle", "nt", "json-ld", "xml")
_BY_OXIGRAPH = frozenset({"turtle", "nt"})
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


def _write(
    triples: Iterable[Triple], mapping: Mapping, form: str, stream: TextIO
) -> None:
    """Write triples, those of one subject together.

    Raises:
        RdfError: If a triple cannot be written in this format.
    """
    solid = (_without_blanks(triple, mapping.vocabulary) for triple in triples)
    if form in _BY_OXIGRAPH:
        _write_by_oxigraph(solid, mapping, form, stream)
    else:
        write = _jsonld if form == "json-ld" else _rdfxml
        stream.writelines(write(solid, mapping.vocabulary, mapping.foreign))


def _without_blanks(triple: Triple, vocabulary: Vocabulary) -> Triple:
    """Return a triple with IRIs in place of blank nodes."""
    subject, predicate, found = triple
    if subject.startswith("_:"):
        subject = vocabulary.skolem(subject)
    if isinstance(found, str) and found.startswith("_:"):
        found = vocabulary.skolem(found)
    return subject, predicate, found


def _write_by_oxigraph(
    triples: Iterable[Triple], mapping: Mapping, form: str, stream: TextIO
) -> None:
    """Write Turtle, or N-Triples, in which prefixes of others stand in comments."""
    import pyoxigraph

    class Target:
        """What Oxigraph writes to: bytes, in pieces of any length."""

        decode = codecs.getincrementaldecoder("utf-8")().decode

        def write(self, data: bytes) -> int:
            """Take some bytes."""
            stream.write(self.decode(data))
            return len(data)

        def flush(self) -> None:
            """Write what waits."""
            stream.flush()

    form_of_oxigraph = pyoxigraph.RdfFormat.N_TRIPLES
    prefixes = None
    if form == "turtle":
        form_of_oxigraph = pyoxigraph.RdfFormat.TURTLE
        prefixes = PREFIXES | mapping.vocabulary.prefixes | dict(mapping.foreign)
    else:
        stream.writelines(
            f"# @prefix {prefix}: <{namespace}> .\n"
            for prefix, namespace in sorted(mapping.foreign.items())
        )
    name = lru_cache(50_000)(pyoxigraph.NamedNode)

    def terms() -> Iterator[pyoxigraph.Triple]:
        for subject, predicate, found in triples:
            try:
                target: pyoxigraph.NamedNode | pyoxigraph.Literal
                if isinstance(found, str):
                    target = name(found)
                elif found.language:
                    target = pyoxigraph.Literal(found.text, language=found.language)
                else:
                    kind = name(found.datatype) if found.datatype else None
                    target = pyoxigraph.Literal(found.text, datatype=kind)
                yield pyoxigraph.Triple(name(subject), name(predicate), target)
            except ValueError as error:
                told = f"{subject} {predicate} {found}"[:200]
                msg = f"RDF cannot write {told!r} ({error}): use JSON-LD."
                raise RdfError(msg) from error

    try:
        target = cast("IO[bytes]", Target())
        pyoxigraph.serialize(terms(), target, form_of_oxigraph, prefixes=prefixes)
    except ValueError as error:
        msg = f"RDF cannot write a prefix of {prefixes} ({error}): use JSON-LD."
        raise RdfError(msg) from error


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

    with _opened(file) as stream:
        _write(counted(), run.mapping, form, stream)
    left_out = row["all"] - counts["nodes"] if corpus is None else 0
    return ExportReport(
        triples=counts["triples"], nodes=counts["nodes"], left_out=max(0, left_out)
    )


def _opened(file: Path | str | TextIO) -> AbstractContextManager[TextIO]:
    """Open a file that is there when it is whole; one that is open stays so."""
    if not isinstance(file, str | Path):
        return nullcontext(file)
    path = Path(file)
    if path.is_dir() or not path.absolute().parent.is_dir():
        msg = f"{path} cannot be written: name a file in a folder that is there."
        raise StorageError(msg)
    failure = "{path} cannot be written ({reason}): choose another place."
    return whole_file(path, failure=failure)
