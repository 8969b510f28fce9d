"""The database's schema: named constraints and indexes, versioned.

Schema commands are files in `cypher/schema/` and run any number of times. The version
is a node, `(:SchemaVersion {id, version})`; a newer version of Knowtrail migrates an
older database step by step, an older one refuses a newer database.

A vector index has one dimension, so all corpora of a database share one embedder.
"""

from __future__ import annotations

import itertools
import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graph.errors import CorpusDriftError, SchemaError, SettingsError
from graph.statements import statement

if TYPE_CHECKING:
    from graph.connection import Connection

__all__ = [
    "SCHEMA_VERSION",
    "SchemaItem",
    "apply_schema",
    "delete_data",
    "drop_schema",
    "indexed_properties",
    "migrations",
    "schema_version",
    "show_schema",
    "vector_dimensions",
]

_LOG = logging.getLogger(__name__)
_HELD = re.compile(r"FOR \(n:(\w+)\)\s+(?:ON(?! EACH)|REQUIRE) (.+)")
_PROPERTY = re.compile(r"n\.(\w+)")

_MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "schema/constraint_schema_version_id",
        "schema/constraint_corpus_name",
        "schema/constraint_document_id",
        "schema/constraint_chunk_id",
        "schema/constraint_sentence_id",
        "schema/constraint_theme_id",
        "schema/constraint_category_id",
        "schema/constraint_redirect_id",
        "schema/fulltext_chunk_text",
        "schema/fulltext_document_title",
    ),
    2: (
        "schema/constraint_query_id",
        "schema/constraint_traversal_id",
        "schema/constraint_step_id",
    ),
    3: (
        "schema/constraint_extraction_id",
        "schema/constraint_eval_run_id",
        "schema/constraint_eval_record_id",
        "schema/constraint_field_result_id",
        "schema/constraint_metric_id",
    ),
    4: (
        "schema/constraint_fact_id",
        "schema/constraint_concept_id",
        "schema/constraint_gap_id",
        "schema/constraint_entity_id",
        "schema/constraint_search_result_id",
        "schema/constraint_battle_id",
        "schema/constraint_ontology_class_id",
        "schema/constraint_custodian_id",
        "schema/constraint_conversation_id",
        "schema/constraint_turn_id",
    ),
    5: (
        "schema/index_custodian_uri",
        "schema/index_ontology_class_uri",
    ),
    6: (
        "schema/constraint_term_id",
        "schema/index_term_name",
    ),
    7: (
        "schema/index_custodian_isil",
        "schema/index_custodian_ghcid",
        "schema/index_custodian_city",
    ),
    8: (
        "schema/index_custodian_institution_type",
        "schema/index_custodian_region",
        "schema/index_custodian_subregion_code",
        "schema/index_custodian_country_code",
        "schema/index_custodian_founded",
        "schema/index_custodian_budget",
    ),
}
"""Version -> statements that lead to it from the version before."""

SCHEMA_VERSION = max(_MIGRATIONS)
_VECTOR_INDEXES = ("chunk", "sentence", "theme")
_CONSTRAINTS = (
    "corpus_name",
    "document_id",
    "chunk_id",
    "sentence_id",
    "theme_id",
    "category_id",
    "redirect_id",
    "query_id",
    "traversal_id",
    "step_id",
    "extraction_id",
    "eval_run_id",
    "eval_record_id",
    "field_result_id",
    "metric_id",
    "fact_id",
    "concept_id",
    "gap_id",
    "entity_id",
    "search_result_id",
    "battle_id",
    "ontology_class_id",
    "custodian_id",
    "conversation_id",
    "turn_id",
    "term_id",
    "schema_version_id",
)
_INDEXES = (
    "chunk_text",
    "document_title",
    "custodian_uri",
    "custodian_isil",
    "custodian_ghcid",
    "custodian_city",
    "custodian_institution_type",
    "custodian_region",
    "custodian_subregion_code",
    "custodian_country_code",
    "custodian_founded",
    "custodian_budget",
    "ontology_class_uri",
    "term_name",
    "chunk_embedding",
    "sentence_embedding",
    "theme_embedding",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A constraint or index of the database.

    Attributes:
        name: Its name.
        kind: Such as `UNIQUENESS` or `VECTOR`.
        on: Label and properties.
        state: `ONLINE`, `POPULATING`, `FAILED`, `MISSING`.
        ours: Whether Knowtrail made it.
    """

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
    connection: Connection, *, dimensions: int | None = None, wait: float = 300
) -> int:
    """Bring the database's schema to this version; running twice changes nothing.

    Args:
        connection: The database.
        dimensions: Length of the vectors; None leaves the vector indexes alone.
        wait: Seconds to wait for indexes to come online.

    Returns:
        The version found before.

    Raises:
        SchemaError: If the database was made by a newer Knowtrail.
        CorpusDriftError: If the vector indexes have another dimension.
        SettingsError: If the dimension is out of range.
    """
    found = schema_version(connection)
    if found > SCHEMA_VERSION:
        msg = (
            f"The database has schema version {found}, this Knowtrail knows "
            f"{SCHEMA_VERSION}: update Knowtrail."
        )
        raise SchemaError(msg)
    for version, names in migrations(found):
        _LOG.info("Migrating the schema to version %s", version)
        for name in names:
            connection.run_schema(statement(name))
        connection.write("schema/version_write", version=version)
    if dimensions is not None:
        _apply_vector_indexes(connection, dimensions)
    connection.read("schema/await", seconds=int(wait))
    return found


def migrations(found: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return the versions after one, each with the statements that lead to it.

    Args:
        found: The version that a database has.
    """
    return [(v, _MIGRATIONS[v]) for v in range(found + 1, SCHEMA_VERSION + 1)]


@lru_cache(maxsize=1)
def indexed_properties() -> dict[str, set[str]]:
    """Return label -> properties that an index or a constraint of the schema holds.

    Indexes of vectors and of full texts hold no whole values, and are left out.
    """
    found: dict[str, set[str]] = {}
    for name in itertools.chain.from_iterable(_MIGRATIONS.values()):
        for label, properties in _HELD.findall(statement(name)):
            found.setdefault(label, set()).update(_PROPERTY.findall(properties))
    return found


def _apply_vector_indexes(connection: Connection, dimensions: int) -> None:
    """Make the vector indexes, or check that they have these dimensions."""
    if not 1 <= dimensions <= 4096:
        msg = f"{dimensions} dimensions: Neo4j's vector indexes take 1 to 4096."
        raise SettingsError(msg)
    found = vector_dimensions(connection)
    if found is not None and found != dimensions:
        msg = (
            f"The database's vectors have {found} dimensions, this embedder's have "
            f"{dimensions}: use the same embedder, another database, or another --home."
        )
        raise CorpusDriftError(msg)
    capabilities = connection.capabilities
    quantization = (
        {"vector.quantization.type": "SCALAR"}
        if capabilities.quantization_type
        else {"vector.quantization.enabled": True}
    )
    options = {
        "indexConfig": {
            "vector.dimensions": dimensions,
            "vector.similarity_function": "cosine",
            **quantization,
        }
    }
    suffix = "" if capabilities.filtered_vector_index else "_lts"
    for index in _VECTOR_INDEXES:
        connection.run_schema(
            statement(f"schema/vector_{index}{suffix}"), options=options
        )


def vector_dimensions(connection: Connection) -> int | None:
    """Return the dimension of the vector indexes, None where there are none."""
    for row in connection.read("schema/indexes"):
        if row["name"] == "chunk_embedding" and row["type"] == "VECTOR":
            return int(row["options"]["indexConfig"]["vector.dimensions"])
    return None


def show_schema(connection: Connection) -> list[SchemaItem]:
    """Return the constraints and indexes there are, and ours that are missing."""
    items = [
        _item(row, kind=row["type"], state="ONLINE", ours=row["name"] in _CONSTRAINTS)
        for row in connection.read("schema/constraints")
    ]
    items += [
        _item(row, kind=row["type"], state=row["state"], ours=row["name"] in _INDEXES)
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


def _item(row: dict[str, Any], *, kind: str, state: str, ours: bool) -> SchemaItem:
    """Read a row of SHOW CONSTRAINTS or SHOW INDEXES."""
    on = f"{':'.join(row['labelsOrTypes'] or [])}({', '.join(row['properties'] or [])})"
    return SchemaItem(name=row["name"], kind=kind, on=on, state=state, ours=ours)


def delete_data(connection: Connection) -> int:
    """Delete every node of ours, in batches, and return how many there were."""
    total = 0
    while gone := connection.write("schema/wipe_batch", limit=10_000).nodes_deleted:
        total += gone
    return total


def drop_schema(connection: Connection, *, data: bool = False) -> None:
    """Drop our constraints and indexes, and with `data` every node of ours too.

    Other people's constraints, indexes and nodes stay.
    """
    if data:
        delete_data(connection)
    there = {item.name for item in show_schema(connection) if item.state != "MISSING"}
    for name in _CONSTRAINTS:
        if name in there:
            connection.run_schema(f"DROP CONSTRAINT `{name}` IF EXISTS")
    for name in _INDEXES:
        if name in there:
            connection.run_schema(f"DROP INDEX `{name}` IF EXISTS")
    connection.write("schema/version_remove")
