"""RDF files, read into a database on disk, and what the triples of a subject become.

A file is read whole before anything is stored; so what is not well-formed changes
nothing, however long it is, and memory does not grow with it. Oxigraph reads it.
JSON-LD that has a line for each node, with its types first, as exports have it, is a
stream too; other JSON-LD is held in memory whole. A subject becomes a node, or the
properties of a relationship.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Dictionary
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.parsers import expat

import pyoxigraph

from knowtrail.graph.errors import RdfError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.rdf.export import ESCAPED, oxigraph_format
from knowtrail.graph.rdf.mapping import EMBEDDINGS, LABELS, TERMS, Mapping
from knowtrail.graph.rdf.patterns import (
    OBJECT,
    PREDICATE,
    STATEMENT_CLASS,
    SUBJECT,
    TYPE,
)
from knowtrail.graph.rdf.values import is_vector, ordered
from knowtrail.graph.rdf.vocabulary import (
    DATES,
    PREFIXES,
    RDF,
    XSD,
    Value,
    Vocabulary,
    is_iri,
)

if TYPE_CHECKING:
    from pathlib import Path

Facts = list[tuple[str, str | Value]]
"""Predicates and objects of one subject."""

_ROWS = 5_000
_SQL: dict[str, str] = packaged(__package__, "staging.toml")


class Staging:
    """A database in a file of its own that holds the triples of one RDF file."""

    def __init__(self, folder: Path, vocabulary: Vocabulary) -> None:
        self.prefixes: dict[str, str] = {}
        self.count = 0
        self.digest = ""  # of the file, short
        self._vocabulary = vocabulary
        self._rows: list[tuple[str, str, str, str | None, str]] = []
        self._database = sqlite3.connect(folder / "triples.sqlite")
        self._database.executescript(_SQL["tables"])

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def ask(self, name: str, *values: Any) -> sqlite3.Cursor:
        """Run one of the statements in `staging.toml`."""
        return self._database.execute(_SQL[name], values)

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
        self._database.executescript(_SQL["clear"])

    def _named(self, iri: str) -> str:
        """Return an IRI, or a blank node by a name that depends on the file alone."""
        if not iri.startswith("_:"):
            return self._vocabulary.unskolem(iri)
        return f"_:{self.digest}-{self.ask('blank', iri).fetchone()[0]}"

    def _flush(self) -> None:
        self._database.executemany(_SQL["triple"], self._rows)
        self._rows = []

    def finish(self) -> None:
        """Make what was taken ready to be read."""
        self._flush()
        self.ask("finish")

    def subjects(self) -> Iterator[tuple[str, Facts]]:
        """Yield each subject with its predicates and objects, each pair once."""
        rows = self.ask("subjects")
        for subject, group in itertools.groupby(rows, key=lambda row: row[0]):
            yield subject, _facts(row[1:] for row in group)

    def about(self, subject: str) -> Facts:
        """Return the predicates and objects of one subject."""
        return _facts(self.ask("about", subject))

    def texts(self, is_wanted: Callable[[str], bool]) -> set[str]:
        """Return the literals that some predicates lead to."""
        wanted = [name for (name,) in self.ask("predicates") if is_wanted(name)]
        return {found for name in wanted for (found,) in self.ask("texts", name)}

    def statements(self, source: str, name: str, target: str) -> list[Facts]:
        """Return what the file says of each statement about a relationship."""
        rows = self.ask("statements", source, name, target)
        return [self.about(iri) for (iri,) in rows]


def _facts(rows: Iterable[tuple[Any, ...]]) -> Facts:
    return [(p, o if kind is None else Value(o, kind, tag)) for p, o, kind, tag in rows]


_PREFIX = re.compile(rb"#\s*@prefix\s+([A-Za-z][A-Za-z0-9]*):\s*<([^<>\s]+)>\s*\.\s*")
_PLACE = re.compile(r"Parser error [^:]*: ")
_MARK = b"\xef\xbb\xbf"
_IMPLIED = frozenset({f"{XSD}string", f"{RDF}langString"})
"""Datatypes that a literal has without naming them."""


def _refused(path: Path, line: int | None, why: object) -> RdfError:
    where = "" if line is None else f", line {line}"
    text = " ".join(str(why).split())[:200].rstrip(".")
    return RdfError(f"{path}{where}: {text}. Nothing was stored.")


def parse(path: Path, staging: Staging, *, form: str, base: str) -> None:
    """Take the triples of a file.

    Raises:
        RdfError: If the file is not well-formed; the message has the line.
        SourceError: If it cannot be read.
    """
    try:
        staging.digest = file_digest(path, size=8)
        with path.open("rb") as stream:
            if stream.read(len(_MARK)) != _MARK:
                stream.seek(0)
            _parse(stream, staging, form, base)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror or error}): name an RDF file."
        raise SourceError(msg) from error
    except SyntaxError as error:
        why = _PLACE.sub("", error.msg)
        if "remote contexts" in why:
            why = "a context from elsewhere is not loaded: write it into the file"
        raise _refused(path, error.lineno, why) from error
    except (ValueError, LookupError, RecursionError) as error:  # or no such encoding
        raise _refused(path, None, error) from error


def _parse(stream: BinaryIO, staging: Staging, form: str, base: str) -> None:
    def read(source: Any, kind: pyoxigraph.RdfFormat) -> None:
        triples = pyoxigraph.parse(source, kind, base_iri=base)
        for triple in triples:
            found = _found(triple.object)
            staging.add(_name(triple.subject), _name(triple.predicate), found)
        for prefix, namespace in triples.prefixes.items():
            staging.bind(prefix, namespace)

    if form == "xml":
        checked = _CheckedXml(stream, staging)
        read(checked, oxigraph_format(form))
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
    read(stream, oxigraph_format(form))


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
    text = str(term)
    if text.startswith("_:"):
        return text
    if not is_iri(text := text[1:-1]):
        raise ValueError(f"<{text}> is no IRI")
    return text


def _bad_xml(why: str, line: int) -> SyntaxError:
    return SyntaxError(why, (None, line, None, None))


class _CheckedXml:
    """XML that is read while it is well-formed and cannot grow; its prefixes stay."""

    def __init__(self, stream: BinaryIO, staging: Staging) -> None:
        self._stream = stream
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.EntityDeclHandler = self._declared
        self._parser.StartNamespaceDeclHandler = lambda prefix, name: staging.bind(
            prefix or "", name or ""
        )

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._parse(data, final=False)
        return data

    def close(self) -> None:
        self._parse(b"", final=True)

    def _parse(self, data: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            raise _bad_xml(expat.errors.messages[error.code], error.lineno) from error

    def _declared(self, name: str, _: Any, value: str | None, *__: Any) -> None:
        """Refuse an entity that is elsewhere, or holds another one."""
        if value is None or "&" in value:
            why = f"entity {name[:80]!r} holds another one, or is elsewhere"
            raise _bad_xml(why, self._parser.CurrentLineNumber)


_NAMESPACE = re.compile(r"(.*[#/](?=[^#/]+$)|[^:]*:)(.*)", re.DOTALL)
_PREFIX_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@dataclass(slots=True, kw_only=True)
class NodeRow:
    """A node to be stored, found by the property `name` that holds `key`.

    `label` is the one of the table that it has, `labels` are others; `edges` are name
    and IRI of the target of relationships that begin at it, `classes` types of a
    custodian that may be classes of the ontology.
    """

    iri: str
    label: str
    name: str
    key: str
    labels: list[str] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    edges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()


class Rows:
    """Turns subjects into rows; makes prefixes for the RDF of others as needed."""

    def __init__(self, mapping: Mapping, preferred: Dictionary[str, str]) -> None:
        self._foreign = dict(mapping.foreign)
        self.mapping = Mapping(mapping.vocabulary, self._foreign)
        self.new_prefixes: dict[str, str] = {}
        own = mapping.vocabulary.prefixes
        known = {**PREFIXES, **own}
        others = {p: n for p, n in sorted(preferred.items()) if known.get(p) != n}
        self._preferred = [*others.items(), *known.items()]
        self._types = mapping.table_types
        self._terms = {(rule.label, mapping.term(rule)): rule for rule in TERMS}
        self._special = {
            mapping.own_type(label): label for label, rule in LABELS.items() if rule.own
        }

    def statement(self, iri: str, facts: Facts) -> tuple[str, str, str] | None:
        """Return source, type and target of a relationship as a statement."""
        parsed = self.mapping.vocabulary.parse_statement(iri)
        if parsed is None:
            return None
        held = {p: o for p, o in facts if isinstance(o, str)}
        source, name, target, _ = parsed
        if (held.get(SUBJECT), held.get(OBJECT)) != (source, target):
            return None
        said = held.get(PREDICATE)
        own = None if said is None else self._own("rel", said) or self.short(said)
        return (source, name, target) if own == name else None

    def _own(self, kind: str, iri: str) -> str | None:
        """Return the name in an IRI of ours, where no prefix of others begins it."""
        name = self.mapping.vocabulary.named(kind, iri)
        return None if name is None or self.mapping.expand(name) is not None else name

    def properties(self, label: str, facts: Facts) -> dict[str, Any]:
        """Return the properties that literals are."""
        members: dict[str, dict[Value, Any]] = {}
        orders: dict[str, str] = {}
        for predicate, found in facts:
            if not isinstance(found, Value):
                continue
            listed = self.mapping.vocabulary.named("list", predicate)
            if listed is not None:
                orders[listed] = found.text
                continue
            name, value = self._property(label, predicate, found)
            members.setdefault(name, {})[found] = value
        result: dict[str, Any] = {
            name: [] for name, order in orders.items() if not order
        }
        for name, values in members.items():
            result[name] = self._value(values, orders.get(name))
        return result

    def name_of(self, label: str, predicate: str) -> str | None:
        """Return the property of ours that a predicate means, if any."""
        rule = self._terms.get((label, predicate))
        if rule is None:
            return self.mapping.vocabulary.named("property", predicate)
        return rule.name

    def _property(self, label: str, predicate: str, found: Value) -> tuple[str, Any]:
        """Return name and value of the property that a literal is, or is part of."""
        rule = self._terms.get((label, predicate))
        name = self.name_of(label, predicate)
        if name is not None and self.mapping.expand(name) is None:
            value = self._plain(found, "any" if rule is None else rule.form)
            if value is not None:
                return name, value
        if not found.language:
            self.short(found.datatype or f"{XSD}string")
        return self.short(predicate), self.mapping.stored(found, foreign=True)

    def _plain(self, literal: Value, form: str) -> Any:
        """Return the value of a literal in a property of ours, None without one."""
        if form == "year" and literal.datatype in DATES:
            return literal.text
        if form == "decimal" and literal.datatype == f"{XSD}decimal":
            with suppress(ValueError):
                return float(literal.text)
        return self.mapping.stored(literal, foreign=False)

    def _value(self, values: dict[Value, Any], order: str | None) -> Any:
        members = ordered(set(values), order)
        if len(members) == 1 and order is None:
            return values[members[0]]
        held = [values[member] for member in members]
        if len({type(value) for value in held}) > 1:  # tagged texts can say all of them
            return [
                value
                if isinstance(value, str)
                else f"{one.text}^^{self.short(one.datatype)}"
                for one, value in zip(members, held, strict=True)
            ]
        return held

    def short(self, iri: str) -> str:
        """Return the name `prefix__local` of an IRI; make a prefix if there is none."""
        ((namespace, local),) = _NAMESPACE.findall(iri)
        if namespace not in self._foreign.values():
            prefix = self._prefix(namespace)
            self._foreign[prefix] = self.new_prefixes[prefix] = namespace
        prefix = min(p for p, n in self._foreign.items() if n == namespace)
        return self.mapping.shorten(iri) or f"{prefix}__{local}"

    def _prefix(self, namespace: str) -> str:
        wanted = [p for p, other in self._preferred if other == namespace]
        given = (prefix for prefix in wanted if _PREFIX_NAME.fullmatch(prefix))
        names = itertools.chain(given, (f"ns{n}" for n in itertools.count()))
        return next(name for name in names if name not in self._foreign)

    def node(self, iri: str, facts: Facts, label: str | None) -> NodeRow:
        """Return the node that a subject is."""
        types = [o for p, o in facts if p == TYPE and isinstance(o, str)]
        label = label or self.label_of(iri, facts)
        properties = self.properties(label, facts)
        key_name, key = self._key(label, iri, properties)
        edges = tuple(
            (self._own("rel", predicate) or self.short(predicate), target)
            for predicate, target in facts
            if isinstance(target, str) and predicate != TYPE
        )
        others, classes = self._other_types(label, types)
        # Vector indexes have vectors in single precision.
        words = self.mapping.vocabulary
        kind = words.datatype("float32Vector")
        single = {p for p, o in facts if isinstance(o, Value) and o.datatype == kind}
        vectors = {
            name: properties.pop(name)
            for name in EMBEDDINGS
            if is_vector(properties.get(name)) and words.property(name) in single
        }
        return NodeRow(
            iri=iri,
            label=label,
            name=key_name,
            key=key,
            labels=others,
            properties=properties,
            vectors=vectors,
            edges=edges,
            classes=tuple(classes),
        )

    def label_of(self, iri: str, facts: Facts) -> str:
        """Return the label of the table whose rule a node follows.

        An IRI that a key leads to has that label; any other is a node's own `uri`.
        """
        parsed = self.mapping.vocabulary.parse_node(iri)
        if parsed is not None and parsed[0] in LABELS and parsed[0] != "Resource":
            return parsed[0]
        own = (
            label
            for label, rule in LABELS.items()
            if rule.uri
            and label != "Resource"
            and (TYPE, self.mapping.own_type(label)) in facts
        )
        return next(own, "Resource")

    def _key(self, label: str, iri: str, properties: dict[str, Any]) -> tuple[str, str]:
        """Return the property that a node is found by, and what it holds."""
        # A node that is named by its own `uri` gets it as a property.
        name = LABELS[label].key
        parsed = self.mapping.vocabulary.parse_node(iri)
        if parsed is not None and parsed[0] == label and label != "Resource":
            properties[name] = parsed[1]
            return name, parsed[1]
        uri = f"bnode://{iri[2:]}" if iri.startswith("_:") else iri
        properties["uri"] = uri
        held = properties.get(name)
        return (name, held) if isinstance(held, str) else ("uri", uri)

    def _other_types(
        self, label: str, types: Iterable[str]
    ) -> tuple[list[str], list[str]]:
        """Return the labels that types stand for, and types that may be classes."""
        known = {self.mapping.own_type(label), *LABELS[label].types}
        others: list[str] = []
        classes: list[str] = []
        for kind in types:
            if kind in known:
                continue
            if kind in self._special and label != "Resource":
                others.append(self._special[kind])
                continue
            own = self._own("class", kind)
            if own is not None and not (label == "Resource" and own in LABELS):
                others.append(own)
            elif label == "Custodian" and kind not in self._types:
                classes.append(kind)
            elif kind != STATEMENT_CLASS or label == "Resource":
                others.append(self.short(kind))
        return others, classes
