"""Heritage institutions from a table: nodes with a class, and a document of each."""

from knowtrail.ingest.custodians.columns import FIELDS
from knowtrail.ingest.custodians.custodian_file import CustodianFile, bundled_custodians
from knowtrail.ingest.custodians.institution import CLASS_NAMES, Custodian, class_uri
from knowtrail.ingest.custodians.intake import (
    CustodianReport,
    CustodianSource,
    Near,
    Unplaced,
    custodians_near,
    custodians_unplaced,
    ingest_custodians,
)

__all__ = [
    "CLASS_NAMES",
    "FIELDS",
    "Custodian",
    "CustodianFile",
    "CustodianReport",
    "CustodianSource",
    "Near",
    "Unplaced",
    "bundled_custodians",
    "class_uri",
    "custodians_near",
    "custodians_unplaced",
    "ingest_custodians",
]
