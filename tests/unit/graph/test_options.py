"""Shared options are defined once, and answers are written in one way."""

from __future__ import annotations

import ast
import json
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from knowtrail.graph.cli.answers import emit, emit_rows
from knowtrail.graph.cli.options import (
    _TABLE,
    check_form,
    option,
    options,
    told_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Found:
    """Something that a command tells."""

    name: str
    when: date


def _declared() -> Iterator[tuple[str, str]]:
    """Yield where each option of a command is declared, and its names."""
    for package in ("graph", "ingest", "retrieval"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "click.option"
                ):
                    for one in node.args:
                        if isinstance(one, ast.Constant):
                            yield path.relative_to(ROOT).as_posix(), str(one.value)


def _told() -> Iterator[tuple[str, str]]:
    """Yield where an `options.toml` tells an option of its own, and its names."""
    for package in ("graph", "ingest", "retrieval", "eval"):
        for path in sorted((ROOT / package).rglob("options.toml")):
            for command, listed in tomllib.loads(path.read_text("utf-8")).items():
                for name, told in listed.items() if command != "shared" else ():
                    about = told if isinstance(told, dict) else {}
                    if "shared" not in about:
                        for flags in about.get("flags", [name.replace("_", "-")]):
                            for flag in flags.split("/"):
                                where = f"{path.relative_to(ROOT)} {command}"
                                yield where, f"--{flag.lstrip('-')}"


def test_shared_options_are_defined_once() -> None:
    """No command declares by itself what the table has, but for other meanings."""
    shared = {f"--{name}" for name in _TABLE}
    declared, told = [*_declared()], [*_told()]

    assert declared
    assert len(told) > 100
    assert [one for one in [*declared, *told] if one[1] in shared] == [
        ("eval/options.toml retrieval", "--base"),  # of a comparison, not of IRIs
        ("eval/options.toml skn", "--model"),
        ("eval/options.toml specificity", "--corpus"),
        ("eval/options.toml specificity", "--model"),
    ]


def test_options_stand_in_their_order_and_can_differ() -> None:
    """Help lists them as they are named; what is changed is changed there alone."""

    @click.command()
    @options("yes", "corpus")
    @option("port", default=1)
    def command(**given: object) -> None:
        click.echo(json.dumps(given, sort_keys=True))

    told = CliRunner().invoke(command, ["--help"]).output
    done = CliRunner().invoke(command, ["--yes"])

    assert told.index("--yes") < told.index("--corpus") < told.index("--port")
    assert json.loads(done.output) == {
        "corpus": None,
        "port": 1,
        "yes": True,
    }


def test_answers_are_json_or_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Data classes are objects, what JSON lacks is text; people get text or a show."""
    answer = {"found": [Found(name="é", when=date(2026, 1, 2))]}

    emit(answer, "told", as_json=True)
    emit(answer, "told", as_json=False)
    emit(answer, lambda: click.echo("shown"), as_json=False)

    first, *rest = capsys.readouterr().out.splitlines()
    assert json.loads(first) == {"found": [{"name": "é", "when": "2026-01-02"}]}
    assert "é" in first
    assert rest == ["told", "shown"]


def test_rows_have_three_forms(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, CSV, or what people are shown."""
    forms = []
    for as_json, as_csv in ((True, False), (False, True), (False, False)):
        emit_rows(
            ["a"],
            [[1], [None]],
            lambda: click.echo("shown"),
            as_json=as_json,
            as_csv=as_csv,
        )
        forms.append(capsys.readouterr().out)

    assert json.loads(forms[0]) == [{"a": 1}, {"a": None}]
    assert forms[1:] == ['a\n1\n""\n', "shown\n"]


def test_two_forms_at_once_are_refused() -> None:
    """The message names both options."""
    with pytest.raises(click.UsageError, match="--csv and --json"):
        check_form(as_json=True, as_csv=True)


@pytest.mark.parametrize("name", ["no_such", "corpus"])
def test_attributes_of_options_that_are_not_told_are_refused(name: str) -> None:
    """One that the file lacks, and one of the table, which would not take them."""
    with pytest.raises(KeyError, match=name):
        told_options("knowtrail.ingest", "input", **{name: {"default": None}})
