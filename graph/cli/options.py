"""The options of commands, which the `options.toml` of their packages tell.

Those of several commands are defined once, as `shared` in that of `graph`. A command
takes them by name, `@options("corpus", "json")`, in the order of its help; `option`
changes what one says or its default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from knowtrail.graph.files.packaged import packaged

_F = TypeVar("_F", bound="Callable[..., Any]")
MODELS = "Ollama's, openai:MODEL[@URL], anthropic:MODEL or langchain:CLASS:MODEL"
"""How language models are named."""
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

_TABLE: dict[str, Any] = packaged("knowtrail.graph", "options.toml")["shared"]
"""Name -> the option as `told_options` reads it, with the `name` of its parameter."""


def option(name: str, **changes: Any) -> Callable[[_F], _F]:
    """Return an option of the table as a decorator, with other attributes if given."""
    about = {**_TABLE[name], **changes}
    return _told_option(about.pop("name", name), about, {}, None)


def options(*names: str) -> Callable[[_F], _F]:
    """Return a decorator that adds options of the table, in that order."""
    return stacked(*map(option, names))


def output_option(default: str, kinds: str) -> Callable[[_F], _F]:
    """Return the option of the file that a picture goes to."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default=Path(default),
        help=f"File to write; its suffix says the kind: {kinds}.",
    )


def stacked(*added: Callable[[Any], Any]) -> Callable[[_F], _F]:
    """Return one decorator of several, in the order in which they would stand."""
    return lambda command: reduce(lambda done, one: one(done), reversed(added), command)


def check_form(*, as_json: bool, as_csv: bool) -> None:
    """Refuse two forms at once."""
    if as_json and as_csv:
        raise click.UsageError("Choose one of --csv and --json.")


_TYPES: dict[str, dict[str, Any]] = {
    "amount": {"type": click.FloatRange(0)},
    "count": {"type": click.IntRange(1)},
    "file": {"type": FILE},
    "flag": {"is_flag": True},
    "folder": {"type": FOLDER},
    "integer": {"type": int},
    "number": {"type": float},
    "path": {"type": click.Path(path_type=Path)},
    "share": {"type": click.FloatRange(0, 1)},
    "there": {"type": click.Path(exists=True, dir_okay=False, path_type=Path)},
}


def told_options(
    package: str, command: str, /, *kinds: Any, **own: dict[str, Any]
) -> Callable[[Any], Any]:
    """Return the options of a command that `options.toml` of a package tells.

    Each is its parameter, and its help alone or what click takes: `is` names a type,
    `of` its values, the first the default, `range` the ends of whole numbers; `flags`
    are other names than its own, and `shared` is one of the table. What `kinds`,
    classes of options, have as default is it here, and `{default}` in a help; `own` has
    attributes that no file can tell.

    Raises:
        KeyError: If `own` names what the file lacks or has from the table.
    """
    known = {
        one.name: one.default
        for kind in kinds
        for one in fields(kind)
        if one.default is not MISSING
    }
    listed = packaged(package, "options.toml")[command]
    for name in own:
        if not isinstance(listed[name], str) and "shared" in listed[name]:
            raise KeyError(
                f"{name} of {command} is shared: it takes nothing of its own"
            )
    return stacked(
        *(
            _told_option(name, told, known, own.get(name))
            for name, told in listed.items()
        )
    )


def _told_option(
    name: str, told: Any, known: dict[str, Any], own: dict[str, Any] | None
) -> Callable[[Any], Any]:
    about = {"help": told} if isinstance(told, str) else dict(told)
    if "help" in about:
        about["help"] = about["help"].replace("{models}", MODELS)
        if "{default}" in about["help"]:
            about["help"] = about["help"].replace("{default}", str(known[name]))
    if shared := about.pop("shared", None):
        return option(shared, **about)
    flags = about.pop("flags", [f"--{name.replace('_', '-')}"])
    if name in known and "is" not in about:
        default = about.setdefault("default", known[name])
        if isinstance(default, bool):
            about["is_flag"] = True
            negative = f"no-{flags[0][2:]}"
            flags = [f"{flags[0]}/--{negative}"] if default else flags
    about = _TYPES.get(about.pop("is", ""), {}) | about | (own or {})
    if ends := about.pop("range", None):
        about["type"] = click.IntRange(*ends)
    if values := about.pop("of", None):
        about = {"default": values[0]} | about | {"type": click.Choice(values)}
    return click.option(*flags, name, **about)
