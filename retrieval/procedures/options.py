"""Options of procedures: one table, camelCase in Cypher and HTTP, snake_case in Python.

Values are checked for their type here; ranges and names are checked where they mean
something, such as in `retrieval.questions`.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "OPTIONS",
    "Kind",
    "Option",
    "camel_case",
    "camel_case_message",
    "checked_options",
    "options_from_text",
]

Kind: TypeAlias = Literal[
    "STRING", "INTEGER", "FLOAT", "BOOLEAN", "MAP", "LIST<STRING>"
]
"""Types as Cypher names them."""


LONGEST_NAME = 500
"""Characters of an option's text; all of them are names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a procedure.

    Attributes:
        name: Its name in Python.
        kind: Its type.
        description: What it is for, in one line.
    """

    name: str
    kind: Kind
    description: str

    @property
    def public_name(self) -> str:
        """Return its name in Cypher and HTTP."""
        return camel_case(self.name)


def camel_case(name: str) -> str:
    """Return a Python name as Cypher and HTTP have it."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


_TABLE = (
    ("corpus", "STRING", "corpus to ask; needed where there are several"),
    ("algorithm", "STRING", "how to walk, auto by default"),
    ("algorithms", "LIST<STRING>", "how to walk, each once; all by default"),
    ("k", "INTEGER", "results wanted, in place of maxSentences"),
    ("granularity", "STRING", "whether a result is a chunk or a sentence"),
    ("rerank", "STRING", "reranker that orders the results, such as bm25"),
    ("rerank_candidates", "INTEGER", "results it chooses from, 50 by default"),
    ("max_sentences", "INTEGER", "sentences wanted, 10 by default"),
    ("max_hops", "INTEGER", "edges that may be followed, 20 by default"),
    ("anchors", "INTEGER", "chunks to start from, 1 to 20"),
    ("lookahead", "INTEGER", "further steps looked at before one is taken, 0 to 3"),
    ("beam", "INTEGER", "paths kept while looking ahead, 1 to 10"),
    ("filter", "MAP", "what chunks must pass at every hop"),
    ("preset", "STRING", "published: walk by the rules of the published code"),
    ("reader", "STRING", "auto, cypher or snapshot: where walks read"),
    ("model", "STRING", "language model, as Ollama calls it"),
    ("seconds", "FLOAT", "time that the language model has for its answer"),
    ("record", "BOOLEAN", "whether walks are stored, true by default"),
    ("trace", "BOOLEAN", "whether every chunk considered is stored too"),
)
OPTIONS: Mapping[str, Option] = {
    name: Option(name=name, kind=kind, description=text)  # type: ignore[arg-type]
    for name, kind, text in _TABLE
}
"""Every option by its Python name."""


def camel_case_message(text: str) -> str:
    """Return an error message that names options as its reader wrote them."""
    for name in OPTIONS:
        if "_" in name:
            text = re.sub(rf"\b{name}\b", camel_case(name), text)
    return text


def checked_options(
    given: Mapping[str, Any], allowed: Iterable[str], *, where: str
) -> dict[str, Any]:
    """Return options under their Python names, checked for name and type.

    Args:
        given: Values by camelCase name; None is "not given".
        allowed: Python names of the options that are taken.
        where: What takes them, for messages.

    Raises:
        InputError: For an unknown option or a value of another type.
    """
    known = {OPTIONS[name].public_name: OPTIONS[name] for name in allowed}
    found = {}
    for name, value in given.items():
        if name not in known:
            raise InputError(_unknown(str(name), list(known), where))
        if value is not None:
            found[known[name].name] = _typed(known[name], value)
    return found


def options_from_text(given: Mapping[str, str]) -> dict[str, Any]:
    """Return options that came as text, such as in an address, with their types.

    Lists are separated by commas, maps are JSON. An unknown name is passed on, for
    `checked_options` to refuse.

    Args:
        given: Texts by camelCase name.

    Raises:
        InputError: If a text cannot be read as its type.
    """
    kinds = {option.public_name: option.kind for option in OPTIONS.values()}
    found: dict[str, Any] = {}
    for name, text in given.items():
        kind = kinds.get(name, "STRING")
        try:
            found[name] = _READERS[kind](text)
        except (ValueError, KeyError, RecursionError) as error:
            msg = f"{name} is {text[:80]!r}: give {_WANTED[kind]}."
            raise InputError(msg) from error
    return found


_READERS: Mapping[Kind, Callable[[str], Any]] = {
    "STRING": str,
    "INTEGER": int,
    "FLOAT": float,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text.lower()],
    "MAP": json.loads,
    "LIST<STRING>": lambda text: [part.strip() for part in text.split(",")],
}
_WANTED: Mapping[Kind, str] = {
    "STRING": "a text",
    "INTEGER": "a whole number",
    "FLOAT": "a number",
    "BOOLEAN": "true or false",
    "MAP": "a map",
    "LIST<STRING>": "a list of texts",
}


def _typed(option: Option, value: object) -> object:
    """Return a value of an option's type; JavaScript's whole floats are integers.

    Raises:
        InputError: If it has another type.
    """
    if option.kind == "INTEGER" and isinstance(value, float) and value.is_integer():
        return int(value)
    good = {
        "STRING": isinstance(value, str),
        "INTEGER": isinstance(value, int) and not isinstance(value, bool),
        "FLOAT": isinstance(value, int | float) and not isinstance(value, bool),
        "BOOLEAN": isinstance(value, bool),
        "MAP": isinstance(value, dict),
        "LIST<STRING>": isinstance(value, list)
        and all(isinstance(part, str) for part in value),
    }
    if good[option.kind]:
        _check_length(option, value)
        return value
    msg = f"{option.public_name} is {str(value)[:80]!r}: give {_WANTED[option.kind]}."
    raise InputError(msg)


def _check_length(option: Option, value: object) -> None:
    """Refuse a name that can be none: messages and models' servers would get it whole.

    Raises:
        InputError: If a text, or one of a list, is too long.
    """
    texts = value if isinstance(value, list) else [value]
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if longest > LONGEST_NAME:
        msg = (
            f"{option.public_name} has {longest} characters: give at most "
            f"{LONGEST_NAME}."
        )
        raise InputError(msg)


def _unknown(name: str, known: list[str], where: str) -> str:
    """Say that there is no such option, and which there are."""
    near = difflib.get_close_matches(camel_case(name), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"No option {name[:80]!r}: {hint}{where} takes {', '.join(known)}."
