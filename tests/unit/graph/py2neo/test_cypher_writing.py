"""Names and values as Cypher writes them."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys

import neo4j.spatial
import neo4j.time
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import Node, Relationship
from knowtrail.graph.py2neo.cypher import (
    CypherExpression,
    cypher_escape,
    cypher_join,
    cypher_repr,
    cypher_str,
)
from tests.cases import each

ESCAPED = re.compile(r"`(?:[^`\\]|``|\\u005C)*`")
HOSTILE = st.text(
    alphabet=st.sampled_from(list("`\\u0060C5'\"{}$:()-<>|;/*\n _aé😀")), min_size=1
)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("simple_identifier", "simple_identifier"),
        ("identifier with spaces", "`identifier with spaces`"),
        ("identifier with `backticks`", "`identifier with ``backticks```"),
        ("1st", "`1st`"),
        ("😀", "`😀`"),
        ("a\\u0060b", "`a\\u005Cu0060b`"),
    ],
)
def test_names_are_escaped_where_they_need_it(name: str, written: str) -> None:
    """Simple names stand as they are, others in backticks, codes disarmed."""
    assert cypher_escape(name) == written


@given(HOSTILE)
def test_escaped_name_ends_where_it_should_and_reads_as_it_was(name: str) -> None:
    """No text can end its backticks early, and none is changed."""
    written = cypher_escape(name)

    if written != name:
        assert ESCAPED.fullmatch(written)
        inner = written[1:-1].replace("``", "`").replace("\\u005C", "\\")
        assert inner == name


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800"])
def test_impossible_names_are_refused(name: str) -> None:
    """Nothing at all, and characters that the server refuses, are no names."""
    with pytest.raises(InputError, match="cannot be a name"):
        cypher_escape(name)


@pytest.mark.parametrize("name", [None, 1, b"a"])
def test_names_are_text(name: object) -> None:
    """Other things than text are refused with a TypeError, which is ours too."""
    with pytest.raises(TypeError, match="is text, not") as caught:
        cypher_escape(name)  # type: ignore[arg-type]
    assert isinstance(caught.value, InputError)


@each(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (-1, "-1"),
        (1.0, "1.0"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        ("a", "'a'"),
        ("it's", '"it\'s"'),
        ('it\'s "so"', "'it\\'s \"so\"'"),
        ("a\\b\n\x00\x7f", "'a\\\\b\\n\\u0000\\u007f'"),
        ([1, "a", None], "[1, 'a', null]"),
        ((1,), "[1]"),
        ({"a b": 1, "c": {"d": []}}, "{`a b`: 1, c: {d: []}}"),
        (datetime.date(2020, 1, 2), "date('2020-01-02')"),
        (datetime.time(3, 4), "localtime('03:04:00')"),
        (datetime.datetime(2020, 1, 2, 3), "localdatetime('2020-01-02T03:00:00')"),
        (
            datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.UTC),
            "datetime('2020-01-02T03:00:00+00:00')",
        ),
        (neo4j.time.Duration(months=14, days=3), "duration('P1Y2M3D')"),
        (datetime.timedelta(days=1, seconds=5), "duration('P1DT5S')"),
        (neo4j.spatial.CartesianPoint((1, 2)), "point({srid: 7203, x: 1.0, y: 2.0})"),
        (CypherExpression("_.a + 1"), "_.a + 1"),
        (Node("Big Man", name="Al"), "(:`Big Man` {name: 'Al'})"),
    ],
)
def test_values_are_written_as_literals(value: object, written: str) -> None:
    """Each kind of value has its literal, or the call that makes it."""
    assert cypher_repr(value) == written


def test_zone_of_a_time_is_kept() -> None:
    """A named zone stands behind the offset."""
    zone = __import__("zoneinfo").ZoneInfo("Europe/Amsterdam")

    written = cypher_repr(datetime.datetime(2020, 1, 2, 3, tzinfo=zone))

    assert written == "datetime('2020-01-02T03:00:00+01:00[Europe/Amsterdam]')"


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "Europe/Berlin"])
def test_a_moment_of_the_driver_in_a_zone_of_zoneinfo_is_written(zone: str) -> None:
    """Many of many years, as text and in a table: the driver's own text crashes."""
    code = (
        "import zoneinfo, neo4j.time\n"
        "from knowtrail.graph.py2neo import Table\n"
        "from knowtrail.graph.py2neo.cypher_writing import cypher_repr\n"
        f"zone = zoneinfo.ZoneInfo({zone!r})\n"
        "for number in range(20_000):\n"
        "    at = neo4j.time.DateTime(1860 + number % 170, 1, 2, tzinfo=zone)\n"
        "    written = cypher_repr(at)\n"
        "    if number % 100 == 0:\n"
        "        table = Table([[at]], ['at'])\n"
        "        print(repr(table), table.write_separated_values(','))\n"
        "print(written)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert done.stdout.splitlines()[-1].endswith(f"+01:00[{zone}]')")


def test_relationship_is_drawn_as_an_arrow() -> None:
    """Ends stand by their names."""
    edge = Relationship(Node(name="A"), "KNOWS", Node(name="B"), since=1999)

    assert cypher_repr(edge) == "(A)-[:KNOWS {since: 1999}]->(B)"


def test_quote_can_be_chosen() -> None:
    """The mark that is asked for is used, and escaped inside."""
    assert cypher_repr('a"b', quote='"') == '"a\\"b"'


def test_text_for_people_has_no_quotes() -> None:
    """`cypher_str` leaves texts as they are and writes the rest."""
    assert cypher_str("it's") == "it's"
    assert cypher_str(["it's"]) == '["it\'s"]'


@pytest.mark.parametrize("value", [object(), {1}, b"bytes"])
def test_values_without_a_literal_are_refused(value: object) -> None:
    """What Cypher cannot write is told with its type."""
    with pytest.raises(TypeError, match=type(value).__name__):
        cypher_repr(value)


def test_numbers_beyond_the_servers_are_refused() -> None:
    """A whole number needs to fit 64 bits."""
    assert cypher_repr(2**63 - 1) == str(2**63 - 1)
    with pytest.raises(ValueError, match="64 bits"):
        cypher_repr(2**63)


def test_clauses_are_joined_with_their_parameters() -> None:
    """Texts and tuples become one statement and one dictionary."""
    joined = cypher_join("MATCH (a)", None, ("WHERE a.x = $x", {"x": 1}), y=2)

    assert joined == ("MATCH (a)\nWHERE a.x = $x", {"x": 1, "y": 2})


def test_clauses_must_agree_on_a_parameter() -> None:
    """One name cannot have two values."""
    assert cypher_join(("A", {"x": 1}), x=1) == ("A", {"x": 1})
    with pytest.raises(InputError, match=r"\$x different values"):
        cypher_join(("A", {"x": 1}), ("B", {"x": 2}))


def test_clauses_are_text_or_tuples() -> None:
    """Anything else is refused."""
    with pytest.raises(TypeError, match="is no Cypher"):
        cypher_join("A", 1)
