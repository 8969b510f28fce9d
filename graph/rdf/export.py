"""Write the graph as RDF: streamed, in an order of its own, whole or not at all.

The formats are Turtle, N-Triples, JSON-LD and RDF/XML, one subject after another.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import pyoxigraph

from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import (
    InputError,
    RdfError,
    StorageError,
    UnknownCorpusError,
)
from knowtrail.graph.files import whole_file
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.rdf.mapping import LABELS, Mapping
from knowtrail.graph.rdf.run import Run
from knowtrail.graph.rdf.triples import Triple, graph_triples
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

    from knowtrail.graph.db.connection import Connection

ESCAPED = "escaped"
"""Datatype of text in RDF/XML that XML cannot hold: it stands as a JSON string."""

_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*$")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

FORMATS = ("turtle", "nt", "json-ld", "xml")
SUFFIXES: dict[str, str] = packaged(__package__, "vocabulary.toml")["suffixes"]
"""Ending of a file's name -> its format."""


def oxigraph_format(form: str) -> pyoxigraph.RdfFormat:
    """Return what Oxigraph calls one of `FORMATS`."""
    ending = next(suffix for suffix, name in SUFFIXES.items() if name == form)
    found = pyoxigraph.RdfFormat.from_extension(ending.removeprefix("."))
    return cast("pyoxigraph.RdfFormat", found)


def _write_by_oxigraph(
    triples: Iterable[Triple], mapping: Mapping, form: str, stream: TextIO
) -> None:
    # In N-Triples the prefixes of others stand in comments.
    class Target:
        """What Oxigraph writes to: bytes, in pieces of any length."""

        decode = codecs.getincrementaldecoder("utf-8")().decode

        def write(self, data: bytes) -> int:
            text = self.decode(data)
            # XML reads a carriage return as a line feed.
            stream.write(text.replace("\r", "&#13;") if form == "xml" else text)
            return len(data)

        def flush(self) -> None:
            stream.flush()

    prefixes = None
    if form == "nt":
        stream.writelines(
            f"# @prefix {prefix}: <{namespace}> .\n"
            for prefix, namespace in sorted(mapping.foreign.items())
        )
    else:
        prefixes = PREFIXES | mapping.vocabulary.prefixes | dict(mapping.foreign)
    name = lru_cache(50_000)(pyoxigraph.NamedNode)

    def terms() -> Iterator[pyoxigraph.Triple]:
        for subject, predicate, found in triples:
            if form == "xml":
                found = _in_xml(predicate, found, mapping.vocabulary)
            try:
                yield pyoxigraph.Triple(
                    name(subject), name(predicate), _object(found, name)
                )
            except ValueError as error:
                told = f"{subject} {predicate} {found}"[:200]
                msg = f"RDF cannot write {told!r} ({error}): use JSON-LD."
                raise RdfError(msg) from error

    try:
        target = cast("IO[bytes]", Target())
        pyoxigraph.serialize(terms(), target, oxigraph_format(form), prefixes=prefixes)
    except RdfError:
        raise
    except ValueError as error:
        msg = f"RDF cannot write a prefix of {prefixes} ({error}): use JSON-LD."
        raise RdfError(msg) from error


def _object(found: str | Value, name: Callable[[str], pyoxigraph.NamedNode]) -> Any:
    if isinstance(found, str):
        return name(found)
    if found.language:
        return pyoxigraph.Literal(found.text, language=found.language)
    kind = name(found.datatype) if found.datatype else None
    return pyoxigraph.Literal(found.text, datatype=kind)


def _in_xml(predicate: str, found: str | Value, words: Vocabulary) -> str | Value:
    if _XML_NAME.search(predicate) is None:
        msg = f"RDF/XML cannot write the predicate <{predicate}>: use another format."
        raise RdfError(msg)
    if isinstance(found, str) or not _NOT_XML.search(found.text):
        return found
    if found.datatype or found.language:
        raise RdfError(f"RDF/XML cannot write {found.text[:40]!r}: use another format.")
    return Value(json.dumps(found.text), words.datatype(ESCAPED))


def _jsonld(triples: Iterable[Triple], foreign: Dictionary[str, str]) -> Iterator[str]:
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
    if isinstance(found, str):
        return {"@id": found}
    if found.language:
        return {"@value": found.text, "@language": found.language}
    datatype = {"@type": found.datatype} if found.datatype else {}
    return datatype | {"@value": found.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote; `left_out` are nodes without label of ours or key."""

    triples: int
    nodes: int
    left_out: int


def format_of(name: str, given: str | None) -> str:
    """Return the format of a file, or raise `InputError` if none is known."""
    found = SUFFIXES.get(Path(name).suffix.lower()) if given is None else given
    if found in FORMATS:
        return found
    no_name = f"The name {name!r} does not say its format"
    told = no_name if given is None else f"No format {given!r}"
    raise InputError(f"{told}: choose one of {', '.join(FORMATS)}.")


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
    """Write the graph, or what belongs to one corpus, to a path or an open text file.

    The same graph gives the same file. A file that is there is replaced when the new
    one is whole; a failure leaves it as it was. The format is `turtle`, `nt`, `json-ld`
    or `xml`, by default that of the file's name; IRIs of ours begin with `base`.

    Raises:
        UnknownCorpusError: If there is no such corpus.
        StorageError: If the file cannot be written.
        RdfError: If the format cannot hold what is stored.
    """
    run = Run(connection, Vocabulary(base))
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
        solid = run.mapping.vocabulary.skolem
        for subject, predicate, found in graph_triples(
            run, run.mapping, corpus=corpus, embeddings=embeddings, node_done=done
        ):
            counts["triples"] += 1
            end = found if isinstance(found, Value) else solid(found)
            yield solid(subject), predicate, end

    with _opened(file) as stream:
        if form == "json-ld":
            stream.writelines(_jsonld(counted(), run.mapping.foreign))
        else:
            _write_by_oxigraph(counted(), run.mapping, form, stream)
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
