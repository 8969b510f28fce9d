"""The reference pages name everything there is."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from knowtrail.eval.fields import (
    FieldAggregation,
    FieldResult,
    RecordResult,
    RunResult,
    comparators,
    evaluate,
    results,
    schema,
)
from knowtrail.graph.cli.root import _COMMANDS
from knowtrail.graph.db.statements import statement_names, statement_record
from knowtrail.graph.settings import _ENVIRONMENT, Settings
from knowtrail.retrieval.procedures.registry import OPTIONS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
COMMANDS = (FOLDER / "command-line.md").read_text("utf-8")
SETTINGS = (FOLDER / "settings.md").read_text("utf-8")
FIELDS = (FOLDER / "field-evaluation.md").read_text("utf-8")
TEXT = {"type": "string", "x-eval-compare": "exact"}
KINDS = {
    "a leaf": TEXT,
    "an object": {"type": "object", "properties": {"k": TEXT}},
    "an array": {"type": "array", "items": TEXT},
}


def test_every_command_is_described() -> None:
    """The table of commands has a row for each."""
    assert [
        name
        for name in _COMMANDS
        if not re.search(rf"^\| `{name}\b", COMMANDS, re.MULTILINE)
    ] == []


def test_every_saved_query_is_described() -> None:
    """The table of saved queries has a row for each, with its parameters."""
    rows = {
        f"| `{name.removeprefix('inspect/')}` | "
        f"{', '.join(statement_record(name).params)} |"
        for name in statement_names()
        if name.startswith("inspect/")
    }

    assert rows
    assert [row for row in rows if row not in COMMANDS] == []


def test_every_setting_is_described() -> None:
    """The table of settings has a row for each, with its variable and default."""
    wrong = []
    for field in fields(Settings):
        if field.name == "managed":
            continue  # nobody sets it
        row = re.search(
            rf"^\| `{field.name}` \| `(\w+)` \| (.*?) \|", SETTINGS, re.MULTILINE
        )
        default = f"`{field.default}`" if isinstance(field.default, str) else ""
        if not row or row[1] != _ENVIRONMENT[field.name] or default not in row[2]:
            wrong.append(field.name)

    assert wrong == []


def test_every_option_of_a_procedure_is_described() -> None:
    """The table of options has each by the name that Cypher and HTTP take."""
    page = FOLDER.parent / "how-to" / "procedures.md"
    table = page.read_text("utf-8").partition("\n## Options\n")[2].partition("\n## ")[0]

    assert [
        option.name for option in OPTIONS.values() if f"`{option.name}`" not in table
    ] == []


def test_field_evaluation_is_described_whole() -> None:
    """Statuses, keys, comparators, transforms, types, and attributes of results."""
    names = [
        *results.SCORED,
        *(results.SKIPPED, results.PENDING, results.BATCH_ERROR),
        *schema._KNOWN,
        *comparators.COMPARATORS.built_in,
        *comparators.TRANSFORMS.built_in,
        *schema._BUILT_IN,
    ]
    for kind in (FieldResult, RecordResult, FieldAggregation, RunResult):
        names += [kind.__name__, *(field.name for field in fields(kind))]

    assert [name for name in names if f"`{name}`" not in FIELDS] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_nulls_and_empty_values_give_is_as_described(kind: str) -> None:
    """Every cell of the page's tables is what scoring says."""
    head, _, *rows = re.findall(
        rf"^\| gold `f`, {kind} (?:.*\n)(?:\|.*\n)+", FIELDS, re.MULTILINE
    )[0].splitlines()
    schema = {
        "type": "object",
        "properties": {
            "f": KINDS[kind],
            "other": {"type": "integer", "x-eval-skip": True},
        },
    }

    def record(cell: str) -> dict[str, object]:
        rest = {"other": 1}
        return rest if cell == "(no key)" else rest | {"f": json.loads(cell.strip("`"))}

    for row in rows:
        left, *cells = row.strip("| ").split(" | ")
        for right, cell in zip(head.strip("| ").split(" | ")[1:], cells, strict=True):
            (scored,) = evaluate([record(left)], [record(right)], schema).records
            found = [
                f"{one.status} `{one.path}`"
                for one in scored.field_results
                if one.path != "other"
            ]
            assert (", ".join(found) or "-") == cell, (left, right)
