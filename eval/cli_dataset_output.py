"""How `knowtrail dataset` says what it has made: files, warnings and a summary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from eval.generation import CorpusPassage, GeneratedQuestions, Grouped

__all__ = ["show", "write_groups", "write_made"]


def write_groups(output: Path, grouped: Grouped, *, as_json: bool) -> None:
    """Write the contexts, one a line.

    Args:
        output: Where the file goes.
        grouped: The contexts, and those that were not found.
        as_json: Whether the summary is JSON.

    Raises:
        StorageError: If the file cannot be written.
    """
    from retrieval.views.files import write_file

    rows = [json.dumps(g.as_dict(), ensure_ascii=False) for g in grouped.groups]
    write_file(output, "".join(f"{row}\n" for row in rows))
    _tell_missing(grouped)
    show(
        {"groups": _by_grouping(grouped), "missing": dict(grouped.missing)},
        f"{len(rows)} contexts are in {output}.",
        as_json=as_json,
    )


def _by_grouping(grouped: Grouped) -> dict[str, int]:
    """Return how many contexts there are of each grouping."""
    counts: dict[str, int] = {}
    for group in grouped.groups:
        counts[group.grouping] = counts.get(group.grouping, 0) + 1
    return counts


def _tell_missing(grouped: Grouped) -> None:
    """Say which contexts were not found."""
    for grouping, count in grouped.missing.items():
        click.echo(
            f"Warning: {count} contexts of {grouping} were wanted and not found: the "
            "corpus has too few documents or edges for them.",
            err=True,
        )


def write_made(
    output: Path,
    made: GeneratedQuestions,
    grouped: Grouped,
    passages: list[CorpusPassage],
    *,
    as_json: bool,
) -> None:
    """Write questions and passages, and say what came of it.

    Args:
        output: Where the questions go.
        made: The questions, and those that did not come.
        grouped: What they were asked about.
        passages: The corpus.
        as_json: Whether the summary is JSON.

    Raises:
        InputError: If the corpus has no context of the kinds asked for.
        ModelError: If no question came; no file is written then.
        StorageError: If a file cannot be written.
    """
    from eval.generation.files import (
        generated_questions,
        passages_beside,
        write_passages,
        write_questions,
    )

    _tell_missing(grouped)
    for failure in made.failures:
        click.echo(
            f"No question of context {failure.group[:8]} ({failure.grouping}), "
            f"{failure.step}: {failure.reason}",
            err=True,
        )
    if not made.questions:
        _none_came(made)
    write_questions(output, generated_questions(made.questions, passages))
    beside = passages_beside(output)
    if output.suffix.lower() == ".jsonl":
        write_passages(beside, passages)
    show(
        {
            "questions": len(made.questions),
            "failures": [_failure(one) for one in made.failures],
            "groups": _by_grouping(grouped),
            "missing": dict(grouped.missing),
            "reused": made.reused,
            "output": str(output),
        },
        f"{len(made.questions)} questions are in {output}; {len(made.failures)} "
        "did not come.",
        as_json=as_json,
    )


def _none_came(made: GeneratedQuestions) -> None:
    """Fail where there is nothing to write.

    Raises:
        InputError: If there was no context to ask about.
        ModelError: If there was.
    """
    from graph.errors import InputError, ModelError

    if not made.failures:
        msg = (
            "The corpus has none of the contexts that were wanted, so no question was "
            "asked and no file is written: choose another --grouping, or a corpus of "
            "more and longer documents."
        )
        raise InputError(msg)
    msg = (
        f"No question came of {len(made.failures)} attempts, so no file is written: "
        "choose a larger --model, or a lower --threshold; --retry-failed asks again."
    )
    raise ModelError(msg)


def _failure(failure: Any) -> dict[str, Any]:
    """Return a failure as JSON values."""
    from dataclasses import asdict

    return asdict(failure)


def show(row: dict[str, Any], told: str, *, as_json: bool) -> None:
    """Write what was done.

    Args:
        row: It, for machines.
        told: It, for people.
        as_json: Whether machines are told.
    """
    if as_json:
        click.echo(json.dumps(row, ensure_ascii=False, indent=2))
    else:
        click.echo(told)
