"""What a statement would reach, by the plan that the server explains."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from knowtrail.graph.db import user_statements
from knowtrail.graph.errors import InputError


def _refusal(operator: str, details: str) -> str:
    """Return why a plan with an operator below another one is refused, if it is."""
    step = {"operatorType": operator, "args": {"Details": details}, "children": []}
    plan = {"operatorType": "ProduceResults", "children": [step]}
    try:
        user_statements._check_plan(
            cast("Any", SimpleNamespace(plan=plan, query_type="r")),
            user_statements._READ_ONLY,
            user_statements._KNOWN,
            user_statements._LOADING,
        )
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("operator", "details"),
    [
        ("LoadCSV@neo4j", "line"),
        ("Projection@neo4j", "head(COLLECT { LOAD CSV FROM $a AS r RETURN r }) AS x"),
        ("Projection@neo4j", "COLLECT { CALL gds.graph.export($a) YIELD x RETURN x }"),
        ("ProcedureCall@neo4j", "gds.beta.graph.export.csv($graph, $options)"),
        ("ProcedureCall@neo4j", "gds.graph.drop($graph)"),
        ("ProcedureCall@neo4j", "apoc.load.json($url) :: (value :: MAP)"),
        ("ProcedureCall@neo4j", "genai.vector.encodeBatch($texts, $provider)"),
        ("Projection@neo4j", "genai.vector.encode($text, $provider) AS v"),
        ("Projection@neo4j", "size(ai.text.embed($text)) AS v"),
    ],
)
def test_what_may_reach_others_is_refused(operator: str, details: str) -> None:
    """Plugins that a server may have are known by their names."""
    assert "add --write" in _refusal(operator, details)


@pytest.mark.parametrize(
    ("operator", "details"),
    [
        ("ProcedureCall@neo4j", "db.labels() :: (label :: STRING)"),
        ("ProcedureCall@neo4j", "gds.pageRank.stream($graph)"),
        ("Projection@neo4j", "head(COLLECT { CALL (x) { RETURN x AS y } RETURN y })"),
        ("Projection@neo4j", "n.email.domain AS d, toUpper(n.maintain) AS x"),
    ],
)
def test_what_stays_in_the_database_is_not(operator: str, details: str) -> None:
    """Names that only look like it are no functions."""
    assert _refusal(operator, details) == ""
