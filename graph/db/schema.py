"""The database's schema: named constraints and indexes, versioned.

Schema commands come from the table of labels and from `cypher/schema/`, and run any
number of times. The version is a node, `(:SchemaVersion {id, version})`; a newer
version of Knowtrail migrates an older database step by step, an older one refuses a
newer database.

A vector index has one dimension, so all corpora of a database share one embedder.
"""

from __future__ import annotations

import itertools
import logging
import math
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.driver import translate_errors
from knowtrail.graph.db.labels import (
    BARE_FIELDS,
    COPIED,
    LABELS,
    MOST_INDEXED,
    PROPERTY,
)
from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.graph.errors import (
    CorpusDriftError,
    DatabaseError,
    InputError,
    SchemaError,
    SettingsError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection

_LOG = logging.getLogger(__name__)
_SHORT_WAIT = 5.0
_UNTOLD_WAIT = 1.0
_TRIES = 8
_MADE_BESIDE = re.compile(r"EquivalentSchemaRuleAlreadyExists$")

_BY_VALUE = [
    (since, name, command)
    for label, rule in LABELS.items()
    for since, name, command in rule.schema(label)
]
"""Schema version, name and command of each constraint and of each index of values."""
_FULLTEXT = ("chunk_text", "document_title")
_VECTOR = ("chunk",)
"""What the product searches by vectors."""
ON_REQUEST = {"sentences": "sentence", "themes": "theme"}
"""Vector indexes that no statement of the product needs, as people ask for them."""
_CONSTRAINTS = tuple(n for _, n, text in _BY_VALUE if text.startswith("CREATE CON"))
_INDEXES = (
    *_FULLTEXT,
    *(name for _, name, _ in _BY_VALUE if name not in _CONSTRAINTS),
    *(f"{name}_embedding" for name in _VECTOR),
)
_OURS = (*_INDEXES, *(f"{name}_embedding" for name in ON_REQUEST.values()))
_FILTERED = re.compile(rf"(document|chunk)\.({PROPERTY})")
"""A property that filters name, and an index of its values is made for."""
_NEVER = frozenset({
    "aliases", "corpus", "corpusVersion", "embedding", "text", "themeEmbedding",
    "themeLost",
})  # fmt: skip
"""What is too long for that, or changes without the chunks."""
_FILTER_INDEX = re.compile(rf"filter_(document|chunk)_({PROPERTY})")
_MOVED = ((10, "schema/identifies"), (12, "schema/title_keys"))
"""Schema version and statement of what was stored otherwise before."""
SCHEMA_VERSION = max([*(row[0] for row in _BY_VALUE), *(row[0] for row in _MOVED)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A constraint or index, `ONLINE`, `POPULATING`, `FAILED` or `MISSING`."""

    name: str
    kind: str
    on: str
    state: str
    ours: bool


def schema_version(connection: Connection) -> int:
    """Return the schema version of the database, 0 where there is none."""
    rows = connection.read("schema/version_read")
    return int(rows[0]["version"]) if rows else 0


def apply_schema(
    connection: Connection,
    *,
    dimensions: int | None = None,
    also: Sequence[str] = (),
    hnsw: Mapping[str, int] | None = None,
    filters: Sequence[str] = (),
    whole: bool = False,
    progress: Progress = silent,
) -> int:
    """Bring the database's schema to this version; return the one found before.

    Running twice changes nothing. Nodes are found by indexes of whole values: these are
    waited for. Indexes of texts and of vectors, which searches use and writes do not,
    may be built for long where there is much: they get a few seconds, and go on being
    built after that, while `whole` waits until they are there. Without
    `dimensions` the vector indexes are left alone; `also` names those of `ON_REQUEST`
    that are made besides that of chunks. `hnsw` has settings of the vector index of
    chunks, `m` and `ef_construction`; one that was made with others is made anew. What
    passes a filter is found by an index where its property is among `filters`, told as
    `filter_property` takes it. The vector index of a server that can filter inside
    it has them too, and is made anew if it had not: chunks get copies of what their
    documents have, `document_NAME`.

    Raises:
        InputError: If one of `filters` is no property.
        SchemaError: If the database was made by a newer Knowtrail, or an index that is
            needed cannot be built.
        CorpusDriftError: If the vector indexes have another dimension.
        SettingsError: If the dimension is out of range.
    """
    asked = [*map(filter_property, filters)]
    found = schema_version(connection)
    if found > SCHEMA_VERSION:
        raise SchemaError(
            f"The database has schema version {found}, this Knowtrail knows "
            f"{SCHEMA_VERSION}: update Knowtrail."
        )
    for version, commands in migrations(found):
        _LOG.info("Migrating the schema to version %s", version)
        for command in commands:
            _make(connection, command)
    if found < SCHEMA_VERSION:
        connection.write("schema/version_write", version=SCHEMA_VERSION)
    declared = _declared(connection, asked, progress)
    if (also or hnsw or declared) and dimensions is None:
        dimensions = vector_dimensions(connection)
    if dimensions is not None:
        _apply_vector_indexes(
            connection, dimensions, also, hnsw or {}, filtered=bool(declared)
        )
    elif also or hnsw:
        msg = "No vectors are stored yet: give their length with --dimensions."
        raise SettingsError(msg)
    if declared:  # changes meanwhile wrote their own
        connection.write("schema/filters_settle", names=declared)
    _await_indexes(connection, math.inf if whole else _SHORT_WAIT, progress)
    return found


def filter_property(name: str) -> str:
    """Return a property as `document.NAME` or `chunk.NAME`.

    Without an owner it is what filters mean by it, else a document's.

    Raises:
        InputError: If there can be none of that name, or it needs no declaration.
    """
    whole = BARE_FIELDS.get(name, name if "." in name else f"document.{name}")
    given = _FILTERED.fullmatch(whole)
    if given is None or given[2] in _NEVER or name in {"category", "theme"}:
        told = "no property to filter by" if given else "no property"
        msg = f"{name[:80]!r} is {told}: give one of documents, or chunk.NAME."
        raise InputError(msg)
    return whole


def _declared(
    connection: Connection, asked: Sequence[str], progress: Progress
) -> list[str]:
    """Make indexes for filters, and the copies that the vector index needs of them."""
    if not asked:
        return []
    for name in asked:
        owner, _, prop = name.partition(".")
        made = f"CREATE INDEX `filter_{owner}_{prop}` IF NOT EXISTS "
        made += f"FOR (n:{owner.capitalize()}) ON (n.corpus, n.`{prop}`)"
        _make(connection, made)
    _await_indexes(connection, 0.0, progress, asked)
    able = connection.capabilities.filtered_vector_index
    names = filter_properties(connection) if able else []
    if names:
        connection.write("schema/filters_begin", names=names)
        connection.run_schema(statement("schema/filter_copies"))
    return names


def _is_ours(index: str) -> bool:
    return index in _OURS or _filter_of(index) is not None


def _make(connection: Connection, command: str, **params: Any) -> None:
    """Make what is not there; again where others were making it at the same time."""
    for rest in range(_TRIES, 0, -1):
        try:
            connection.run_schema(command, **params)
        except DatabaseError as error:
            code = getattr(error.__cause__, "code", None) or ""
            if rest == 1 or not _MADE_BESIDE.search(code):
                raise
        else:
            return


def _await_indexes(
    connection: Connection,
    others: float,
    progress: Progress,
    asked: Collection[str] = (),
) -> None:
    """Wait until nodes can be found by our indexes, and a while for the others.

    Those of filters that are `asked` for are dropped if they cannot be built.
    """
    begin = time.monotonic()
    while True:
        rows = [r for r in connection.read("schema/indexes") if _is_ours(r["name"])]
        waiting = [row for row in rows if row["state"] != "ONLINE"]
        needed = [row for row in waiting if _is_needed(row, asked)]
        coming = any(row["state"] == "POPULATING" for row in waiting)
        passed = time.monotonic() - begin
        if not needed and (not coming or passed >= others):
            break
        for row in needed:
            if row["state"] == "FAILED":
                _give_up(connection, row)
        if passed >= _UNTOLD_WAIT:
            built = sum(float(row["populationPercent"]) for row in rows)
            progress("building indexes (%)", int(built / len(rows)), 100)
        time.sleep(0.1)
    for row in waiting if others else ():
        _LOG.warning("%s", _unready(row))


def _is_needed(row: dict[str, Any], asked: Collection[str]) -> bool:
    """Return whether an index is waited for; not one of a filter that others lost."""
    lost = row["state"] == "FAILED" and _filter_of(row["name"])
    return row["type"] == "RANGE" and (not lost or lost in asked)


def _give_up(connection: Connection, row: dict[str, Any]) -> None:
    if name := _filter_of(row["name"]):
        connection.run_schema(f"DROP INDEX `{row['name']}` IF EXISTS")
        raise InputError(
            f"{name} cannot be declared, its index could not be built: it may have a "
            f"value of more than {MOST_INDEXED:,} bytes."
        )
    msg = f"{_unready(row)} Run the command again when it is built."
    raise SchemaError(msg)


def _unready(row: dict[str, Any]) -> str:
    if row["state"] == "FAILED":
        name, told = _filter_of(row["name"]), "schema drop and then apply make it anew"
        told = f"schema apply --filter-property {name} drops it" if name else told
        return f"The index {row['name']} cannot be built: knowtrail {told}."
    return (
        f"The index {row['name']} is still being built ({row['populationPercent']:.0f} "
        "%); searches need it."
    )


def migrations(found: int) -> list[tuple[int, list[str]]]:
    """Return the versions after the one found, with the commands that lead to each."""
    texts = [(1, statement(f"schema/fulltext_{name}")) for name in _FULLTEXT]
    made = [*texts, *((since, statement(name)) for since, name in _MOVED)]
    made += [(since, command) for since, _, command in _BY_VALUE]
    return [
        (version, [command for since, command in made if since == version])
        for version in range(found + 1, SCHEMA_VERSION + 1)
    ]


def indexed_properties(label: str) -> set[str]:
    """Return the properties whose whole values an index or constraint holds."""
    rule = LABELS.get(label)
    if rule is None:
        return set()
    indexed = itertools.chain.from_iterable(rule.indexes.values())
    return {rule.key, *", ".join(indexed).split(", ")} - {""}


def _apply_vector_indexes(
    connection: Connection,
    dimensions: int,
    also: Sequence[str],
    hnsw: Mapping[str, int],
    *,
    filtered: bool,
) -> None:
    """Make the vector indexes, or check that they have these dimensions.

    That of chunks is made anew if `filtered` and it cannot be so by all that has an
    index for filters.
    """
    if not 1 <= dimensions <= 4096:
        msg = f"{dimensions} dimensions: Neo4j's vector indexes take 1 to 4096."
        raise SettingsError(msg)
    found = _vector_index(connection)
    stored = found["options"]["indexConfig"] if found else {}
    if stored and (has := int(stored["vector.dimensions"])) != dimensions:
        raise CorpusDriftError(
            f"The database's vectors have {has} dimensions, this embedder's have "
            f"{dimensions}: use the same embedder, another database, or another --home."
        )
    capabilities = connection.capabilities
    quantization = (
        {"vector.quantization.type": "SCALAR"}
        if capabilities.quantization_type
        else {"vector.quantization.enabled": True}
    )
    common = {
        "vector.dimensions": dimensions,
        "vector.similarity_function": "cosine",
        **quantization,
    }
    asked = {f"vector.hnsw.{name}": value for name, value in hnsw.items()}
    kept = {key: value for key, value in stored.items() if "hnsw" in key}
    inside = capabilities.filtered_vector_index
    names = [*map(_inside, filter_properties(connection))]
    missing = inside and filtered and not {*names} <= {*found.get("properties", names)}
    if missing or asked.items() - stored.items():
        connection.run_schema("DROP INDEX chunk_embedding IF EXISTS")
    suffix = "" if inside else "_lts"
    for index in (*_VECTOR, *(ON_REQUEST[name] for name in also)):
        own = kept | asked if index in _VECTOR else {}
        text = statement(f"schema/vector_{index}{suffix}")
        if index in _VECTOR:
            more = "".join(f", n.`{name}`" for name in names)
            text = text.replace("[n.corpus]", f"[n.corpus{more}]")
        _make(connection, text, options={"indexConfig": common | own})


def copied_properties(connection: Connection) -> list[str]:
    """Return what the vector index can be filtered by, as `apply_schema` takes it."""
    has = _vector_index(connection).get("properties", ())
    return [name for name in filter_properties(connection) if _inside(name) in has]


def _inside(name: str) -> str:
    """Return the property of chunks that the vector index has for one of filters."""
    return name.replace("document.", COPIED).removeprefix("chunk.")


def vector_dimensions(connection: Connection) -> int | None:
    """Return the dimension of the vector indexes, None where there are none."""
    settings = _vector_settings(connection)
    return None if settings is None else int(settings["vector.dimensions"])


def hnsw_settings(connection: Connection) -> dict[str, int]:
    """Return how the vector index of chunks was made, as `apply_schema` takes it."""
    return {
        name.removeprefix("vector.hnsw."): int(value)
        for name, value in (_vector_settings(connection) or {}).items()
        if name.startswith("vector.hnsw.")
    }


def filter_properties(connection: Connection) -> list[str]:
    """Return the properties indexed for filters, as `apply_schema` takes them."""
    names = (_filter_of(row["name"]) for row in connection.read("schema/indexes"))
    return [name for name in names if name]


def _filter_of(index: str) -> str | None:
    """Return the property that an index for filters is of, None for other indexes."""
    found = _FILTER_INDEX.fullmatch(index)
    return ".".join(found.groups()) if found else None


def _vector_settings(connection: Connection) -> dict[str, Any] | None:
    found = _vector_index(connection)
    return dict(found["options"]["indexConfig"]) if found else None


def _vector_index(connection: Connection) -> dict[str, Any]:
    """Return the vector index of chunks, empty where there is none."""
    for row in connection.read("schema/indexes"):
        if row["name"] == "chunk_embedding" and row["type"] == "VECTOR":
            return row
    return {}


def show_schema(connection: Connection) -> list[SchemaItem]:
    """Return the constraints and indexes there are, and ours that are missing."""
    items = [
        _item(row | {"state": "ONLINE"}, ours=row["name"] in _CONSTRAINTS)
        for row in connection.read("schema/constraints")
    ]
    items += [
        _item(row, ours=_is_ours(row["name"]))
        for row in connection.read("schema/indexes")
        if row["owningConstraint"] is None and row["type"] != "LOOKUP"
    ]
    there = {item.name for item in items}
    items += [
        SchemaItem(name=name, kind="", on="", state="MISSING", ours=True)
        for name in (*_CONSTRAINTS, *_INDEXES)
        if name not in there
    ]
    return sorted(items, key=lambda item: (not item.ours, item.name))


def _item(row: dict[str, Any], *, ours: bool) -> SchemaItem:
    on = f"{':'.join(row['labelsOrTypes'] or [])}({', '.join(row['properties'] or [])})"
    return SchemaItem(
        name=row["name"], kind=row["type"], on=on, state=row["state"], ours=ours
    )


def delete_data(connection: Connection) -> int:
    """Delete every node of ours, in batches, and return how many there were."""
    total = 0
    labels = [name for name in LABELS if name not in {"Resource", "SchemaVersion"}]
    while gone := connection.write(
        "schema/wipe_batch", labels=labels, limit=10_000
    ).nodes_deleted:
        total += gone
    return total


def drop_schema(connection: Connection, *, data: bool = False) -> None:
    """Drop our constraints and indexes, and with `data` every node of ours too.

    Other people's constraints, indexes and nodes stay.
    """
    if data:
        delete_data(connection)
    for item in show_schema(connection):
        if item.ours and item.state != "MISSING":
            kind = "CONSTRAINT" if item.name in _CONSTRAINTS else "INDEX"
            connection.run_schema(f"DROP {kind} `{item.name}` IF EXISTS")
    connection.write("schema/filters_begin", names=None)
    connection.write("schema/version_remove")


_ROLE = ("role", "access", "match", "indexes", "constraints", "loads_nothing")


def create_reader(connection: Connection, name: str) -> str:
    """Make a user who may read the connection's database alone; return its password.

    Raises:
        InputError: If the server is a Community Edition, which has no roles.
        DatabaseError: If the server refuses, also where the name is taken.
    """
    if connection.capabilities.edition == "community":
        raise InputError(
            "This server is a Community Edition, which has no roles: whoever may read "
            "may write. Let others ask by knowtrail serve, which stores walks alone."
        )
    password = secrets.token_urlsafe(24)
    plain = re.sub(r"\W", lambda sign: f"_{ord(sign[0])}_", connection.database)
    params = {"name": name, "password": password, "database": connection.database}
    params["role"] = f"knowtrail_reader_{plain}"
    system = type(connection)(connection.driver, database="system")

    def run(step: str) -> None:
        record = statement_record(f"schema/reader_{step}")
        given = {key: params[key] for key in record.params}
        if step == "user":  # which cannot run twice
            with translate_errors(), system.session() as session:
                session.run(record.text, given).consume()
        else:
            system.run_schema(record.text, **given)

    for step in (*_ROLE, "user"):
        run(step)
    try:
        run("grant")
    except DatabaseError:
        run("undo")  # nobody knows the password
        raise
    return password
