"""`knowtrail eval zelo rerank` and `train`: rankings by rerankers, and a new one."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError

if TYPE_CHECKING:
    from eval.report import Table
    from eval.statistics import Interval
    from eval.zelo.training import Training
    from graph.settings import Settings

__all__ = ["rerank", "train"]

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("source", type=_FILE)
@click.argument("target", type=_FILE)
@click.option(
    "--with",
    "name",
    metavar="NAME",
    required=True,
    help="embedding, bm25, cross-encoder:MODEL, pointwise:FILE or zeroentropy:MODEL.",
)
@click.option("--document-limit", type=int, help="Only the first N of each query.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def rerank(
    settings: Settings,
    /,
    *,
    source: Path,
    target: Path,
    name: str,
    document_limit: int | None,
    as_json: bool,
) -> None:
    """Score the documents of SOURCE with a reranker, and write them to TARGET.

    Both are JSON Lines, one query a line. A run that was interrupted continues.

    \b
    knowtrail eval zelo rerank queries.jsonl bm25.jsonl --with bm25
    """  # noqa: D301 - click reads the backspace
    from eval.cli_fields_output import json_text
    from graph.progress import progress_bars
    from retrieval.rerank import load_reranker

    reranker = load_reranker(name, settings=settings)
    with progress_bars() as progress:
        count = reranker.annotate_sync(
            source, target, document_limit=document_limit, progress=progress
        )
    if as_json:
        click.echo(json_text({"reranker": name, "queries": count, "file": str(target)}))
    else:
        click.echo(f"{name} scored {count} queries: {target}.")


@click.command()
@click.argument("annotated", type=_FILE)
@click.argument("model", type=_FILE)
@click.option(
    "--held-out",
    type=float,
    default=0.2,
    show_default=True,
    help="Share of the queries that the model is measured on, not trained on.",
)
@click.option("--seed", default=0, show_default=True, help="Chooses these queries.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def train(
    settings: Settings,
    /,
    *,
    annotated: Path,
    model: Path,
    held_out: float,
    seed: int,
    as_json: bool,
) -> None:
    """Train a reranker on the scores of ANNOTATED, and write it to MODEL.

    It is a small linear model of embedding and BM25 features. What it is worth is told
    on the queries that are held out.

    \b
    knowtrail eval zelo train annotated.jsonl reranker.npz
    knowtrail search "..." --rerank pointwise:reranker.npz
    """  # noqa: D301 - click reads the backspace
    from eval.cli_fields_output import draw_table, json_text
    from eval.zelo.training import train as train_model
    from graph.progress import progress_bars
    from retrieval.corpora import loaded_embedder
    from retrieval.rerank.model_file import write_model

    _check_model_place(model)
    embedder = loaded_embedder(settings.embedder, settings)
    with progress_bars() as progress:
        found = train_model(
            annotated, embedder, share=held_out, seed=seed, progress=progress
        )
    write_model(model, found.model)
    if as_json:
        click.echo(json_text(_as_dict(found, model)))
        return
    click.echo(
        f"Trained on {len(found.trained)} queries, measured on {len(found.held_out)}: "
        f"{model}."
    )
    draw_table(_table(found))


def _check_model_place(path: Path) -> None:
    """Refuse a place for a model before anything is computed.

    Raises:
        InputError: If its name or folder is no good.
    """
    if path.suffix != ".npz":
        msg = f"The model {path} must end in .npz, which is what it is."
        raise InputError(msg)
    if not path.absolute().parent.is_dir() or path.is_dir():
        msg = f"There is no place for a file {path}: choose another."
        raise InputError(msg)


def _table(found: Training) -> Table:
    """Return what the model is worth beside what it is made of."""
    from eval.report import Table

    rows = [("the model", f"{found.ndcg.value:.3f}", "", "")]
    for name, compared in (
        ("embedding", found.against_embedding),
        ("bm25", found.against_bm25),
    ):
        apart = compared.difference
        rows.append((
            name,
            f"{compared.first:.3f}",
            f"{apart.value:+.3f}{_ends(apart)}",
            f"{compared.p_value:.4f}",
        ))
    return Table(
        title="Held-out queries",
        note="Mean nDCG with the gain exp(score), and paired differences.",
        columns=("ranking", "nDCG", "the model's, less this", "p"),
        rows=rows,
    )


def _ends(apart: Interval) -> str:
    """Return the ends of an interval; nothing where one query has none."""
    if isnan(apart.low):
        return ""
    return f" ({apart.low:+.3f} to {apart.high:+.3f})"


def _as_dict(found: Training, file: Path) -> dict[str, Any]:
    """Return a training for JSON."""
    from eval.cli_fields_output import interval_dict

    return {
        "file": str(file),
        "embedder": found.model.embedder,
        "penalty": found.penalty,
        "documents": found.documents,
        "trained": list(found.trained),
        "held_out": list(found.held_out),
        "ndcg": interval_dict(found.ndcg),
        "against": {
            name: {
                "ndcg": compared.first,
                "difference": interval_dict(compared.difference),
                "p_value": compared.p_value,
            }
            for name, compared in (
                ("embedding", found.against_embedding),
                ("bm25", found.against_bm25),
            )
        },
    }
