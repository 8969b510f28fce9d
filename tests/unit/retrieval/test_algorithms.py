"""The registry of algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest

from knowtrail.graph.errors import InputError, UnknownAlgorithmError
from knowtrail.retrieval.algorithms import (
    ALGORITHMS,
    DEFAULT_ALGORITHM,
    DETERMINISTIC,
    ENTRY_POINTS,
    PUBLISHED_ALGORITHMS,
    _loaded,
    _offered,
    algorithm,
)
from knowtrail.retrieval.algorithms.rules import OWN, PUBLISHED
from knowtrail.retrieval.cli.traverse import search

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that offers a class, an object, and what is no algorithm."""
    (tmp_path / "others_walks.py").write_text(
        "class Wander:\n"
        "    name = 'wander'\n"
        "    def walk(self, query, options):\n"
        "        yield\n"
        "class Needy(Wander):\n"
        "    def __init__(self, seed):\n"
        "        pass\n"
        "made = Wander()\n",
        "utf-8",
    )
    record = tmp_path / "others_walks-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: others-walks\nVersion: 1.0\n", "utf-8")
    (record / "entry_points.txt").write_text(
        f"[{ENTRY_POINTS}]\nwander = others_walks:Wander\nmade = others_walks:made\n"
        "auto = others_walks:Wander\nnone = others_walks:__name__\n"
        "needy = others_walks:Needy\ngone = others_lost:Wander\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    for kept in (_offered, _loaded):
        kept.cache_clear()
    yield
    for kept in (_offered, _loaded):
        kept.cache_clear()


@pytest.mark.usefixtures("package")
def test_other_packages_offer_algorithms() -> None:
    """A class is made, an object taken as it is, and each once; ours come first."""
    wander, made = algorithm("wander"), algorithm("made")

    assert (wander.name, made.name) == ("wander", "wander")
    assert wander is algorithm("wander")
    assert wander is not made
    assert algorithm("auto") is ALGORITHMS["auto"]
    with pytest.raises(UnknownAlgorithmError, match="did you mean 'wander'"):
        algorithm("wandr")
    with pytest.raises(InputError, match="'published' has no algorithm 'wander'"):
        algorithm("wander", published=True)


@pytest.mark.usefixtures("package")
def test_an_entry_point_that_is_no_algorithm_is_refused() -> None:
    """The message names the entry point and what it must be."""
    with pytest.raises(InputError, match=r"'none' of knowtrail\.algorithms is other"):
        algorithm("none")
    with pytest.raises(InputError, match=r"'needy' .* cannot be loaded \(TypeError"):
        algorithm("needy")
    with pytest.raises(InputError, match=r"'gone' .* cannot be loaded \(ModuleNotF"):
        algorithm("gone")
