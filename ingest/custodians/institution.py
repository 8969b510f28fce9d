"""A heritage institution as it is stored, and as a document of what its row says."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from neo4j.spatial import WGS84Point

from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.ingest.keys import camel_case, content_key
from knowtrail.ingest.records import RawDocument, Scalar

TABLES = packaged("knowtrail.ingest.data.heritage", "institutions.toml")
CLASS_NAMES: dict[str, str] = TABLES["classes"]
"""Letter of a type -> class that its institutions belong to unless a row says more."""

TYPE_WORDS: dict[str, str] = TABLES["words"]
"""What a type is called in the text of a document."""

_RENAMED = {
    "type": "institutionType",
    "country": "countryCode",
    "subregion": "subregionCode",
}
_NO_PROPERTIES = frozenset({"key", "language"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Custodian:
    """A heritage institution.

    Attributes:
        key: What identifies it in its corpus: GHCID, ISIL, id, or name and address.
        source: The file that it comes from.
        uri: Its own IRI, where the file has one.
        type: Letter of its type; `U` where nothing tells it.
        country: ISO 3166-1 code.
        subregion: ISO 3166-2 code, from the GHCID.
        founded: Year, month or day of its founding, as ISO 8601.
        budget: Euros a year.
        location: Longitude and latitude in degrees of WGS 84.
        governing_body: Kind of body that runs it.
        type_confidence: 1 where the file states the type, less where it was guessed.
        type_rule: How the type was guessed; None where it was stated.
        city_confidence: The same for the city, and `city_rule`; None without one.
    """

    key: str
    name: str
    source: str
    uri: str | None = None
    type: str = "U"
    class_name: str = "UnknownCustodian"
    city: str | None = None
    region: str | None = None
    country: str | None = None
    subregion: str | None = None
    isil: str | None = None
    ghcid: str | None = None
    founded: str | None = None
    founded_year: int | None = None
    budget: float | None = None
    url: str | None = None
    description: str | None = None
    address: str | None = None
    postcode: str | None = None
    location: tuple[float, float] | None = None
    governing_body: str | None = None
    language: str = "en"
    type_confidence: float = 0.0
    type_rule: str | None = None
    city_confidence: float | None = None
    city_rule: str | None = None

    def id(self, corpus: str) -> str:
        """Return the key of its node."""
        return content_key(corpus, "custodian", self.key)

    def properties(self, corpus: str) -> dict[str, Any]:
        """Return the properties of its node, with a hash of them; None is left out."""
        stored = {
            _RENAMED.get(field.name) or camel_case(field.name): value
            for field in fields(self)
            if field.name not in _NO_PROPERTIES
            and (value := getattr(self, field.name)) is not None
        }
        stored |= {"id": self.id(corpus), "corpus": corpus}
        digest = content_key(json.dumps(stored, ensure_ascii=False, sort_keys=True))
        if self.location is not None:
            stored["location"] = WGS84Point(self.location)
        return stored | {"contentHash": digest}

    def text(self) -> str:
        """Return what a document says of it: some facts, then the description."""
        place = ", ".join(p for p in (self.city, self.region, self.country) if p)
        word = TYPE_WORDS[self.type]
        article = "an" if word[0] in "aeiou" else "a"
        told = [f"{self.name} is {article} {word}{f' in {place}' if place else ''}."]
        if self.founded_year is not None:
            told.append(f"It was founded in {self.founded_year}.")
        if self.address:
            told.append(f"Its address is {self.address}.")
        if self.description:
            told.append(self.description)
        return " ".join(told)


def class_uri(class_name: str) -> str:
    """Return the IRI of a class of the heritage ontology."""
    return f"{Vocabulary().heritage}{class_name}"


def document_of(custodian: Custodian, corpus: str) -> RawDocument:
    """Return the document that tells of an institution."""
    known = {
        "className": custodian.class_name,
        "institutionType": custodian.type,
        "city": custodian.city,
        "countryCode": custodian.country,
    }
    metadata: dict[str, Scalar] = {k: v for k, v in known.items() if v is not None}
    return RawDocument(
        source_id=custodian.id(corpus),
        title=custodian.name,
        raw=custodian.text(),
        url=custodian.url,
        source=custodian.source,
        language=custodian.language,
        metadata=metadata,
    )
