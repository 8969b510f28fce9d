"""Records and cursors over rows that no server sent."""

from __future__ import annotations

import copy
import pickle

import pytest
from neo4j import SummaryCounters

from knowtrail.graph.py2neo import Cursor, Node, Record, Relationship
from knowtrail.graph.py2neo.cypher import CypherPlan, CypherStats

ROW = Record(["name", "age"], ["Alice", 33])


def _cursor() -> Cursor:
    """Return a cursor over five rows."""
    return Cursor(["n", "square"], [[n, n * n] for n in range(1, 6)])


def test_a_record_is_read_by_position_and_by_key() -> None:
    """Brackets take both, iteration gives values, `dict` gives pairs."""
    assert (ROW[0], ROW["age"], ROW[-1]) == ("Alice", 33, 33)
    assert list(ROW) == ["Alice", 33]
    assert dict(ROW) == {"name": "Alice", "age": 33}
    assert ROW[:1] == Record(["name"], ["Alice"])
    assert str(ROW) == "'Alice'\t33"


def test_a_record_is_filtered_by_keys() -> None:
    """`values`, `items` and `data` take keys and positions; missing keys are None."""
    assert ROW.values("age") == [33]
    assert ROW.items(1, "name") == [("age", 33), ("name", "Alice")]
    assert ROW.data("nothing") == {"nothing": None}
    assert ROW.get("nothing", 4) == 4
    assert ROW.get(7, 4) == 4


@pytest.mark.parametrize("key", [2, "nothing"])
def test_a_record_refuses_what_it_does_not_have(key: int | str) -> None:
    """A missing position is an IndexError, a missing key a KeyError."""
    with pytest.raises(LookupError):
        ROW[key]


def test_records_are_equal_by_keys_and_values() -> None:
    """Records equal records and dictionaries of the same pairs."""
    assert Record(["name", "age"], ["Alice", 33]) == ROW
    assert ROW == {"name": "Alice", "age": 33}
    assert Record(["name", "x"], ["Alice", 33]) != ROW
    assert pickle.loads(pickle.dumps(ROW)) == ROW  # noqa: S301  (made here)


def test_a_record_unites_its_graph_structures() -> None:
    """Nodes and relationships, also inside lists, become one subgraph."""
    a, b = Node(), Node()
    edge = Relationship(a, "KNOWS", b)
    found = Record(["a", "rest"], [a, [edge, {"b": b}, 3]]).to_subgraph()
    assert found is not None
    assert found.nodes() == {a, b}
    assert found.relationships() == {edge}
    assert Record(["x"], [1]).to_subgraph() is None


def test_a_cursor_moves_forward_as_far_as_there_are_rows() -> None:
    """`forward` says how far it moved, and `current` is the row it is at."""
    cursor = _cursor()
    assert cursor.current is None
    assert cursor.forward() == 1
    assert cursor["n"] == 1
    assert cursor.forward(2) == 2
    assert cursor.current == {"n": 3, "square": 9}
    assert cursor.forward(9) == 2
    assert cursor.forward() == 0
    assert cursor.current == {"n": 5, "square": 25}
    assert cursor.closed


def test_a_cursor_evaluates_the_next_row() -> None:
    """`evaluate` takes a position or a name, and gives None past the end."""
    cursor = _cursor()
    assert cursor.evaluate() == 1
    assert cursor.evaluate("square") == 4
    assert cursor.evaluate(7) is None
    cursor.close()
    assert cursor.evaluate() is None


def test_a_cursor_refuses_a_column_that_it_does_not_have() -> None:
    """An unknown name is a KeyError; before the first row there is no value."""
    cursor = _cursor()
    with pytest.raises(IndexError, match="no row yet"):
        cursor["n"]
    with pytest.raises(KeyError):
        cursor.evaluate("nothing")


def test_a_cursor_is_read_once() -> None:
    """Rows that were read are gone, for every way of reading."""
    cursor = _cursor()
    assert next(cursor)["n"] == 1
    assert [record["n"] for record in cursor] == [2, 3, 4, 5]
    assert cursor.data() == []


def test_a_preview_does_not_move_the_cursor() -> None:
    """A preview shows the next rows, which are then still to be read."""
    cursor = _cursor()
    preview = cursor.preview(2)
    assert preview is not None
    assert len(preview) == 2
    assert len(cursor.data("n")) == 5


def test_a_cursor_becomes_what_libraries_take() -> None:
    """Data frames, series, arrays and matrices hold the values of the rows."""
    frame = _cursor().to_data_frame(columns=["square"])
    series = _cursor().to_series("square")
    array = _cursor().to_ndarray(dtype="float64")
    matrix = _cursor().to_matrix()
    assert frame.to_dict("list") == {"square": [1, 4, 9, 16, 25]}
    assert list(series) == [1, 4, 9, 16, 25]
    assert array.shape == (5, 2)
    assert matrix[4, 1] == 25


def test_a_cursor_without_a_summary_has_no_plan() -> None:
    """What was not run has no summary, plan, profile or changes."""
    cursor = _cursor()
    assert (cursor.summary(), cursor.plan(), cursor.profile) == (None, None, None)
    assert not cursor.stats().contained_updates


def test_statistics_have_every_count_by_attribute_and_by_name() -> None:
    """Scripts ask for counts that are 0 too, in both ways."""
    counters = SummaryCounters({"nodes-created": 2, "contains-updates": True})

    stats = CypherStats(counters)

    assert (stats.nodes_created, stats["nodes_created"]) == (2, 2)
    assert (stats.nodes_deleted, stats["relationships_deleted"]) == (0, 0)
    assert stats.contained_updates is True
    assert stats == dict(stats)
    assert "nodes_created: 2" in repr(stats).splitlines()
    with pytest.raises(AttributeError, match="no 'nodes_made': there are constraints"):
        _ = stats.nodes_made
    assert copy.copy(stats) == pickle.loads(pickle.dumps(stats)) == stats  # noqa: S301


def test_a_plan_has_the_names_of_py2neo() -> None:
    """Operator, identifiers, arguments and children, all the way down."""
    leaf = {"operatorType": "AllNodesScan", "identifiers": ["n"], "args": {"Rows": 3}}

    plan = CypherPlan({"operatorType": "ProduceResults", "children": [leaf]})

    assert (plan.operator_type, plan["identifiers"]) == ("ProduceResults", [])
    assert plan.children[0].args == {"Rows": 3}


def test_a_cursor_does_not_move_back() -> None:
    """A negative amount is refused with the error that py2neo had."""
    with pytest.raises(ValueError, match="forward only"):
        Cursor(["a"], [[1]]).forward(-1)
