"""`knowtrail eval zelo benchmark`: ranking files against ground truth."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.report import Table
    from knowtrail.eval.statistics import Interval
    from knowtrail.eval.zelo.comparison import Benchmark, RankingSettings
    from knowtrail.eval.zelo.training import Training
    from knowtrail.graph.settings import Settings

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("truth", type=_FILE)
@click.argument("rankings", metavar="RANKING...", type=_FILE, nargs=-1, required=True)
@click.option("--k", default=10, show_default=True, help="Best ones of a ranking.")
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
    show_default=True,
    help="How pairs with equal scores count in the accuracy.",
)
@click.option(
    "--relevant-above",
    type=float,
    help="True scores above it are relevant to nDCG@k, RR and R@k.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the intervals.")
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
    from knowtrail.eval.report import draw_table
    from knowtrail.eval.zelo.comparison import benchmark_files, differences
    from knowtrail.eval.zelo.pages import benchmark_tables
    from knowtrail.graph.files import check_output, write_file

    if report is not None:
        check_output(report, (".html",))
    kind = None if histogram is None else check_output(histogram, (".png", ".svg"))
    chosen = _settings(given)
    found = benchmark_files(truth, rankings, settings=chosen)
    apart = differences(found, seed=chosen.seed)
    runs = _stored(settings, truth, rankings, found, chosen) if store else {}
    if report is not None:
        from knowtrail.eval.zelo.pages import benchmark_page

        write_file(report, benchmark_page(truth.name, found, apart, settings=chosen))
    if histogram is not None and kind is not None:
        from knowtrail.eval.zelo.pictures import histogram_picture

        write_file(histogram, histogram_picture(truth.name, found, kind))
    if as_json:
        _write_json(found, apart, runs)
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
    threshold = given.pop("relevant_above")
    return RankingSettings(threshold=threshold, **given)


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


def _write_json(
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    runs: dict[str, str],
) -> None:
    """Write the results as JSON."""
    from knowtrail.eval.report import as_number, interval_dict, json_text

    result = {
        "rankings": [
            {
                "name": one.name,
                "run": runs.get(one.name),
                "metrics": {
                    metric: None if mean is None else interval_dict(mean)
                    for metric, mean in one.means.items()
                },
                "relevance": one.relevance,
                "absent_queries": one.absent,
                "unjudged_documents": one.unjudged,
                "queries": {
                    query: {
                        metric: as_number(numbers[place])
                        for metric, numbers in one.values.items()
                    }
                    for place, query in enumerate(one.queries)
                },
            }
            for one in found
        ],
        "differences": [
            {
                "name": one.name,
                "less": found[0].name,
                "metric": one.metric,
                "queries": one.found.n,
                "difference": interval_dict(one.found.difference),
                "p_value": one.found.p_value,
                "p_value_holm": one.p_value,
            }
            for one in apart
        ],
    }
    click.echo(json_text(result))


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
    from knowtrail.eval.zelo.training import train as train_model
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.retrieval.corpora import loaded_embedder
    from knowtrail.retrieval.rerank.pointwise import write_model

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
    """Refuse a place for a model before anything is computed."""
    if path.suffix != ".npz":
        msg = f"The model {path} must end in .npz, which is what it is."
        raise InputError(msg)
    if not path.absolute().parent.is_dir() or path.is_dir():
        msg = f"There is no place for a file {path}: choose another."
        raise InputError(msg)


def _table(found: Training) -> Table:
    """Return what the model is worth beside what it is made of."""
    from knowtrail.eval.report import Table

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
    from knowtrail.eval.report import interval_dict

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
