"""Answers of commands, for machines or for people."""

from __future__ import annotations

import json
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")


def emit(answer: Any, told: str, *, as_json: bool) -> None:
    """Write an answer: as JSON for machines, or what people are told."""
    click.echo(json.dumps(answer, ensure_ascii=False) if as_json else told)
