"""The stored corpora, and what a question must agree on with the one it is put to."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.blocking import in_thread, likewise, waiting
from knowtrail.graph.errors import (
    CorpusDriftError,
    InputError,
    UnknownCorpusError,
    VectorError,
    near_name,
)
from knowtrail.graph.models.embedders import (
    embed_texts,
    embedder_name,
    named_embedder,
    query_prompt,
)
from knowtrail.graph.models.served import aserved_queries
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.graph.telemetry import span
from knowtrail.ingest.corpus import asked_corpora, some_of, textless

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from knowtrail.graph.db.connection import AsyncConnection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.protocols import Vector

_LANGCHAIN = "langchain_core."
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusInfo:
    """A stored corpus, as far as a question must agree with it.

    The dimensions are None before the first ingest is complete; the version counts
    committed changes; the stamp tells it from another corpus of the same name; `auto`
    follows its terms, if it has any; `complete` means that no ingest is at work on it;
    the vector index can be filtered by what is in `filters`, such as `document.year`.
    """

    name: str
    embedder: str | None
    query_prompt: str
    dimensions: int | None
    version: int = 0
    stamp: str | None = None
    terms: bool = True
    complete: bool = False
    filters: Sequence[str] = ()

    @property
    def state(self) -> Hashable:
        """Return what tells it, as it is now, from others; None where nothing does."""
        known = self.complete and self.version and self.stamp is not None
        return (self.name, self.stamp, self.version) if known else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """Where walks start from: a corpus, and a question's vector by its embedder."""

    corpus: CorpusInfo
    query: Vector


async def aground(
    connection: AsyncConnection,
    embedder: Embedder | None,
    question: str,
    *,
    corpus: str | None = None,
    settings: Settings | None = None,
    vector: Sequence[float] | None = None,
) -> Ground:
    """Find the corpus of a question and embed the question for it, once.

    Without an embedder the one of the settings is loaded, or else the one that the
    corpus names, once a process; where the managed server has that model loaded, it is
    asked. Where a vector is given, nothing is embedded. An embedder is loaded in a
    thread of `in_thread`, and one without an `aembed_query` of its own runs in one.
    Raises what `find_corpus` and `agreed_embedder` raise.
    """
    info = await afind_corpus(connection, corpus)
    if vector is None:
        with span("embed", corpus=info.name, model=info.embedder):
            agreed = await in_thread(
                connection, agreed_embedder, info, embedder, settings
            )
            embed = partial(in_thread, connection, agreed.embed_query)
            native = getattr(agreed, "aembed_query", None)
            # That of LangChain's base class takes one of the threads of other work.
            if not getattr(native, "__module__", _LANGCHAIN).startswith(_LANGCHAIN):
                asked: Any = likewise(connection, agreed)
                embed = asked.aembed_query
            found = await aserved_queries(connection, agreed, [question])
            vector = found[0] if found else await embed(question)
    return Ground(corpus=info, query=question_vector(vector, info))


ground = waiting(aground)


async def aembedded(
    connection: AsyncConnection,
    embedder: Embedder | None,
    questions: Sequence[str],
    *,
    corpus: str | None = None,
    settings: Settings | None = None,
) -> list[Sequence[float]]:
    """Return vectors of questions by the embedder of their corpus, made together.

    None of several where the embedder makes one after the other. Raises what `aground`
    raises.
    """
    info = await afind_corpus(connection, corpus)
    with span("embed", corpus=info.name, model=info.embedder):
        agreed = await in_thread(connection, agreed_embedder, info, embedder, settings)
        found = await aserved_queries(connection, agreed, questions)
        if found or (len(questions) > 1 and not hasattr(agreed, "embed_array")):
            return list(found or ())
        return await in_thread(connection, embed_questions, agreed, questions)


def embed_questions(
    embedder: Embedder, questions: Sequence[str]
) -> list[Sequence[float]]:
    """Return the vectors of several questions, made together where that is faster."""
    if not hasattr(embedder, "embed_array"):
        return [embedder.embed_query(text) for text in questions]
    prompt = query_prompt(embedder)
    return list(embed_texts(embedder, [prompt + text for text in questions]))


async def acorpora(connection: AsyncConnection) -> list[CorpusInfo]:
    """Return every stored corpus, by name."""
    return [CorpusInfo(**row) for row in await connection.aread("retrieval/corpora")]


corpora = waiting(acorpora)


async def afind_corpus(connection: AsyncConnection, name: str | None) -> CorpusInfo:
    """Return the stored corpus of a name, or the only one; see `pick_corpus`.

    Raises `UnknownCorpusError` too where it has no texts.
    """
    try:
        return pick_corpus(await acorpora(connection), name)
    except UnknownCorpusError as error:
        if name is not None:
            rows = await connection.aread("corpus/has_custodians", name=name)
            if rows[0]["found"]:
                raise UnknownCorpusError(textless(name)) from error
        raise


find_corpus = waiting(afind_corpus)


def pick_corpus(stored: Sequence[CorpusInfo], name: str | None) -> CorpusInfo:
    """Return the corpus of a name, or the only one but for those of evaluations.

    Raises:
        UnknownCorpusError: If there is none of that name, or none at all.
        InputError: If none is named and there are several.
    """
    names = [info.name for info in stored]
    asked = asked_corpora(names)
    if not stored:
        msg = "The database has no corpus: put one in with knowtrail ingest."
        raise UnknownCorpusError(msg)
    if name is None:
        if len(asked) == 1:
            return stored[names.index(asked[0])]
        held = "are several corpora" if asked else "is no corpus but of evaluations"
        msg = f"There {held}: name one of {', '.join(asked or names)} (--corpus)."
        raise InputError(msg)
    for info in stored:
        if info.name == name:
            return info
    shown = name[:80]
    hint = near_name(shown, names, "did you mean {!r}? Stored", "stored", cutoff=0.55)
    msg = f"No corpus {shown!r}: {hint} are {some_of(names, 10)}."
    raise UnknownCorpusError(msg)


@lru_cache(maxsize=4)
def _load(name: str, settings: Settings | None) -> Embedder:
    return named_embedder(name, settings=settings)


def loaded_embedder(name: str, settings: Settings | None) -> Embedder:
    """Load an embedder once a process, also when several threads want it at once."""
    with _LOADING:
        return _load(name, settings)


def agreed_embedder(
    info: CorpusInfo, embedder: Embedder | None, settings: Settings | None
) -> Embedder:
    """Return the embedder of a corpus; raise `CorpusDriftError` if it is another one.

    Where none is given, that of the settings is taken if the corpus was made with it,
    and if the settings leave it open the one that the corpus names.
    """
    if embedder is None:
        chosen = DEFAULT_EMBEDDER if settings is None else settings.embedder
        embedder = loaded_embedder(chosen, settings)
        stored = info.embedder or embedder_name(embedder)
        if chosen == DEFAULT_EMBEDDER and stored != embedder_name(embedder):
            return loaded_embedder(stored, settings)
    name = embedder_name(embedder)
    if info.embedder is not None and info.embedder != name:
        raise CorpusDriftError(
            f"Corpus {info.name!r} was embedded with {info.embedder!r}, the question "
            f"would be with {name!r}: use the corpus's embedder."
        )
    if info.embedder is not None and info.query_prompt != query_prompt(embedder):
        raise CorpusDriftError(
            f"Corpus {info.name!r} is asked with the query prompt "
            f"{info.query_prompt!r}, this embedder has {query_prompt(embedder)!r}: "
            "use the same."
        )
    return embedder


def question_vector(values: Sequence[float], info: CorpusInfo) -> Vector:
    """Return a question's vector, checked.

    Raises `VectorError` if it is not finite or zero, `CorpusDriftError` if its length
    is not that of the corpus's vectors.
    """
    vector: Vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
        msg = "The embedder gave no usable vector for the question: check the model."
        raise VectorError(msg)
    if info.dimensions is not None and len(vector) != info.dimensions:
        raise CorpusDriftError(
            f"The question's vector has {len(vector)} dimensions, corpus "
            f"{info.name!r} has {info.dimensions}: use the corpus's embedder."
        )
    return vector
