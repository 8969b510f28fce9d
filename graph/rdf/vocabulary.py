"""The IRIs of the graph as RDF: names of nodes, properties, relationships, types.

Nothing here needs rdflib. An IRI is a plain string, a blank node a string that begins
with `_:`, and a literal a `Value`. Which property of which label has which predicate is
the table in `knowtrail.graph.rdf.mapping`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.files.packaged import packaged

DEFAULT_BASE = "https://knowtrail.example/"
PREFIXES: dict[str, str] = packaged(__package__, "vocabulary.toml")["prefixes"]
"""Prefixes that every file and every query has, beside those of the vocabulary."""

RDF, XSD, GEO = (PREFIXES[name] for name in ("rdf", "xsd", "geo"))

DATES = frozenset({f"{XSD}gYear", f"{XSD}gYearMonth", f"{XSD}date"})
"""Datatypes of dates that are texts in the graph."""

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`\ud800-\udfff]+")
_BLANK = re.compile(r"bnode://([A-Za-z0-9_-]+)")
_UNRESERVED = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.~-]*")
_ESCAPE = re.compile(r"\.x([0-9A-F]{2})")
_ODD = re.compile(rb"[^A-Za-z0-9_]|^[0-9]", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Value:
    """An RDF literal; its datatype is empty for text, its language without one."""

    text: str
    datatype: str = ""
    language: str = ""


def is_iri(text: object) -> bool:
    """Return whether a value is an absolute IRI without forbidden characters."""
    return isinstance(text, str) and _IRI.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def encode_name(name: str) -> str:
    """Return a property's name or a relationship's type as the end of an IRI.

    Letters, digits and underscores stay; every other byte of its UTF-8 form, and a
    digit at the beginning, becomes `.x` and two hexadecimal digits. Unlike percent
    signs these are allowed in XML names, so that RDF/XML can hold any name.
    """
    return _ODD.sub(lambda odd: b".x%02X" % ord(odd[0]), name.encode()).decode()


def decode_name(text: str) -> str | None:
    """Return the name that `encode_name` made a text from; None for another text."""
    try:
        name = unquote(_ESCAPE.sub(r"%\1", text), errors="strict")
    except UnicodeDecodeError:
        return None
    return name if encode_name(name) == text else None


def _quoted(text: str) -> str:
    if _UNRESERVED.fullmatch(text):
        return text
    quoted = quote(text, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The IRIs below one base: what every IRI of ours begins with; ends with a slash.

    Raises:
        SettingsError: If the base is not an absolute IRI.
    """

    base: str = DEFAULT_BASE

    def __post_init__(self) -> None:
        if not is_iri(self.base) or "#" in self.base or "?" in self.base:
            msg = f"The base {self.base!r} is no IRI: write one such as {DEFAULT_BASE}."
            raise SettingsError(msg)
        if not self.base.endswith("/"):
            object.__setattr__(self, "base", self.base + "/")

    @property
    def heritage(self) -> str:
        """Return the namespace of heritage classes and properties, `hc:`."""
        return f"{self.base}ontology/heritage#"

    @property
    def prefixes(self) -> dict[str, str]:
        """Return the prefixes of our own namespaces."""
        return {
            "kt": self.base,
            "ktc": f"{self.base}class/",
            "ktd": f"{self.base}datatype/",
            "ktl": f"{self.base}list/",
            "ktp": f"{self.base}property/",
            "ktr": f"{self.base}rel/",
            "hc": self.heritage,
        }

    def node(self, label: str, key: str) -> str:
        """Return the IRI of a node by its label and its key, whatever that holds."""
        return f"{self.base}{label}/{_quoted(key)}"

    def parse_node(self, iri: str) -> tuple[str, str] | None:
        """Return label and key of an IRI that `node` made; None for another."""
        if not iri.startswith(self.base):
            return None
        label, slash, rest = iri[len(self.base) :].partition("/")
        if not slash or "/" in rest or not label.isidentifier():
            return None
        key = _unquoted(rest)
        return None if key is None else (label, key)

    def property(self, name: str) -> str:
        """Return the predicate of a property that no standard term stands for."""
        return f"{self.base}property/{encode_name(name)}"

    def order(self, name: str) -> str:
        """Return the predicate that says in which order a list property stands."""
        return f"{self.base}list/{encode_name(name)}"

    def relationship(self, name: str) -> str:
        """Return the predicate of a type of relationships."""
        return f"{self.base}rel/{encode_name(name)}"

    def own_class(self, label: str) -> str:
        """Return the type that all nodes of a label have, and no others."""
        return f"{self.base}class/{encode_name(label)}"

    def datatype(self, name: str) -> str:
        """Return a datatype of ours."""
        return f"{self.base}datatype/{name}"

    def named(self, kind: str, iri: str) -> str | None:
        """Return the name in an IRI of a `property`, `list`, `rel` or `class`."""
        prefix = f"{self.base}{kind}/"
        return decode_name(iri[len(prefix) :]) if iri.startswith(prefix) else None

    def blank(self, uri: str) -> str | None:
        """Return the blank node that a stored `uri` stands for, if it does."""
        found = _BLANK.fullmatch(uri)
        return None if found is None else f"_:{found[1]}"

    def skolem(self, iri: str) -> str:
        """Return the IRI that stands for a blank node in files, any other as it is."""
        is_blank = iri.startswith("_:")
        return f"{self.base}.well-known/genid/{iri[2:]}" if is_blank else iri

    def unskolem(self, iri: str) -> str:
        """Return the blank node that an IRI stands for, any other IRI as it is."""
        prefix = f"{self.base}.well-known/genid/"
        if not iri.startswith(prefix):
            return iri
        label = iri[len(prefix) :]
        return f"_:{label}" if _BLANK.fullmatch(f"bnode://{label}") else iri

    def statement(self, source: str, name: str, target: str, number: int) -> str:
        """Return the IRI of a relationship as a reified statement.

        `number` is its place among those of one type between these nodes.
        """
        ends = "/".join(_quoted(self._short(end)) for end in (source, target))
        return f"{self.base}statement/{encode_name(name)}/{ends}/{number}"

    def parse_statement(self, iri: str) -> tuple[str, str, str, int] | None:
        """Return source, type, target and number of an IRI that `statement` made."""
        prefix = f"{self.base}statement/"
        parts = iri[len(prefix) :].split("/") if iri.startswith(prefix) else []
        if len(parts) != 4 or not re.fullmatch(r"0|[1-9]\d{0,8}", parts[3]):
            return None
        name = decode_name(parts[0])
        ends = [_unquoted(part) for part in parts[1:3]]
        if name is None or ends[0] is None or ends[1] is None:
            return None
        return self._long(ends[0]), name, self._long(ends[1]), int(parts[3])

    def _short(self, iri: str) -> str:
        """Return an IRI without our base, where the rest is no IRI of its own."""
        rest = iri.removeprefix(self.base)
        return iri if is_iri(rest) or rest.startswith("_:") else rest

    def _long(self, text: str) -> str:
        return text if is_iri(text) or text.startswith("_:") else self.base + text


def _unquoted(text: str) -> str | None:
    """Decode a percent-encoded segment; None where it is not as we encode."""
    try:
        plain = unquote(text, errors="strict")
        return plain if _quoted(plain) == text else None
    except (UnicodeDecodeError, UnicodeEncodeError):
        return None
