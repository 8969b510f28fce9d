"""`knowtrail doctor`: say what is wrong and what to do."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.answers import emit, json_option

if TYPE_CHECKING:
    from knowtrail.graph.doctor import Finding
    from knowtrail.graph.settings import Settings

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@json_option
@click.pass_obj
def doctor(settings: Settings, *, as_json: bool) -> None:
    """Check Python, Java, the server, the schema and the models.

    Nothing is started, fetched or changed. Exits 1 if something needed is broken;
    warnings are about things that only some commands need or that come by themselves.
    """
    from knowtrail.graph.doctor import examine
    from knowtrail.graph.settings import as_typed

    findings = []
    for finding in examine(settings):
        findings.append(finding)
        if not as_json:
            click.echo(as_typed(_line(finding), settings.home))
    if as_json:
        emit([{"check": f.check} | asdict(f) for f in findings], "", as_json=True)
    if any(finding.state == "problem" for finding in findings):
        sys.exit(1)


def _line(finding: Finding) -> str:
    state = click.style(f"{finding.state:<7}", fg=_COLOURS[finding.state])
    advice = f". {finding.advice}" if finding.advice else ""
    text = " ".join(f"{finding.detail}{advice}".split())
    return f"{state}  {finding.check}: {text}"
