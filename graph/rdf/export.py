"""Write the graph as RDF: streamed, in an order of its own, whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from graph.errors import InputError, StorageError, UnknownCorpusError
from graph.progress import silent
from graph.rdf.reading import graph_triples
from graph.rdf.vocabulary import DEFAULT_BASE, Vocabulary
from graph.rdf.writers import FORMATS, SUFFIXES, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graph.connection import Connection
    from graph.progress import Progress
    from graph.rdf.reading import Triple

__all__ = ["ExportReport", "export_rdf", "format_of"]

_FOREVER = 1e9


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

    Args:
        name: Its name.
        given: What the caller asked for; None to go by the name.

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
    from graph.rdf.run import Run

    run = Run(connection, Vocabulary(base), _FOREVER)
    form = format_of(str(getattr(file, "name", file)), format)
    (row,) = connection.read("rdf/count", corpus=corpus, labels=_labels())
    if corpus is not None and not row["corpora"]:
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


def _labels() -> list[str]:
    """Return the labels of the table."""
    from graph.rdf.mapping import LABELS

    return list(LABELS)


def _write_whole(path: Path, pieces: Iterator[str]) -> None:
    """Write a file beside its place, then move it there.

    Raises:
        StorageError: If it cannot be written; nothing is left behind.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        msg = f"{path} cannot be written: name a file in a folder that is there."
        raise StorageError(msg)
    begun = path.with_name(f".{path.name[:200]}.part")
    try:
        try:
            with begun.open("w", encoding="utf-8", newline="\n") as stream:
                for piece in pieces:
                    stream.write(piece)
            begun.replace(path)
        except OSError as error:
            msg = f"{path} cannot be written ({error.strerror}): choose another place."
            raise StorageError(msg) from error
    finally:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
