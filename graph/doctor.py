"""What a machine and a database lack for Knowtrail, said in one line each.

Nothing is started, fetched, written or repaired here.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from knowtrail.graph.errors import (
    DatabaseError,
    InstallError,
    KnowtrailError,
    ServerError,
    SettingsError,
)
from knowtrail.graph.extras import installing
from knowtrail.graph.settings import DEFAULT_NEO4J

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.server.folder import ServerInfo
    from knowtrail.graph.settings import Settings

NEEDED_BYTES = 500_000_000
COMFORTABLE_BYTES = 3_000_000_000
OLLAMA_SECONDS = 3.0
LEAST_INDEX_RECALL = 0.95
LEAST_EDGE_RECALL = 0.99
_HITS, _FETCHED = 10, 200
"""Nearest chunks that the index is to have among those that a search asks it for."""
_COMPARED = 2_000_000
"""Pairs of chunks that are compared, about, where ten chunks are not more."""
_LEAST_SAMPLED, _MOST_SAMPLED = 10, 100
_INDEX_ADVICE = (
    "Searches pass over some of the nearest chunks: make the index anew with larger "
    "settings (knowtrail schema apply --index-m 32 --index-ef 400)."
)
_EDGE_ADVICE = (
    "Walks pass over some of the nearest chunks: delete the corpus and ingest it again."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found where something was looked at, and what to do about it.

    It is a `problem` where something needed is broken; a `warning` where something is
    missing that only some commands need, or that comes by itself.
    """

    state: Literal["ok", "warning", "problem"]
    check: str
    detail: str
    advice: str = ""


_ok = partial(Finding, "ok")
_warning = partial(Finding, "warning")
_problem = partial(Finding, "problem")


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield what is found, as it is looked at, of all that commands need."""
    yield _ok("python", f"Python {platform.python_version()} at {sys.executable}")
    yield _java(managed=settings.uri is None)
    if settings.uri is None:
        yield _jars(settings)
        yield _disk(settings)
        info = _server(settings)
        yield _port(settings, info)
        if info is None:
            yield _absent_server(settings)
        else:
            settings = settings.with_server(
                uri=info.uri, username=info.username, password=info.password
            )
    if settings.uri is not None:
        yield from _database(settings)
    yield _embedder(settings)
    yield _language_model(settings)


def _java(*, managed: bool) -> Finding:
    from knowtrail.graph.server.install import find_java

    try:
        java = find_java()
    except InstallError as error:
        if managed:
            return _from_error("java", error)
        return _ok("java", "none, and none is needed: NEO4J_URI names a server")
    return _ok("java", f"Java {java.release} at {java.home}")


def _jars(settings: Settings) -> Finding:
    from knowtrail.graph.server.folder import ServerFolder
    from knowtrail.graph.server.install import check_version, installed_jars

    recorded = ServerFolder(settings.home).recorded_version()
    version = settings.neo4j_version or recorded or DEFAULT_NEO4J
    try:
        check_version(version)
    except SettingsError as error:
        return _from_error("server files", error)
    if jars := installed_jars(version):
        return _ok("server files", f"Neo4j {version} in {jars[0].parent}")
    return _warning(
        "server files",
        f"Neo4j {version} is not installed yet",
        "It comes at the first start, or with network now: knowtrail server install",
    )


def _disk(settings: Settings) -> Finding:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free at {settings.home}"
    if not place.is_dir():
        return _problem("disk", f"{place} is not a folder", "Choose another --home.")
    if free < NEEDED_BYTES:
        advice = "Free the disk, or choose another --home."
        return _problem("disk", detail, advice)
    if free < COMFORTABLE_BYTES:
        advice = "Enough for small corpora; choose another --home for large ones."
        return _warning("disk", detail, advice)
    return _ok("disk", detail)


def _port(settings: Settings, info: ServerInfo | None) -> Finding:
    from knowtrail.graph.server.dbms import DEFAULT_PORT, is_free
    from knowtrail.graph.server.folder import ServerFolder

    if info is not None:
        return _ok("port", f"the server has {info.uri}")
    if ServerFolder(settings.home).is_alive():
        return _ok("port", "the server takes one when it answers")
    if is_free(DEFAULT_PORT):
        return _ok("port", f"{DEFAULT_PORT} is free")
    return _warning(
        "port",
        f"another process has port {DEFAULT_PORT}",
        "The local server will take a free one; if a Neo4j of yours answers there, "
        "set NEO4J_URI to use it.",
    )


def _database(settings: Settings) -> Iterator[Finding]:
    from knowtrail.graph.db.connection import Connection

    try:
        with Connection.open(settings) as connection:
            able = connection.capabilities
            version = ".".join(map(str, able.version))
            yield _ok("server", f"Neo4j {version} {able.edition} at {settings.uri}")
            yield _schema(connection)
            yield from _corpora(connection, settings)
            yield from _recalls(connection)
    except (DatabaseError, SettingsError) as error:
        yield _from_error("server", error)


def _server(settings: Settings) -> ServerInfo | None:
    """Return the local server if it answers."""
    from knowtrail.graph.server.folder import server_status

    with suppress(ServerError):
        return server_status(settings.home, timeout=5)
    return None


def _absent_server(settings: Settings) -> Finding:
    from knowtrail.graph.server.folder import ServerFolder

    if ServerFolder(settings.home).is_alive():
        return _warning(
            "server",
            f"the server of {settings.home} is there and does not answer yet",
            "See knowtrail server logs; knowtrail server stop ends it.",
        )
    return _ok("server", f"none is running for {settings.home}; commands start one")


def _schema(connection: Connection) -> Finding:
    from knowtrail.graph.db.schema import SCHEMA_VERSION, schema_version, show_schema

    version = schema_version(connection)
    names: dict[str, list[str]] = {}
    for item in show_schema(connection):
        if item.ours:
            names.setdefault(item.state, []).append(item.name)
    detail = f"version {version} of {SCHEMA_VERSION}"
    if version > SCHEMA_VERSION:
        advice = "A newer Knowtrail made it: update this one."
        return _problem("schema", detail, advice)
    again = "knowtrail schema drop, then knowtrail schema apply."
    if failed := names.get("FAILED"):
        return _problem("schema", f"failed: {', '.join(failed)}", again)
    if version < SCHEMA_VERSION:
        advice = "The first ingest makes it, or now: knowtrail schema apply"
        return _warning("schema", detail, advice)
    if busy := names.get("POPULATING"):
        told = f"being built: {', '.join(busy)}"
        return _warning("schema", told, "Wait: search needs them.")
    missing = names.get("MISSING", [])
    if not missing:
        return _ok("schema", f"{detail}, all online")
    if all(name.endswith("_embedding") for name in missing):
        return _ok("schema", f"{detail}; the first ingest makes the vector indexes")
    return _problem("schema", f"missing: {', '.join(missing)}", again)


def _corpora(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """Look at whether the stored corpora have the embedder that is configured."""
    rows = connection.read("schema/embedders")
    if not rows:
        detail = "none is stored yet"
        advice = "Try knowtrail quickstart, or knowtrail ingest --help"
        yield _ok("corpora", detail, advice)
        return
    stored = sorted({row["embedder"] for row in rows})
    names = ", ".join(row["corpus"] for row in rows[:5])
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    detail = f"{names}{more}, embedded by {', '.join(stored)}"
    if stored == [settings.embedder]:
        yield _ok("corpora", detail)
        return
    yield _warning(
        "corpora",
        f"{detail}, not by {settings.embedder}",
        f"Questions and further texts need --embedder {stored[0]}",
    )


def _recalls(connection: Connection) -> Iterator[Finding]:
    """Compare a sample of each corpus with all, as index and edges have it."""
    # An index that is missing or being built has been told of.
    from knowtrail.graph.db.schema import show_schema

    states = {item.name: item.state for item in show_schema(connection)}
    if states.get("chunk_embedding") != "ONLINE":
        return
    total = connection.read("schema/chunks_counted")[0]["chunks"]
    sample = min(_MOST_SAMPLED, max(_LEAST_SAMPLED, _COMPARED // max(total, 1)))
    for corpus in [row["corpus"] for row in connection.read("schema/embedders")][:5]:
        (stored,) = connection.read("ingest/corpus_read", name=corpus)
        (row,) = connection.read(
            "schema/sample_recall",
            corpus=corpus,
            sample=sample,
            fetch=_FETCHED,
            hits=_HITS,
            top=stored["properties"].get("interTopX", 0),
        )
        for check, known, least, advice in (
            ("vector index", "near", LEAST_INDEX_RECALL, _INDEX_ADVICE),
            ("similar chunks", "edges", LEAST_EDGE_RECALL, _EDGE_ADVICE),
        ):
            if not row[known]:
                continue
            share = row[f"{known}Found"] / row[known]
            poor = share < least
            found = f"{share:.1%} of the nearest are found"
            detail = f"{found}, by {row['sample']} chunks of {corpus}"
            yield _warning(check, detail, advice) if poor else _ok(check, detail)


def _embedder(settings: Settings) -> Finding:
    provider, _, model = settings.embedder.partition(":")
    if model and provider == "hash":
        return _ok("embedder", "hashed words, no model")
    if model and provider == "ollama":
        return _ollama_model("embedder", model, settings, needed_for="everything")
    if model and provider not in {"sentence-transformers", "static", "bf16"}:
        return _problem(
            "embedder",
            f"unknown provider {provider!r} in {settings.embedder!r}",
            "Name a sentence-transformers model, or ollama:MODEL.",
        )
    return _local_embedder(model or settings.embedder)


def _local_embedder(name: str) -> Finding:
    from knowtrail.graph.models.model_files import local_model

    if importlib.util.find_spec("sentence_transformers") is None:
        return _problem(
            "embedder",
            "the Python package sentence-transformers is not installed",
            f"Install Knowtrail again: {installing('knowtrail')}",
        )
    if place := local_model(name):
        folder = place if Path(place).is_dir() else str(Path(place).parent)
        return _ok("embedder", f"{name} at {folder}")
    return _warning(
        "embedder",
        f"{name} is not on this machine",
        "The first use fetches it and needs the network; or give a folder.",
    )


def _language_model(settings: Settings) -> Finding:
    """Look for the language model; of a provider's only package and key are free."""
    from knowtrail.graph.models.language_models import load_language_model
    from knowtrail.graph.models.providers import provider_of

    check = "language model"
    try:
        provider, model = provider_of(settings.language_model)
        if provider is not None:
            name = load_language_model(settings=settings).name
            return _ok(check, f"{name}, its key is set (not tried)")
    except KnowtrailError as error:
        return replace(_from_error(check, error), state="warning")
    return _ollama_model(
        check,
        model,
        settings,
        needed_for="extract, dataset generate, llm_guided_traversal and --themes llm, "
        "and for answers of ask in words: without it ask shows the sentences nearest "
        "to the question",
    )


def _ollama_model(
    check: str, model: str, settings: Settings, *, needed_for: str
) -> Finding:
    names = _ollama_models(settings.ollama_url)
    if names is None:
        detail = f"Ollama does not answer at {settings.ollama_url}"
        advice = "start it with ollama serve, or set KNOWTRAIL_OLLAMA_URL."
    elif model in names or f"{model}:latest" in names:
        return _ok(check, f"{model} in Ollama")
    else:
        detail = f"Ollama at {settings.ollama_url} has no {model}"
        advice = f"ollama pull {model}"
    lacking = _problem if needed_for == "everything" else _warning
    return lacking(check, detail, f"Needed for {needed_for}: {advice}")


def _ollama_models(url: str) -> set[str] | None:
    import httpx

    try:
        answer = httpx.get(f"{url.rstrip('/')}/api/tags", timeout=OLLAMA_SECONDS)
        answer.raise_for_status()
        models: list[dict[str, Any]] = answer.json()["models"]
        return {model["name"] for model in models}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return None


def _from_error(check: str, error: KnowtrailError) -> Finding:
    """Turn an error, whose message says what to do, into a finding."""
    detail, _, advice = str(error).rpartition(": ")
    if not detail:
        detail, advice = advice, ""
    return _problem(check, detail, advice[:1].upper() + advice[1:])
