"""A few made-up institutions, as nodes in a database and as RDF in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingest.keys import content_key

if TYPE_CHECKING:
    from rdflib import Graph

    from graph.connection import Connection

CLASSES = {"A": "Archive", "M": "Museum", "L": "Library", "G": "Gallery"}
_COLUMNS = (
    "name",
    "institutionType",
    "city",
    "region",
    "subregionCode",
    "countryCode",
    "isil",
    "ghcid",
    "foundedYear",
    "budget",
)
_ROWS: list[tuple[Any, ...]] = [
    ("Stadsarchief Waterkant", "A", "Amsterdam", "Noord-Holland", "NL-NH", "NL")
    + ("NL-AsdWK", "NL-NH-AMS-A-SW", 1848, 2_500_000.0),
    ("Grachtenmuseum De Spiegel", "M", "Amsterdam", "Noord-Holland", "NL-NH", "NL")
    + ("NL-AsdGS", "NL-NH-AMS-M-GS", 1921, 750_000.0),
    ("Museum Het Zilveren Anker", "M", "Amsterdam", "Noord-Holland", "NL-NH", "NL")
    + (None, "NL-NH-AMS-M-ZA", 1975, 12_000_000.0),
    ("Bibliotheek De Leeszolder", "L", "Utrecht", "Utrecht", "NL-UT", "NL")
    + ("NL-UtLZ", "NL-UT-UTR-L-LZ", 1892, 1_800_000.0),
    ("Domarchief Utrecht", "A", "Utrecht", "Utrecht", "NL-UT", "NL")
    + ("NL-UtDA", "NL-UT-UTR-A-DA", 1799, 900_000.0),
    ("Museum Fort Blauwkapel", "M", "Utrecht", "Utrecht", "NL-UT", "NL")
    + (None, "NL-UT-UTR-M-FB", 1990, 300_000.0),
    ("Haagse Galerie Noordzee", "G", "Den Haag", "Zuid-Holland", "NL-ZH", "NL")
    + (None, "NL-ZH-DHA-G-HN", 2001, 450_000.0),
    ("Archief Scheldemond", "A", "Antwerpen", "Antwerpen", "BE-VAN", "BE")
    + ("BE-AntAS", "BE-VAN-ANT-A-AS", 1830, 1_500_000.0),
    ("Scheldemuseum", "M", "Antwerpen", "Antwerpen", "BE-VAN", "BE")
    + (None, "BE-VAN-ANT-M-SM", 1903, 3_200_000.0),
    ("Isarbibliothek", "L", "M\u00fcnchen", "Bayern", "DE-BY", "DE")
    + ("DE-MueIB", "DE-BY-MUN-L-IB", 1760, 5_400_000.0),
    ("Thames Record Office", "A", "London", "London", None, "GB")
    + ("GB-LonTR", None, 1949, 4_000_000.0),
    ("Middelburg Zeemuseum", "M", "Middelburg", "Zeeland", "NL-ZE", "NL")
    + (None, None, 1888, None),
    ("Middelburg Mission Museum", "M", "Middelburg", "Mpumalanga", "ZA-MP", "ZA")
    + (None, None, 1911, None),
]
CUSTODIANS: list[dict[str, Any]] = [
    {name: value for name, value in zip(_COLUMNS, row, strict=True) if value is not None}
    for row in _ROWS
]

_WRITE = """
UNWIND $rows AS row
MERGE (o:OntologyClass {id: row.classUri})
SET o.uri = row.classUri, o.name = row.className
MERGE (c:Custodian {id: row.properties.id})
SET c = row.properties
MERGE (c)-[:INSTANCE_OF]->(o)
"""


def gazetteer_rows() -> list[dict[str, str | None]]:
    """Return the institutions as a gazetteer takes them."""
    return [
        {
            "name": row["name"],
            "city": row.get("city"),
            "region": row.get("region"),
            "subregion": row.get("subregionCode"),
            "country": row.get("countryCode"),
            "isil": row.get("isil"),
            "ghcid": row.get("ghcid"),
        }
        for row in CUSTODIANS
    ]


def write_custodians(connection: Connection) -> None:
    """Write the institutions as nodes."""
    from graph.schema import apply_schema

    apply_schema(connection)
    base = "https://knowtrail.example/ontology/heritage#"
    rows = [
        {
            "properties": {
                **row,
                "id": content_key("test", row["name"]),
                "founded": str(row["foundedYear"]),
                "className": CLASSES[row["institutionType"]],
                "source": "tests",
                "corpus": "heritage",
                "typeConfidence": 1.0,
            },
            "className": CLASSES[row["institutionType"]],
            "classUri": base + CLASSES[row["institutionType"]],
        }
        for row in CUSTODIANS
    ]
    connection.driver.execute_query(_WRITE, rows=rows, database_=connection.database)


def rdf_custodians() -> Graph:
    """Return the institutions as RDF in memory."""
    from rdflib import RDF, XSD, Graph, Literal, URIRef

    from retrieval.specificity.execution import namespaces

    names = namespaces()
    hc, schema = names["hc"], names["schema"]
    terms = {
        "name": (schema.name, None),
        "institutionType": (hc.institutionType, None),
        "city": (schema.addressLocality, None),
        "region": (schema.addressRegion, None),
        "subregionCode": (hc.subregionCode, None),
        "countryCode": (hc.countryCode, None),
        "isil": (hc.isil, None),
        "ghcid": (hc.ghcid, None),
        "foundedYear": (schema.foundingDate, XSD.gYear),
        "budget": (hc.annualBudget, XSD.decimal),
    }
    graph = Graph(bind_namespaces="none")
    for row in CUSTODIANS:
        subject = URIRef(f"https://knowtrail.example/{content_key(row['name'])}")
        graph.add((subject, RDF.type, hc.Custodian))
        for column, (predicate, datatype) in terms.items():
            if column in row:
                literal = Literal(str(row[column]), datatype=datatype)
                graph.add((subject, predicate, literal))
    return graph
