"""Heritage institutions from a table: nodes with a class, and a document of each."""

from ingest.custodians.columns import FIELDS
from ingest.custodians.reading import CustodianFile, bundled_custodians
from ingest.custodians.records import CLASS_NAMES, Custodian, class_uri
from ingest.custodians.storing import CustodianReport, ingest_custodians

__all__ = [
    "CLASS_NAMES",
    "FIELDS",
    "Custodian",
    "CustodianFile",
    "CustodianReport",
    "bundled_custodians",
    "class_uri",
    "ingest_custodians",
]
