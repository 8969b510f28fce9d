"""A few made-up institutions, as nodes in a database and as RDF in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from rdflib import Graph

    from knowtrail.graph.db.connection import Connection

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
_ROWS = """
Stadsarchief Waterkant|A|Amsterdam|Noord-Holland|NL-NH|NL|NL-AsdWK||1848|2500000
Grachtenmuseum De Spiegel|M|Amsterdam|Noord-Holland|NL-NH|NL|NL-AsdGS||1921|750000
Museum Het Zilveren Anker|M|Amsterdam|Noord-Holland|NL-NH|NL|||1975|12000000
Bibliotheek De Leeszolder|L|Utrecht|Utrecht|NL-UT|NL|NL-UtLZ||1892|1800000
Domarchief Utrecht|A|Utrecht|Utrecht|NL-UT|NL|NL-UtDA|NL-UT-UTR-A-DA|1799|900000
Museum Fort Blauwkapel|M|Utrecht|Utrecht|NL-UT|NL||NL-UT-UTR-M-FB|1990|300000
Haagse Galerie Noordzee|G|Den Haag|Zuid-Holland|NL-ZH|NL||NL-ZH-DHA-G-HN|2001|450000
Archief Scheldemond|A|Antwerpen|Antwerpen|BE-VAN|BE|BE-AntAS|BE-VAN-ANT-A-AS|1830|
Scheldemuseum|M|Antwerpen|Antwerpen|BE-VAN|BE||BE-VAN-ANT-M-SM|1903|3200000
Isarbibliothek|L|München|Bayern|DE-BY|DE|DE-MueIB|DE-BY-MUN-L-IB|1760|5400000
Thames Record Office|A|London|London||GB|GB-LonTR||1949|4000000
Middelburg Zeemuseum|M|Middelburg|Zeeland|NL-ZE|NL|||1888|
Middelburg Mission Museum|M|Middelburg|Mpumalanga|ZA-MP|ZA|||1911|
"""
CUSTODIANS: list[dict[str, Any]] = [
    {name: value for name, value in zip(_COLUMNS, row.split("|"), strict=True) if value}
    for row in _ROWS.strip().splitlines()
]
for _row in CUSTODIANS:
    _row["foundedYear"] = int(_row["foundedYear"])
    if "budget" in _row:
        _row["budget"] = float(_row["budget"])

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
    from knowtrail.graph.db.schema import apply_schema

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
    from rdflib import RDF, XSD, Graph, Literal, Namespace, URIRef

    from knowtrail.retrieval.specificity.execution import namespaces

    names = namespaces()
    hc, schema = Namespace(names["hc"]), Namespace(names["schema"])
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
