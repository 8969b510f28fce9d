"""`knowtrail eval zelo benchmark`: ranking files against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.zelo.comparison import Benchmark, Difference, RankingSettings
    from graph.settings import Settings

__all__ = ["benchmark"]

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
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
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
    from eval.zelo.comparison import benchmark_files, differences
    from retrieval.views.files import check_output, write_file

    if report is not None:
        check_output(report, (".html",))
    kind = None if histogram is None else check_output(histogram, (".png", ".svg"))
    chosen = _settings(given)
    found = benchmark_files(truth, rankings, settings=chosen)
    apart = differences(found, seed=chosen.seed)
    runs = _stored(settings, truth, rankings, found, chosen) if store else {}
    if report is not None:
        from eval.zelo.benchmark_report import benchmark_page

        write_file(report, benchmark_page(truth.name, found, apart, settings=chosen))
    if histogram is not None and kind is not None:
        from eval.zelo.pictures import histogram_picture

        write_file(histogram, histogram_picture(truth.name, found, kind))
    _show(found, apart, runs, as_json=as_json)


def _settings(given: dict[str, Any]) -> RankingSettings:
    """Return how rankings are compared, checked."""
    from eval.zelo.comparison import RankingSettings

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
    from eval.store import open_run
    from eval.zelo.comparison import as_metrics, as_records, as_run
    from graph.cli_session import open_connection

    ids = {}
    with open_connection(settings) as connection:
        for path, one in zip(rankings, found, strict=True):
            with open_run(connection, as_run(one, truth, path, chosen)) as writer:
                for record in as_records(one):
                    writer.add(record)
                writer.metric(*as_metrics(one))
            ids[one.name] = writer.id
            kept = "was stored before" if writer.complete else "is stored"
            click.echo(f"Run {writer.id} of {one.name} {kept}.", err=True)
    return ids


def _show(
    found: Sequence[Benchmark],
    apart: Sequence[Difference],
    runs: dict[str, str],
    *,
    as_json: bool,
) -> None:
    """Write what was found."""
    from eval.cli_fields_output import draw_table, json_text
    from eval.zelo.tables import benchmark_tables

    if as_json:
        click.echo(json_text(_as_dict(found, apart, runs)))
        return
    for table in benchmark_tables(found, apart):
        draw_table(table)


def _as_dict(
    found: Sequence[Benchmark], apart: Sequence[Difference], runs: dict[str, str]
) -> dict[str, Any]:
    """Return the results for JSON."""
    from eval.cli_fields_output import as_number, interval_dict

    return {
        "rankings": [
            {
                "name": one.name,
                "run": runs.get(one.name),
                "metrics": {
                    metric: None if mean is None else interval_dict(mean)
                    for metric, mean in one.means.items()
                },
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
