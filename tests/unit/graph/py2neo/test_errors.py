"""Errors with py2neo's names and codes."""

from __future__ import annotations

import neo4j.exceptions as ne
import pytest

from knowtrail.graph import errors as ours
from knowtrail.graph import py2neo
from knowtrail.graph.py2neo.errors import translated
from tests.cases import each

NAMES = [
    "AuthenticationError",
    "ClientError",
    "ConnectionBroken",
    "ConnectionLimit",
    "ConnectionUnavailable",
    "DatabaseError",
    "Neo4jError",
    "ProtocolError",
    "ServiceUnavailable",
    "TransactionFinished",
    "TransientError",
    "UniquenessError",
    "UnsupportedValueError",
    "WriteServiceUnavailable",
]


@each("name", NAMES)
def test_every_error_is_one_of_ours(name: str) -> None:
    """Whoever catches Knowtrail's errors catches these."""
    assert issubclass(getattr(py2neo, name), ours.KnowtrailError)


def test_a_code_is_taken_apart() -> None:
    """Classification, category and title are the parts of the status code."""
    error = py2neo.ClientError("No.", "Neo.ClientError.Statement.SyntaxError")
    parts = (error.classification, error.category, error.title)
    assert parts == ("ClientError", "Statement", "SyntaxError")
    assert py2neo.Neo4jError.split_code(error.code) == parts
    assert str(error) == "[Statement.SyntaxError] No."
    with pytest.raises(ValueError, match="no status code"):
        py2neo.Neo4jError.split_code("Neo.X")


@each(
    ("raised", "expected"),
    [
        (ne.ServiceUnavailable("gone"), py2neo.ServiceUnavailable),
        (ne.WriteServiceUnavailable("gone"), py2neo.WriteServiceUnavailable),
        (ne.SessionExpired("gone"), py2neo.ConnectionBroken),
        (ne.IncompleteCommit("gone"), py2neo.ConnectionBroken),
        (ne.ConnectionAcquisitionTimeoutError("full"), py2neo.ConnectionLimit),
        (ne.TransactionNestingError("two"), py2neo.TransactionFinished),
        (ne.ConfigurationError("what"), ours.SettingsError),
        (ne.DriverError("what"), py2neo.ProtocolError),
        (OverflowError("too large"), ours.InputError),
        (ValueError("Values of type x"), py2neo.UnsupportedValueError),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), ours.InputError),
    ],
)
def test_errors_of_the_driver_are_translated(
    raised: Exception, expected: type[Exception]
) -> None:
    """Each error of the driver has its place among py2neo's."""
    with pytest.raises(expected), translated("the server"):
        raise raised


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Neo.ClientError.Statement.SyntaxError", py2neo.ClientError),
        ("Neo.ClientError.Security.Unauthorized", py2neo.AuthenticationError),
        ("Neo.TransientError.Transaction.DeadlockDetected", py2neo.TransientError),
        ("Neo.DatabaseError.General.UnknownError", py2neo.DatabaseError),
    ],
)
def test_status_codes_choose_the_error(code: str, expected: type[Exception]) -> None:
    """The classification of a status code chooses the class."""
    raised = ne.Neo4jError._hydrate_neo4j(code=code, message="No.")
    with pytest.raises(expected) as caught, translated():
        raise raised
    assert type(caught.value) is expected
