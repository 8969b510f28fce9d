"""What the commands that walk have in common: options, filters, models, hints."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.options import told_options
from knowtrail.graph.errors import FilterError
from knowtrail.retrieval.budgets import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings

_ALGORITHMS = (
    *("auto", "hybrid", "mmr", "query_traversal", "kg_traversal"),
    *("triangulation_average", "triangulation_geometric_3d", "triangulation_fulldim"),
    *("basic_retrieval", "llm_guided_traversal"),
)
"""The algorithms; here by hand, so that `--help` loads none of them."""


def complete_algorithm(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of algorithms that begin so, for Tab."""
    return [name for name in _ALGORITHMS if name.startswith(incomplete)]


algorithm_option = click.option(
    "--algorithm",
    default="auto",
    shell_complete=complete_algorithm,
    help=f"How to walk: {', '.join(_ALGORITHMS[:-1])} or {_ALGORITHMS[-1]}.",
)

told = partial(told_options, "knowtrail.retrieval")
"""Returns options of a command, see `told_options`."""

walk_options = told(
    "walk",
    preset={"type": click.Choice(["published"])},
    **{
        name: {
            "default": budget.default,
            "help": f"{budget.meaning[0].upper()}{budget.meaning[1:]}.",
        }
        for name, budget in BUDGETS.items()
    },
)
"""Adds the options of every command that walks."""


def read_filter(text: str | None) -> Any:
    """Read a filter from the command line; None where there is none."""
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
        raise FilterError(f"--filter is not JSON ({where}): {text[:200]!r}.") from error


def walk_asked(
    settings: Settings,
    question: str,
    options: dict[str, Any],
    load: Callable[[str | None, Settings], LanguageModel | None] | None = None,
) -> dict[str, Any]:
    """Return what one walk or several are asked, checked before a model is loaded."""
    from knowtrail.retrieval.questions import check_question

    name, corpus = options.pop("model_name"), options.pop("corpus")
    options["filter"] = read_filter(options.pop("filter_json"))
    several: dict[str, Any] = {}
    if "algorithms" in options:
        from knowtrail.retrieval.traverse import compared_algorithms

        several = {"algorithms": options.pop("algorithms") or None}
        for one in compared_algorithms(several["algorithms"], name, options):
            check_question(question, algorithm=one, **options)
    else:
        check_question(question, **options)
    options |= {**several, "corpus": corpus or settings.corpus, "settings": settings}
    return options | {"model": (load or load_model)(name, settings)}


def load_model(name: str | None, settings: Settings) -> LanguageModel | None:
    """Return the language model of a name, None where none is named."""
    if name is None:
        return None
    from knowtrail.graph.models.language_models import check_there, load_language_model

    check_there(name, settings)
    return load_language_model(name, settings=settings)
