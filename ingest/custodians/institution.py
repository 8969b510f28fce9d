"""A heritage institution as it is stored, and as a document of what its row says."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from neo4j.spatial import WGS84Point

from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import RawDocument

if TYPE_CHECKING:
    from knowtrail.ingest.records import Scalar

CLASS_NAMES = {
    "G": "Gallery",
    "L": "Library",
    "A": "Archive",
    "M": "Museum",
    "O": "OfficialInstitution",
    "R": "ResearchCenter",
    "C": "Corporation",
    "U": "UnknownCustodian",
    "B": "BotanicalGardenOrZoo",
    "E": "EducationProvider",
    "S": "CollectingSociety",
    "F": "Feature",
    "I": "IntangibleHeritageGroup",
    "X": "MixedCustodian",
    "P": "PersonalCollection",
    "H": "HolySite",
    "D": "DigitalPlatform",
    "N": "NonGovernmentalOrganisation",
    "T": "TasteSmellHeritage",
}
"""Letter of a type -> class that its institutions belong to unless a row says more."""

TYPE_WORDS = {
    "G": "gallery",
    "L": "library",
    "A": "archive",
    "M": "museum",
    "O": "official institution",
    "R": "research centre",
    "C": "company collection",
    "U": "heritage institution",
    "B": "botanical garden or zoo",
    "E": "place of education",
    "S": "collecting society",
    "F": "monument or site",
    "I": "organisation for intangible heritage",
    "X": "institution of several kinds",
    "P": "personal collection",
    "H": "holy site",
    "D": "digital platform",
    "N": "non-governmental organisation",
    "T": "collection of tastes and smells",
}
"""What a type is called in the text of a document."""

_PROPERTIES = {
    "uri": "uri",
    "name": "name",
    "type": "institutionType",
    "city": "city",
    "region": "region",
    "country": "countryCode",
    "subregion": "subregionCode",
    "isil": "isil",
    "ghcid": "ghcid",
    "founded": "founded",
    "founded_year": "foundedYear",
    "budget": "budget",
    "url": "url",
    "description": "description",
    "class_name": "className",
    "address": "address",
    "postcode": "postcode",
    "location": "location",
    "governing_body": "governingBody",
    "source": "source",
    "type_confidence": "typeConfidence",
    "type_rule": "typeRule",
    "city_confidence": "cityConfidence",
    "city_rule": "cityRule",
}
"""Field -> property of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Custodian:
    """A heritage institution.

    Attributes:
        key: What identifies it in its corpus: GHCID, ISIL, id, or name and address.
        name: Its name.
        source: The file that it comes from.
        uri: Its own IRI, where the file has one.
        type: Letter of its type; `U` where nothing tells it.
        class_name: The class that it is an instance of.
        city: Name of the town.
        region: Name of the province, state or region.
        country: ISO 3166-1 code.
        subregion: ISO 3166-2 code, from the GHCID.
        isil: A well-formed ISIL.
        ghcid: A well-formed GHCID.
        founded: Year, month or day of its founding, as ISO 8601.
        founded_year: The year of that.
        budget: Euros a year.
        url: Its website.
        description: What the file says of it.
        address: Address in one line.
        postcode: Postal code.
        location: Longitude and latitude in degrees of WGS 84.
        governing_body: Kind of body that runs it.
        language: Language of the description.
        type_confidence: 1 where the file states the type, less where it was guessed.
        type_rule: How the type was guessed; None where it was stated.
        city_confidence: The same for the city; None without one.
        city_rule: How the city was guessed; None where it was stated.
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
            _PROPERTIES[field.name]: value
            for field in fields(self)
            if field.name in _PROPERTIES
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
