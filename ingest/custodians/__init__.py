"""Heritage institutions from a table: nodes with a class, and a document of each."""

from knowtrail.ingest.custodians.columns import FIELDS
from knowtrail.ingest.custodians.custodian_file import CustodianFile, bundled_custodians
from knowtrail.ingest.custodians.institution import CLASS_NAMES, Custodian, class_uri
from knowtrail.ingest.custodians.intake import (
    CustodianReport,
    custodian_source,
    ingest_custodians,
)

__all__ = [
    "CLASS_NAMES",
    "FIELDS",
    "Custodian",
    "CustodianFile",
    "CustodianReport",
    "bundled_custodians",
    "class_uri",
    "custodian_source",
    "ingest_custodians",
]
