"""`knowtrail eval zelo benchmark`: ranking files against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.zelo.comparison import Benchmark, RankingSettings
    from knowtrail.graph.settings import Settings

_FILE = click.Path(path_type=Path)


@click.command(context_settings={"show_default": True})
@click.argument("truth", type=_FILE)
@click.argument("rankings", metavar="RANKING...", type=_FILE, nargs=-1, required=True)
@click.option("--k", default=10, help="Best ones of a ranking.")
@click.option("--k-gt", type=int, help="Best ones of the truth looked for; k if unset.")
@click.option(
    "--document-limit", type=int, help="Only the first N documents of each query."
)
@click.option(
    "--skip-unjudged", is_flag=True, help="Pass over what the truth does not have."
)
@click.option(
    "--ties",
    type=click.Choice(["wrong", "half"]),
    default="wrong",
    help="How pairs with equal scores count in the accuracy.",
)
@click.option(
    "--relevant-above",
    "threshold",
    type=float,
    help="True scores above it are relevant to nDCG@k, RR and R@k.",
)
@click.option("--seed", default=0, help="Seed of the intervals.")
@click.option("--report", type=_FILE, help="Write a report, as one HTML file.")
@click.option("--histogram", type=_FILE, help="Draw the nDCGs, as .png or .svg.")
@click.option("--store", is_flag=True, help="Keep the results in the graph.")
@json_option
@click.pass_obj
def benchmark(
    settings: Settings,
    /,
    *,
    truth: Path,
    rankings: tuple[Path, ...],
    report: Path | None,
    histogram: Path | None,
    store: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare rankings with the TRUTH, query by query.

    All are annotated files. With several rankings, each is also compared with the
    first, on the queries that both have.

    \b
    knowtrail eval zelo benchmark truth.jsonl bm25.jsonl embedding.jsonl
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.report import draw_table, json_text
    from knowtrail.eval.zelo.comparison import benchmark_files, differences
    from knowtrail.eval.zelo.pages import (
        benchmark_json,
        benchmark_page,
        benchmark_tables,
    )
    from knowtrail.graph.files import check_output, write_file

    if report is not None:
        check_output(report, (".html",))
    kind = None if histogram is None else check_output(histogram, (".png", ".svg"))
    chosen = _settings(given)
    found = benchmark_files(truth, rankings, settings=chosen)
    apart = differences(found, seed=chosen.seed)
    runs = _stored(settings, truth, rankings, found, chosen) if store else {}
    if report is not None:
        write_file(report, benchmark_page(truth.name, found, apart, settings=chosen))
    if histogram is not None and kind is not None:
        from knowtrail.eval.zelo.pictures import histogram_picture

        write_file(histogram, histogram_picture(truth.name, found, kind))
    if as_json:
        click.echo(json_text(benchmark_json(found, apart, runs)))
    else:
        for table in benchmark_tables(found, apart):
            draw_table(table)


def _settings(given: dict[str, Any]) -> RankingSettings:
    """Return how rankings are compared, checked."""
    from knowtrail.eval.zelo.comparison import RankingSettings

    for name in ("k", "k_gt", "document_limit"):
        if given[name] is not None and given[name] < 1:
            msg = f"--{name.replace('_', '-')} is {given[name]}: give 1 or more."
            raise InputError(msg)
    return RankingSettings(**given)


def _stored(
    settings: Settings,
    truth: Path,
    rankings: Sequence[Path],
    found: Sequence[Benchmark],
    chosen: RankingSettings,
) -> dict[str, str]:
    """Keep each benchmark as a run; return the ids of the runs by ranking."""
    from knowtrail.eval.store import store_run
    from knowtrail.eval.zelo.comparison import as_metrics, as_records, as_run
    from knowtrail.graph.session import open_connection

    ids = {}
    with open_connection(settings) as connection:
        for path, one in zip(rankings, found, strict=True):
            run = as_run(one, truth, path, chosen)
            replaced = store_run(
                connection, run, records=as_records(one), metrics=as_metrics(one)
            )
            ids[one.name] = run.id
            kept = " in place of an earlier one" if replaced else ""
            click.echo(f"Run {run.id} of {one.name} is stored{kept}.", err=True)
    return ids


@click.command(context_settings={"show_default": True})
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
@json_option
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
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.retrieval.rerank import load_reranker

    reranker = load_reranker(name, settings=settings)
    with progress_bars() as progress:
        count = reranker.annotate_sync(
            source, target, document_limit=document_limit, progress=progress
        )
    answer = {"reranker": name, "queries": count, "file": str(target)}
    emit(answer, f"{name} scored {count} queries: {target}.", as_json=as_json)


@click.command(context_settings={"show_default": True})
@click.argument("annotated", type=_FILE)
@click.argument("model", type=_FILE)
@click.option(
    "--held-out",
    type=float,
    default=0.2,
    help="Share of the queries that the model is measured on, not trained on.",
)
@click.option("--seed", default=0, help="Chooses these queries.")
@json_option
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
    from knowtrail.eval.report import draw_table, json_text
    from knowtrail.eval.zelo.pages import training_json, training_table
    from knowtrail.eval.zelo.training import train as train_model
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.files import check_output
    from knowtrail.retrieval.corpora import loaded_embedder
    from knowtrail.retrieval.rerank.pointwise import write_model

    check_output(model, [".npz"])
    embedder = loaded_embedder(settings.embedder, settings)
    with progress_bars() as progress:
        found = train_model(
            annotated, embedder, share=held_out, seed=seed, progress=progress
        )
    write_model(model, found.model)
    if as_json:
        click.echo(json_text({"file": str(model), **training_json(found)}))
        return
    click.echo(
        f"Trained on {len(found.trained)} queries, measured on {len(found.held_out)}: "
        f"{model}."
    )
    draw_table(training_table(found))
