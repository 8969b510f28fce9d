"""The procedures: named operations with typed arguments, options and rows.

Three doors lead to them: the Python functions `search`, `traverse`, `compare` and
`ask` of this layer; `CALL knowtrail.*` in the managed server; and HTTP. All three walk
by the same code and return the same rows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from graph.errors import InputError
from retrieval.procedures.options import (
    Kind,
    camel_case_message,
    checked_options,
)
from retrieval.procedures.rows import (
    Row,
    ask_rows,
    compare_rows,
    search_rows,
    traverse_rows,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from graph.connection import AsyncConnection, Connection
    from graph.embedders import Embedder
    from graph.settings import Settings

__all__ = ["PROCEDURES", "Field", "Procedure", "acall", "call", "keywords"]

_LOG = logging.getLogger(__name__)
_WALK = (
    *("corpus", "max_sentences", "max_hops", "anchors", "lookahead", "beam"),
    *("filter", "preset", "reader", "model"),
)
_RECORDED = ("record", "trace")
_RERANKED = ("rerank", "rerank_candidates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An argument or a column.

    Attributes:
        name: Its name, camelCase.
        kind: Its type.
        description: What it is, in one line.
    """

    name: str
    kind: Kind
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A named operation.

    Attributes:
        name: Its name, without the namespace.
        description: What it does, in a few sentences.
        arguments: What it must be given, in order; options follow.
        options: Python names of the options that it takes, see `OPTIONS`.
        columns: Its rows.
        module: Where the Python function of its name is, and the one with an `a`
            before it that does not block. It is imported when it is called, so that
            to list procedures costs nothing.
        rows: Makes rows of what the function returns.
    """

    name: str
    description: str
    arguments: tuple[Field, ...]
    options: tuple[str, ...]
    columns: tuple[Field, ...]
    module: str
    rows: Callable[[Any], list[Row]]

    @property
    def run(self) -> Callable[..., Any]:
        """Return the Python function."""
        function: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return function

    @property
    def arun(self) -> Callable[..., Awaitable[Any]]:
        """Return the Python function that does not block."""
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


def call(
    name: str,
    connection: Connection,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    may_record: bool = True,
    on_text: Callable[[str], object] | None = None,
) -> list[Row]:
    """Run a procedure and return its rows.

    Args:
        name: Its name, such as `traverse`.
        connection: The database.
        arguments: What it must be given, by name.
        options: What it may be given, by camelCase name.
        embedder: The model of the corpus; None loads it.
        settings: Where embedder and language model are found.
        may_record: Whether walks may be stored; False wins over the option `record`.
        on_text: Given the text of `ask` as it comes, see there.

    Raises:
        InputError: If the procedure, an argument or an option is no good.
        KnowtrailError: Whatever the operation raises.
    """
    procedure = _named(name)
    asked = keywords(name, arguments, options, settings=settings, may_record=may_record)
    if on_text is not None and procedure.speaks:
        asked["on_text"] = on_text
    try:
        result = procedure.run(connection, embedder, settings=settings, **asked)
    except InputError as error:
        raise type(error)(camel_case_message(str(error))) from error
    return _told(procedure, result)


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
    try:
        result = await procedure.arun(connection, embedder, settings=settings, **asked)
    except InputError as error:
        raise type(error)(camel_case_message(str(error))) from error
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

    Args:
        name: Name of the procedure.
        arguments: What it must be given, by name.
        options: What it may be given, by camelCase name.
        settings: Where Ollama answers, if a language model is named.
        may_record: Whether walks may be stored.

    Raises:
        InputError: If a name or a type is no good.
    """
    procedure = _named(name)
    where = f"knowtrail.{name}"
    wanted = [field.name for field in procedure.arguments]
    if unknown := sorted(set(arguments) - set(wanted)):
        msg = f"No argument {unknown[0]!r}: {where} takes {', '.join(wanted)}."
        raise InputError(msg)
    for field in wanted:
        if not isinstance(arguments.get(field), str):
            shown = repr(arguments.get(field))[:80]
            msg = f"{field} is {shown}: {where} needs a text."
            raise InputError(msg)
    found = {
        **arguments,
        **checked_options(options or {}, procedure.options, where=where),
    }
    if "model" in found:
        from graph.language_models import load_language_model

        found["model"] = load_language_model(found["model"], settings=settings)
    if "rerank" in found:
        from retrieval.rerank.doors import check_open

        check_open(found["rerank"], settings)
    if procedure.records and not may_record:
        found["record"] = False
    return found


def _named(name: str) -> Procedure:
    """Return a procedure.

    Raises:
        InputError: If there is none of that name.
    """
    if (procedure := PROCEDURES.get(name)) is None:
        msg = f"No procedure {name!r}: there are {', '.join(PROCEDURES)}."
        raise InputError(msg)
    return procedure


_Spec: TypeAlias = tuple[str, Kind, str]


def _fields(*fields: _Spec) -> tuple[Field, ...]:
    """Return fields of names, types and descriptions."""
    return tuple(Field(name=n, kind=k, description=text) for n, k, text in fields)


_QUESTION: _Spec = ("question", "STRING", "what is asked")
_ALGORITHM: _Spec = ("algorithm", "STRING", "how to walk, such as auto")
_DOCUMENT: tuple[_Spec, ...] = (
    ("documentId", "STRING", "id of the Document node"),
    ("title", "STRING", "its title"),
    ("chunkId", "STRING", "id of the Chunk node"),
)
_TRAVERSAL: _Spec = (
    "traversalId",
    "STRING",
    "id of the Traversal node; null where nothing was recorded",
)
_STORES = (
    "The walk is stored after its end in a transaction of its own, not the caller's; "
    "{record: false} turns that off, and so does a session that only reads: "
    "traversalId is then null."
)

PROCEDURES: Mapping[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        Procedure(
            name="search",
            description="Rank chunks of a corpus by walking the graph for a question.",
            arguments=_fields(_QUESTION),
            options=("algorithm", "k", "granularity", *_RERANKED, *_WALK),
            columns=_fields(
                ("rank", "INTEGER", "from 1"),
                *_DOCUMENT,
                ("text", "STRING", "its sentences that no earlier row has"),
                ("score", "FLOAT", "cosine to the question"),
                ("algorithm", "STRING", "how it was found"),
            ),
            module="retrieval.search",
            rows=search_rows,
        ),
        Procedure(
            name="traverse",
            description=(
                "Walk the graph for a question: one row a sentence found, and one for "
                f"a step without a new sentence. {_STORES}"
            ),
            arguments=_fields(_ALGORITHM, _QUESTION),
            options=(*_WALK, *_RECORDED),
            columns=_fields(
                ("step", "INTEGER", "number of the step, from 0"),
                ("hop", "INTEGER", "edges followed to it"),
                *_DOCUMENT,
                ("sentenceId", "STRING", "id of the Sentence node, or null"),
                ("text", "STRING", "the sentence, or null"),
                (
                    "score",
                    "FLOAT",
                    "cosine of sentence, or else chunk, to the question",
                ),
                ("reason", "STRING", "why the walk went there"),
                _TRAVERSAL,
            ),
            module="retrieval.traverse",
            rows=traverse_rows,
        ),
        Procedure(
            name="compare",
            description=(
                "Walk the graph for a question with several algorithms: one row each. "
                f"{_STORES}"
            ),
            arguments=_fields(_QUESTION),
            options=("algorithms", *_WALK, *_RECORDED),
            columns=_fields(
                ("algorithm", "STRING", "how it walked"),
                ("sentences", "INTEGER", "sentences found"),
                ("documents", "INTEGER", "documents visited"),
                ("hops", "INTEGER", "edges followed"),
                ("stopReason", "STRING", "why it ended"),
                ("milliseconds", "FLOAT", "time of the walk"),
                _TRAVERSAL,
            ),
            module="retrieval.traverse",
            rows=compare_rows,
        ),
        Procedure(
            name="ask",
            description=(
                "Answer a question in words by the language model, from sentences "
                f"found by walking the graph. {_STORES}"
            ),
            arguments=_fields(_QUESTION),
            options=("algorithm", "seconds", *_WALK, "record"),
            columns=_fields(
                ("answer", "STRING", "the answer"),
                ("citation", "LIST<STRING>", "ids of the Sentence nodes it rests on"),
                ("confidence", "FLOAT", "what the model thinks, 0 to 1, or null"),
                _TRAVERSAL,
            ),
            module="retrieval.ask",
            rows=ask_rows,
        ),
    )
}
"""Every procedure by its name."""
