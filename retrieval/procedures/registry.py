"""The procedures: named operations with typed arguments, options and rows.

Three doors lead to them: the Python functions `search`, `traverse`, `compare` and
`ask` of this layer; `CALL knowtrail.*` in the managed server; and HTTP. All three walk
by the same code and return the same rows.

Options are camelCase in Cypher and HTTP, snake_case in Python. Values are checked for
their type here; ranges and names are checked where they mean something, such as in
`knowtrail.retrieval.questions`.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack

from knowtrail.graph.blocking import at_once, blocking
from knowtrail.graph.cli.rows import shown_value
from knowtrail.graph.errors import InputError, near_name
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.telemetry import span
from knowtrail.ingest.keys import camel_case, camel_cased
from knowtrail.retrieval.budgets import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.ask import Answer
    from knowtrail.retrieval.search import SearchResult
    from knowtrail.retrieval.traverse import TraverseResult

Kind: TypeAlias = Literal[
    "STRING", "INTEGER", "FLOAT", "BOOLEAN", "MAP", "LIST<STRING>", "LIST<FLOAT>"
]
"""Types as Cypher names them."""


LONGEST_NAME = 500
"""Characters of an option's text; all of them are names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An argument, an option or a column, by its camelCase name."""

    name: str
    kind: Kind
    description: str


_TEXTS: dict[str, Any] = packaged(__package__, "procedures.toml")


def _field(name: str, kind: Kind, description: str) -> Field:
    return Field(name=camel_case(name), kind=kind, description=description)


OPTIONS: Mapping[str, Field] = {
    **{name: _field(name, *told) for name, told in _TEXTS["options"].items()},
    **{
        name: _field(name, "INTEGER", f"{one.meaning}, {one.default} by default")
        for name, one in BUDGETS.items()
    },
}
"""Every option by its Python name."""


@contextmanager
def camel_case_errors() -> Iterator[None]:
    """Let an `InputError` of the block name options as its reader wrote them."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for name in OPTIONS:
            if "_" in name:
                text = re.sub(rf"\b{name}\b", camel_case(name), text)
        raise type(error)(text) from error


def _checked_options(
    given: Mapping[str, Any], allowed: Iterable[str], *, where: str
) -> dict[str, Any]:
    """Return options under their Python names, checked for name and type."""
    known = {OPTIONS[name].name: name for name in allowed}
    found = {}
    for name, value in given.items():
        if name not in known:
            hint = near_name(camel_case(str(name)), known, "did you mean {!r}? ")
            told = f"{hint}{where} takes {', '.join(known)}."
            raise InputError(f"No option {str(name)[:80]!r}: {told}")
        if value is not None:
            found[known[name]] = _typed(OPTIONS[known[name]], value)
    return found


def options_from_text(given: Mapping[str, str]) -> dict[str, Any]:
    """Return options that came as text, such as in an address, with their types.

    Lists are separated by commas, maps are JSON. An unknown name is passed on, for
    `_checked_options` to refuse.
    """
    kinds = {option.name: option.kind for option in OPTIONS.values()}
    found: dict[str, Any] = {}
    for name, text in given.items():
        kind = kinds.get(name, "STRING")
        try:
            found[name] = _KINDS[kind].read(text)
        except (ValueError, KeyError, RecursionError) as error:
            msg = f"{name} is {text[:80]!r}: give {_KINDS[kind].wanted}."
            raise InputError(msg) from error
    return found


class _Checks(NamedTuple):
    """How a kind is read from text, what it is called, and whether a value is one."""

    read: Callable[[str], Any]
    wanted: str
    fits: Callable[[Any], bool]


_KINDS: Mapping[Kind, _Checks] = {
    "STRING": _Checks(str, "a text", lambda v: isinstance(v, str)),
    "INTEGER": _Checks(int, "a whole number", lambda v: type(v) is int),
    "FLOAT": _Checks(float, "a number", lambda v: type(v) in (int, float)),
    "BOOLEAN": _Checks(
        lambda text: {"true": True, "false": False}[text.lower()],
        "true or false",
        lambda v: isinstance(v, bool),
    ),
    "MAP": _Checks(json.loads, "a map", lambda v: isinstance(v, dict)),
    "LIST<STRING>": _Checks(
        lambda text: [part.strip() for part in text.split(",")],
        "a list of texts",
        lambda v: isinstance(v, list) and all(isinstance(part, str) for part in v),
    ),
}


def _typed(option: Field, value: object) -> object:
    """Return a value of an option's type; JavaScript's whole floats are integers."""
    if option.kind == "INTEGER" and isinstance(value, float) and value.is_integer():
        return int(value)
    kind = _KINDS[option.kind]
    if not kind.fits(value):
        raise InputError(f"{option.name} is {shown_value(value)}: give {kind.wanted}.")
    # A longer text is no name: messages and servers would get it whole.
    texts = value if isinstance(value, list) else [value]
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    if longest > LONGEST_NAME:
        raise InputError(
            f"{option.name} has {longest} characters: give at most {LONGEST_NAME}."
        )
    return value


Row: TypeAlias = dict[str, Any]
"""Column -> value: texts, numbers, None, lists of texts and of numbers."""


def _search_rows(result: SearchResult) -> list[Row]:
    return [
        {
            "rank": rank,
            "documentId": hit.chunk.document_id,
            "title": hit.chunk.title,
            "chunkId": hit.chunk.id,
            "text": hit.text,
            "score": hit.score,
            "algorithm": result.walk.algorithm,
        }
        for rank, hit in enumerate(result.hits, start=1)
    ]


def _traverse_rows(result: TraverseResult) -> list[Row]:
    """Return one row a sentence; a step without a new one has a row without it."""
    return [
        {
            "step": step.index,
            "hop": step.hop,
            "documentId": step.chunk.document_id,
            "title": step.chunk.title,
            "chunkId": step.chunk.id,
            "sentenceId": None if sentence is None else sentence.id,
            "text": None if sentence is None else sentence.text,
            "score": step.score if sentence is None else sentence.score,
            "reason": step.reason,
            "traversalId": result.traversal_id,
        }
        for step in result.walk.steps
        for sentence in (step.sentences or (None,))
    ]


def _compare_rows(results: tuple[TraverseResult, ...]) -> list[Row]:
    return [
        {
            "algorithm": result.walk.algorithm,
            "sentences": len(result.walk.sentences),
            "documents": len({s.chunk.document_id for s in result.walk.steps}),
            **camel_cased(result.walk, "hops", "stop_reason", "milliseconds"),
            "traversalId": result.traversal_id,
        }
        for result in results
    ]


def _ask_rows(answer: Answer) -> list[Row]:
    return [
        {
            "answer": answer.text,
            "citation": [sentence.id for sentence in answer.citations],
            "confidence": answer.confidence,
            "traversalId": answer.traversal_id,
        }
    ]


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A named operation: what it must and may be given, and its rows.

    `module` has the Python function of its name, and the one with an `a` before it that
    does not block. `rows` makes rows of what the function returns.
    """

    name: str
    description: str
    arguments: tuple[Field, ...]
    options: tuple[str, ...]
    columns: tuple[Field, ...]
    module: str
    rows: Callable[[Any], list[Row]]

    @property
    def arun(self) -> Callable[..., Awaitable[Any]]:
        """Return the Python function that does not block, imported when asked for."""
        function: Callable[..., Awaitable[Any]] = getattr(
            import_module(self.module), f"a{self.name}"
        )
        return function

    @property
    def speaks(self) -> bool:
        """Return whether it answers in words, which come one by one."""
        return "seconds" in self.options

    @property
    def records(self) -> bool:
        """Return whether it stores walks unless told otherwise."""
        return "record" in self.options


class CallSettings(TypedDict, total=False):
    """What else a call is given.

    Where walks may not be stored, that wins over the option `record`. `on_text` is
    given the text of `ask` as it comes.
    """

    embedder: Embedder | None
    settings: Settings | None
    may_record: bool
    on_text: Callable[[str], object] | None


def call(
    name: str,
    connection: Connection,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    **asked: Unpack[CallSettings],
) -> list[Row]:
    """Run a procedure and return its rows.

    Arguments and options have camelCase names. Raises `InputError` if the procedure, an
    argument or an option is no good.
    """
    return at_once(acall(name, blocking(connection), arguments, options, **asked))


async def acall(
    name: str,
    connection: AsyncConnection,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    may_record: bool = True,
    on_text: Callable[[str], object] | None = None,
) -> list[Row]:
    """Do as `call` does, without blocking; see there."""
    procedure = _named(name)
    asked = keywords(name, arguments, options, settings=settings, may_record=may_record)
    if on_text is not None and procedure.speaks:
        asked["on_text"] = on_text
    with camel_case_errors(), span("procedure", procedure=name):
        result = await procedure.arun(
            connection, embedder=embedder, settings=settings, **asked
        )
    return _told(procedure, result)


def _told(procedure: Procedure, result: Any) -> list[Row]:
    """Return the rows of a result; what rows cannot tell is logged."""
    for part in result if isinstance(result, tuple) else (result,):
        for said in (getattr(part, "warning", ""), getattr(part, "error", "")):
            if said:
                _LOG.warning("knowtrail.%s: %s", procedure.name, said)
    return procedure.rows(result)


def keywords(
    name: str,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    settings: Settings | None = None,
    may_record: bool = True,
) -> dict[str, Any]:
    """Return what a procedure's Python function is called with, checked for types.

    Arguments and options have camelCase names. See `call`.
    """
    procedure = _named(name)
    where = f"knowtrail.{name}"
    wanted = [field.name for field in procedure.arguments]
    if unknown := sorted(set(arguments) - set(wanted)):
        msg = f"No argument {unknown[0]!r}: {where} takes {', '.join(wanted)}."
        raise InputError(msg)
    for field in wanted:
        if not isinstance(arguments.get(field), str):
            shown = shown_value(arguments.get(field))
            raise InputError(f"{field} is {shown}: {where} needs a text.")
    found = {
        **arguments,
        **_checked_options(options or {}, procedure.options, where=where),
    }
    if "model" in found:
        found["model"] = _open_model(found["model"], settings)
    if "rerank" in found:
        from knowtrail.retrieval.rerank.stage import check_open

        check_open(found["rerank"], settings)
    if procedure.records and not may_record:
        found["record"] = False
    return found


def _open_model(name: str, settings: Settings | None) -> LanguageModel:
    """Return a language model that a caller may name: one that costs nothing."""
    from knowtrail.graph.models.language_models import load_language_model
    from knowtrail.graph.models.providers import provider_of

    own = None if settings is None else settings.language_model
    if provider_of(name)[0] is not None and name != own:
        raise InputError(
            f"model is {name[:80]!r}: only the server's settings can name a "
            "provider's model (KNOWTRAIL_LANGUAGE_MODEL)."
        )
    return load_language_model(name, settings=settings)


def _named(name: str) -> Procedure:
    if (procedure := PROCEDURES.get(name)) is None:
        raise InputError(f"No procedure {name!r}: there are {', '.join(PROCEDURES)}.")
    return procedure


_ROWS: Mapping[str, Callable[[Any], list[Row]]] = {
    "search": _search_rows,
    "traverse": _traverse_rows,
    "compare": _compare_rows,
    "ask": _ask_rows,
    "embed": list,
}


def _procedure(name: str, told: Mapping[str, Any]) -> Procedure:
    """Return a procedure as the file tells of it."""

    def fields(names: Iterable[str]) -> tuple[Field, ...]:
        own = _TEXTS["fields"] | told.get("fields", {})
        return tuple(_field(one, *own[one]) for one in names)

    listed = [_TEXTS["lists"].get(one, [one]) for one in told["options"]]
    return Procedure(
        name=name,
        description=told["description"].format(stores=_TEXTS["stores"]),
        arguments=fields(told["arguments"]),
        options=tuple(chain(*listed)),
        columns=fields(told["columns"]),
        module=told["module"],
        rows=_ROWS[name],
    )


PROCEDURES: Mapping[str, Procedure] = {
    name: _procedure(name, told) for name, told in _TEXTS["procedures"].items()
}
"""Every procedure by its name."""

EMBED = _procedure("embed", _TEXTS["embed"])
"""Of the managed server alone: it is behind no other door."""
