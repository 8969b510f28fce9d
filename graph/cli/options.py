"""The options that several commands have: each is defined here, once.

A command takes them by name, `@options("corpus", "json")`, in the order of its help;
`option` changes what one says or its default. Those of one command stand beside it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")
MODELS = "Ollama's, openai:MODEL[@URL], anthropic:MODEL or langchain:CLASS:MODEL"
"""How language models are named."""

_TABLE: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "json": (("--json", "as_json"), {"is_flag": True, "help": "Answer as JSON."}),
    "csv": (
        ("--csv", "as_csv"),
        {"is_flag": True, "help": "Write every row as CSV."},
    ),
    "wide": (
        ("--wide",),
        {"is_flag": True, "help": "Every column, one line a row."},
    ),
    "yes": (("--yes",), {"is_flag": True, "help": "Do not ask."}),
    "corpus": (("--corpus",), {"help": "Corpus; needed where there are several."}),
    "limit": (
        ("--limit",),
        {"type": click.IntRange(1), "help": "Read this many and stop."},
    ),
    "model": (
        ("--model", "model_name"),
        {"metavar": "NAME", "help": f"Language model: {MODELS}."},
    ),
    "record": (
        ("--record/--no-record",),
        {"default": True, "show_default": True, "help": "Store the walk in the graph."},
    ),
    "seed": (
        ("--seed",),
        {"default": 0, "show_default": True, "help": "Seed of the intervals."},
    ),
    "store": (
        ("--store",),
        {"is_flag": True, "help": "Keep the results in the graph."},
    ),
}
"""Name -> what declares it and its attributes, as click takes them."""


def option(name: str, **changes: Any) -> Callable[[_F], _F]:
    """Return an option of the table as a decorator, with other attributes if given."""
    declared, attributes = _TABLE[name]
    return click.option(*declared, **(attributes | changes))


def options(*names: str) -> Callable[[_F], _F]:
    """Return a decorator that adds options of the table, in that order."""
    return stacked(*map(option, names))


def stacked(*added: Callable[[Any], Any]) -> Callable[[_F], _F]:
    """Return one decorator of several, in the order in which they would stand."""
    return lambda command: reduce(lambda done, one: one(done), reversed(added), command)


def check_form(*, as_json: bool, as_csv: bool) -> None:
    """Refuse two forms at once."""
    if as_json and as_csv:
        msg = "Choose one of --csv and --json."
        raise click.UsageError(msg)
