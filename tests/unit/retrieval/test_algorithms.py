"""The registry of algorithms."""

from __future__ import annotations

from typing import Any

import click
import pytest

from knowtrail.graph.errors import InputError, UnknownAlgorithmError
from knowtrail.retrieval.algorithms import (
    ALGORITHMS,
    DEFAULT_ALGORITHM,
    DETERMINISTIC,
    PUBLISHED_ALGORITHMS,
    algorithm,
)
from knowtrail.retrieval.algorithms.rules import OWN, PUBLISHED
from knowtrail.retrieval.cli.traverse import search


def test_algorithms_are_found_by_name() -> None:
    """Each algorithm is registered under its own name, the default among them."""
    assert {algorithm(name).name for name in ALGORITHMS} == set(ALGORITHMS)
    assert DEFAULT_ALGORITHM in ALGORITHMS


def test_tab_offers_every_algorithm() -> None:
    """The names that `--help` has by hand are those there are."""
    option = next(each for each in search.params if each.name == "algorithm")
    assert isinstance(option, click.Option)
    offered = option.shell_complete(click.Context(search), "")

    assert {item.value for item in offered} == set(ALGORITHMS)
    assert all(name in str(option.help) for name in ALGORITHMS)


@pytest.mark.parametrize("name", PUBLISHED_ALGORITHMS)
def test_every_algorithm_has_its_preset(name: str) -> None:
    """The preset is the same algorithm with other rules, and no second one."""
    ours: Any = algorithm(name)
    published: Any = algorithm(name, published=True)

    assert type(published) is type(ours)
    assert (ours.rules, published.rules) == (OWN, PUBLISHED)


def test_the_published_code_has_no_auto() -> None:
    """The preset knows the seven; of `auto` it says which there are."""
    assert set(ALGORITHMS) - set(PUBLISHED_ALGORITHMS) == {"auto", "hybrid", "mmr"}
    with pytest.raises(InputError, match="name one of basic_retrieval"):
        algorithm("auto", published=True)


def test_all_but_one_are_deterministic() -> None:
    """Only the one that asks a language model may walk differently each time."""
    assert set(ALGORITHMS) - set(DETERMINISTIC) == {"llm_guided_traversal"}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("query_travesal", "'query_traversal'"),
        ("basic", "'basic_retrieval'"),
        ("QueryTraversal", "'query_traversal'"),
    ],
)
def test_a_near_name_is_suggested(name: str, suggestion: str) -> None:
    """A slip of the pen is answered with the name that was meant."""
    with pytest.raises(UnknownAlgorithmError, match=f"did you mean {suggestion}"):
        algorithm(name)


def test_an_unknown_name_lists_what_there_is() -> None:
    """The message names every algorithm, and the error is the user's to mend."""
    with pytest.raises(InputError, match=r"basic_retrieval.*query_traversal"):
        algorithm("zzz")
