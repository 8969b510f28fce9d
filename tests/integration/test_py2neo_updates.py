"""What py2neo's manner changes, on a real server, and what it leaves alone."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from knowtrail.graph.py2neo import (
    Graph,
    Node,
    Relationship,
    Subgraph,
    Transaction,
    TransactionFinished,
)
from knowtrail.graph.py2neo.cypher_writing import cypher_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


def test_a_push_leaves_labels_of_others(graph: Graph) -> None:
    """Only the labels that were taken away here are taken away there."""
    node = Node("Person", "Draft", name="Alice")
    graph.create(node)
    graph.run("MATCH (n:Person) SET n:Audited")
    node.labels.discard("Draft")
    node.labels.add("Final")
    graph.push(node)
    labels = graph.evaluate("MATCH (n:Person) RETURN labels(n)")
    assert set(labels) == {"Person", "Audited", "Final"}


def test_a_label_is_taken_away_once(graph: Graph) -> None:
    """What others add again after a push stays; what was undone is pushed again."""
    node = Node("Person", "Draft", name="Alice")
    graph.create(node)
    node.labels.discard("Draft")
    tx = graph.begin()
    tx.push(node)
    tx.rollback()
    graph.push(node)
    assert graph.evaluate("MATCH (n:Person) RETURN labels(n)") == ["Person"]
    graph.run("MATCH (n:Person) SET n:Draft")
    graph.push(node)
    assert set(graph.evaluate("MATCH (n) RETURN labels(n)")) == {"Person", "Draft"}


def test_a_merged_node_is_pushed_without_loss_of_labels(graph: Graph) -> None:
    """What a merge was told of the stored node's labels stays after a push."""
    graph.create(Node("Person", "Keeper", name="Alice"))
    node = Node(name="Alice")
    graph.merge(node, "Person", "name")
    graph.push(node)
    labels = graph.evaluate("MATCH (n) RETURN labels(n)")
    assert set(labels) == {"Person", "Keeper"}


def test_cleared_labels_are_taken_away(graph: Graph) -> None:
    """Labels that were cleared here are gone there, and those given again are not."""
    node = Node("Person", "Keeper", name="Alice")
    graph.create(node)
    node.clear_labels()
    node.add_label("Keeper")
    graph.push(node)
    assert graph.evaluate("MATCH (n) RETURN labels(n)") == ["Keeper"]


@pytest.mark.parametrize("error", [ValueError, TypeError, OverflowError])
def test_errors_of_the_function_of_an_update_stay_what_they_are(
    graph: Graph, error: type[Exception]
) -> None:
    """An error of the caller's own is not taken for one of the driver."""

    def work(tx: Transaction) -> None:
        tx.create(Node("Person"))
        raise error("my own")

    with pytest.raises(error) as caught:
        graph.update(work)
    assert type(caught.value) is error
    assert str(caught.value) == "my own"
    assert len(graph.nodes) == 0


def test_an_update_that_is_rolled_back_changes_nothing(graph: Graph) -> None:
    """A rollback inside the function holds, and is said, as py2neo said it."""
    node = Node("Person")

    def work(tx: Transaction) -> None:
        tx.create(node)
        tx.rollback()

    with pytest.raises(TransactionFinished, match="rolled back"):
        graph.update(work)
    assert len(graph.nodes) == 0
    assert node.identity is None


def test_an_update_does_not_promise_a_commit(graph: Graph) -> None:
    """A function that commits itself is told that this is not its to do."""

    def work(tx: Transaction) -> None:
        tx.create(Node("Person"))
        tx.commit()

    with pytest.raises(TransactionFinished, match="leave commit out"):
        graph.update(work)
    assert len(graph.nodes) == 0


def test_a_class_of_relationships_is_that_of_stored_ones(graph: Graph) -> None:
    """A class written for a type is met again in what is read."""

    class MentorOf(Relationship):
        def years(self) -> int:
            return int(self["years"])

    graph.create(MentorOf(Node("Person"), Node("Person"), years=3))
    found = graph.match_one(None, MentorOf)
    assert isinstance(found, MentorOf)
    assert found.years() == 3


def test_only_entities_in_a_subgraph_are_stored(graph: Graph) -> None:
    """A subgraph of other things is refused by what is in it."""
    things: list[Node] = [17]  # type: ignore[list-item]
    with pytest.raises(TypeError, match="17: it is no Node"):
        graph.create(Subgraph(things))


def test_nodes_in_lists_of_parameters_may_hold_times(graph: Graph) -> None:
    """A time with a zone is sent from inside a node as well."""
    at = datetime.datetime(2024, 1, 2, 3, tzinfo=ZoneInfo("Europe/Berlin"))
    text = "UNWIND $rows AS row RETURN toString(row.at)"
    found = graph.evaluate(text, rows=[Node("Event", at=at)])
    assert found == "2024-01-02T03:00:00+01:00[Europe/Berlin]"


def test_moments_before_standard_time_are_read_as_they_are_written(
    graph: Graph,
) -> None:
    """Both lines know the offset of a zone, of which one reads no seconds."""
    at = datetime.datetime(1900, 1, 2, 3, tzinfo=ZoneInfo("Europe/Amsterdam"))
    found = graph.evaluate(f"RETURN toString({cypher_repr(at)})")
    assert found.startswith("1900-01-02T03:00")
    assert found.endswith("[Europe/Amsterdam]")


def test_a_service_takes_settings_that_are_not_said(server: Settings) -> None:
    """None stands for the default of a setting, as in py2neo."""
    auth = (server.username, server.password)
    graph = Graph(server.uri, auth=auth, user_agent=None, max_connections=None)
    with graph.service:
        assert graph.evaluate("RETURN 1") == 1
        assert graph.service.kernel_version > (5, 26)


def test_nodes_with_many_relationships_are_deleted_in_batches(graph: Graph) -> None:
    """A hub with more relationships than a batch is deleted with all of them."""
    graph.run(
        "CREATE (a:Hub), (b:Hub) FOREACH (i IN range(1, 25000) | CREATE (a)-[:R]->(b))"
    )
    graph.delete_all()
    assert graph.evaluate("MATCH (n) RETURN count(n)") == 0


def test_a_generator_is_run_to_its_end(graph: Graph) -> None:
    """What it yields is dropped, and its error rolls everything back."""

    def work(tx: Transaction, *names: str) -> Iterator[str]:
        for name in names:
            tx.create(Node("Person", name=name))
            yield name
        if "Eve" in names:
            msg = "mine"
            raise KeyError(msg)

    graph.update(work, ["Alice", "Bob"])
    with pytest.raises(KeyError, match="mine"):
        graph.update(work, ["Eve"])

    assert [node["name"] for node in graph.nodes.match().order_by("_.name")] == [
        "Alice",
        "Bob",
    ]
