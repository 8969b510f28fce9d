"""What the commands that walk have in common: options, filters, models, hints."""

from __future__ import annotations

import json
import shlex
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from graph.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.language_models import LanguageModel
    from graph.settings import Settings

__all__ = [
    "ALGORITHM_NAMES",
    "load_model",
    "own_command",
    "read_filter",
    "walk_options",
]

ALGORITHM_NAMES = (
    "auto, query_traversal, kg_traversal, triangulation_average, "
    "triangulation_geometric_3d, triangulation_fulldim, basic_retrieval or "
    "llm_guided_traversal"
)
"""The algorithms in words; here by hand, so that `--help` loads none of them."""

_OPTIONS = (
    click.option("--corpus", help="Corpus to ask; needed where there are several."),
    click.option(
        "--max-sentences",
        type=int,
        default=10,
        show_default=True,
        help="Sentences wanted.",
    ),
    click.option(
        "--max-hops",
        type=int,
        default=20,
        show_default=True,
        help="Edges that may be followed.",
    ),
    click.option(
        "--anchors",
        type=int,
        default=1,
        show_default=True,
        help="Chunks to start from, in different documents, 1 to 20.",
    ),
    click.option(
        "--lookahead",
        type=int,
        default=0,
        show_default=True,
        help="Further steps looked at before one is taken, 0 to 3.",
    ),
    click.option(
        "--beam",
        type=int,
        default=3,
        show_default=True,
        help="Paths kept while looking ahead, 1 to 10.",
    ),
    click.option(
        "--filter",
        "filter_json",
        metavar="JSON",
        help='What chunks must pass at every hop, such as \'{"category": "Autism"}\'.',
    ),
    click.option(
        "--preset",
        type=click.Choice(["published"]),
        help="Walk by the rules of the published code.",
    ),
    click.option(
        "--reader",
        type=click.Choice(["auto", "cypher", "snapshot"]),
        default="auto",
        show_default=True,
        help="Read the database, its snapshot, or the snapshot where it is current.",
    ),
    click.option(
        "--model",
        "model_name",
        metavar="NAME",
        help="Language model of llm_guided_traversal, and of ask "
        "(KNOWTRAIL_LANGUAGE_MODEL).",
    ),
)


def walk_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that walks."""
    return reduce(lambda done, option: option(done), reversed(_OPTIONS), command)


def read_filter(text: str | None) -> Any:
    """Read a filter from the command line; None where there is none.

    Raises:
        FilterError: If it is not JSON.
    """
    if text is None:
        return None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = (
            f"{error.msg} at character {error.pos}"
            if isinstance(error, json.JSONDecodeError)
            else "nested too deeply"
        )
        msg = f"--filter is not JSON ({where}): {text[:200]!r}."
        raise FilterError(msg) from error


def load_model(name: str | None, settings: Settings) -> LanguageModel | None:
    """Return the language model of a name, None where none is named.

    Raises:
        MissingExtraError: If the packages for language models are missing.
    """
    if name is None:
        return None
    from graph.language_models import load_language_model

    return load_language_model(name, settings=settings)


def own_command(settings: Settings) -> str:
    """Return how to call this program again, as the user did."""
    from graph.settings import Settings as Defaults
    from graph.settings import environment

    words = ["uv", "run"] if "UV_RUN_RECURSION_DEPTH" in environment() else []
    words.append("knowtrail")
    if settings.home != Defaults.from_env().home:
        words += ["--home", str(settings.home)]
    return shlex.join(words)
