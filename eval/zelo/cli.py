"""`knowtrail eval zelo`: relevance judged in pairs, rerankers measured by it."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_of, options_told
from knowtrail.eval.report import draw_tables, table, told
from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.groups import NearGroup
from knowtrail.graph.cli.options import FILE, output_option
from knowtrail.graph.cli.progress import progress_bars
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import check_output, write_file
from knowtrail.graph.session import open_connection
from knowtrail.retrieval.cli.options import complete_algorithm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.inspection import Inspection
    from knowtrail.eval.zelo.metrics import Benchmark, RankingSettings
    from knowtrail.graph.settings import Settings


@click.group(cls=NearGroup)
def zelo() -> None:
    """Judge the relevance of documents in pairs, and measure rerankers by it."""


_PATH = click.Path(path_type=Path)
_STOPPED = {"budget": 1, "interrupted": 130}


@zelo.command()
def judges() -> None:
    """Write the configuration of judges: who is asked, how fast, at what price.

    Edit a copy and name it by --judges-file.
    """
    from knowtrail.eval.zelo.judges import bundled_text

    click.echo(bundled_text(), nl=False)


@zelo.command()
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@options_told("annotate")
@click.pass_obj
def annotate(settings: Settings, /, **given: Any) -> None:
    """Judge the documents of SOURCE in pairs, write their scores to TARGET.

    Both have one query a line. Each judgement is kept when it is made: the same
    command continues after Ctrl-C, a crash or the end of a budget.
    """
    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.judges import load_judges
    from knowtrail.eval.zelo.pairs import PairSettings
    from knowtrail.eval.zelo.scored_pairs import FitSettings

    if not given["source"].exists():
        msg = f"There is no file {given['source']}: make one with eval zelo export."
        raise InputError(msg)
    names = ("folder", "budget", "retry_failed", "partial")
    annotator = ZeloAnnotator(
        given["source"],
        given["target"],
        judges=load_judges(
            given["judge"], file=given["judges_file"], settings=settings
        ),
        pairs=PairSettings(**options_of(PairSettings, given)),
        fit=FitSettings(**options_of(FitSettings, given)),
        **{name: given[name] for name in names},
    )
    if given["dry_run"]:
        found = annotator.estimate()
        said = told("zelo/estimate.txt", found=found, usd=_usd, time=_time)
        emit(found, said, as_json=given["as_json"], indent=2)
        return
    with progress_bars() as progress, _draining(annotator):
        annotator.progress = progress
        done = annotator.annotate()
    left_out = [f"{query}: {i}" for query, ids in done.unjudged for i in ids]
    if doubts := told("zelo/doubts.txt", done=done, left_out=left_out, usd=_usd):
        click.echo(doubts, err=True)
    said = told("zelo/annotation.txt", done=done, usd=_usd)
    emit(done, said, as_json=given["as_json"], indent=2)
    if done.stopped:
        sys.exit(_STOPPED[done.stopped])


@contextmanager
def _draining(annotator: ZeloAnnotator) -> Iterator[None]:
    """Let the first Ctrl-C stop an annotation, and the second end it at once."""
    usual = signal.getsignal(signal.SIGINT)

    def stop(*_: Any) -> None:
        signal.signal(signal.SIGINT, usual)
        if not annotator.stop():
            raise KeyboardInterrupt
        click.echo(
            "Waiting for answers that are under way; Ctrl-C again to leave at once.",
            err=True,
        )

    try:
        signal.signal(signal.SIGINT, stop)
    except ValueError:  # another thread than the main one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _time(seconds: float) -> str:
    """Return a time as people say it, to two places."""
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    left, parts = max(1, round(seconds)), []
    for name, size in units:
        if left >= size:
            parts.append(f"{left // size} {name}")
        left %= size
    return " ".join(parts[:2])


def _usd(cost: float | None) -> str:
    return "price not known" if cost is None else f"{cost:,.4f} USD"


@zelo.command()
@click.argument("target", type=FILE)
@options_told("export", algorithms={"shell_complete": complete_algorithm})
@click.pass_obj
def export(settings: Settings, /, **given: Any) -> None:
    """Write questions with candidate chunks of a corpus to TARGET, to be judged.

    Without --questions or --bundled, the questions are those that were asked of the
    corpus before.
    """
    from knowtrail.eval.zelo.corpus import (
        bundled_questions,
        candidates,
        questions_of_file,
        stored_questions,
    )
    from knowtrail.ingest.corpus import only_corpus
    from knowtrail.retrieval.questions import check_question
    from knowtrail.retrieval.rerank.datasets import write_queries

    if given["questions"] and given["bundled"]:
        raise click.UsageError("Choose one of --questions and --bundled.")
    for algorithm in given["algorithms"]:
        check_question("?", algorithm=algorithm, k=given["count"])
    with open_connection(settings) as connection, progress_bars() as progress:
        corpus = only_corpus(connection, given["corpus"] or settings.corpus)
        if given["bundled"]:
            asked: Iterable[str] = bundled_questions()
        elif given["questions"]:
            asked = questions_of_file(given["questions"])
        else:
            asked = stored_questions(connection, corpus)
        found = candidates(
            connection,
            islice(asked, given["limit"]),
            corpus=corpus,
            algorithms=given["algorithms"],
            count=given["count"],
            settings=settings,
            progress=progress,
        )
        count = write_queries(given["target"], found)
    click.echo(f"{count:,} queries: {given['target']}")


@zelo.command("import")
@click.argument("annotated", type=FILE)
@options_told("import")
@click.pass_obj
def import_(
    settings: Settings, /, *, annotated: Path, corpus: str | None, **given: Any
) -> None:
    """Put the scores and battles of an annotation into the graph.

    A question's scores take the place of those that it had.
    """
    from knowtrail.eval.zelo.corpus import store_annotation
    from knowtrail.ingest.corpus import only_corpus

    if not annotated.exists():
        msg = f"There is no file {annotated}: make one with eval zelo annotate."
        raise InputError(msg)
    with open_connection(settings) as connection:
        name = only_corpus(connection, corpus or settings.corpus)
        done = store_annotation(
            connection, annotated, corpus=name, folder=given["work"]
        )
    if done.missing:
        click.echo(
            f"{done.missing:,} documents are no chunks of corpus {name!r}.", err=True
        )
    said = (
        f"{done.queries:,} questions, {done.scores:,} scores, {done.battles:,} battles"
    )
    emit(done, said, as_json=given["as_json"])


@zelo.command()
@click.argument("truth", type=_PATH)
@click.argument("rankings", metavar="RANKING...", type=_PATH, nargs=-1, required=True)
@options_told("benchmark")
@click.pass_obj
def benchmark(
    settings: Settings, /, *, truth: Path, rankings: tuple[Path, ...], **given: Any
) -> None:
    """Compare rankings with the TRUTH, query by query.

    All are annotated files. With several rankings, each is also compared with the
    first, on the queries that both have.

    \b
    knowtrail eval zelo benchmark truth.jsonl bm25.jsonl embedding.jsonl
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.zelo import metrics, pages

    if report := given["report"]:
        check_output(report, (".html",))
    if histogram := given["histogram"]:
        kind = check_output(histogram, (".png", ".svg"))
    chosen = metrics.RankingSettings(**options_of(metrics.RankingSettings, given))
    found = metrics.benchmark_files(truth, rankings, settings=chosen)
    apart = metrics.differences(found, seed=chosen.seed)
    runs = _stored(settings, truth, rankings, found, chosen) if given["store"] else {}
    if report:
        page = pages.benchmark_page(truth.name, found, apart, settings=chosen)
        write_file(report, page)
    if histogram:
        write_file(histogram, pages.histogram_picture(truth.name, found, kind))
    answer = pages.benchmark_json(found, apart, runs)
    drawn = partial(draw_tables, pages.benchmark_tables(found, apart))
    emit(answer, drawn, as_json=given["as_json"])


def _stored(
    settings: Settings,
    truth: Path,
    rankings: Sequence[Path],
    found: Sequence[Benchmark],
    chosen: RankingSettings,
) -> dict[str, str]:
    """Keep each benchmark as a run; return the ids of the runs by ranking."""
    from knowtrail.eval.store import store_run
    from knowtrail.eval.zelo.metrics import as_metrics, as_records, as_run

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


@zelo.command()
@click.argument("source", type=_PATH)
@click.argument("target", type=_PATH)
@options_told("rerank")
@click.pass_obj
def rerank(settings: Settings, /, *, name: str, as_json: bool, **given: Any) -> None:
    """Score the documents of SOURCE with a reranker, and write them to TARGET.

    Both are JSON Lines, one query a line. A run that was interrupted continues.

    \b
    knowtrail eval zelo rerank queries.jsonl bm25.jsonl --with bm25
    """  # noqa: D301 - click reads the backspace
    from knowtrail.retrieval.rerank import load_reranker

    reranker = load_reranker(name, settings=settings)
    with progress_bars() as progress:
        count = reranker.annotate_sync(**given, progress=progress)
    answer = {"reranker": name, "queries": count, "file": str(given["target"])}
    emit(answer, f"{name} scored {count} queries: {given['target']}.", as_json=as_json)


@zelo.command()
@click.argument("annotated", type=_PATH)
@click.argument("model", type=_PATH)
@options_told("train")
@click.pass_obj
def train(
    settings: Settings, /, *, annotated: Path, model: Path, as_json: bool, **given: Any
) -> None:
    """Train a reranker on the scores of ANNOTATED, and write it to MODEL.

    It is a small linear model of embedding and BM25 features. What it is worth is told
    on the queries that are held out.

    \b
    knowtrail eval zelo train annotated.jsonl reranker.npz
    knowtrail search "..." --rerank pointwise:reranker.npz
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.zelo.pages import training_json, training_table
    from knowtrail.eval.zelo.training import train as train_model
    from knowtrail.retrieval.corpora import loaded_embedder
    from knowtrail.retrieval.rerank.pointwise import write_model

    check_output(model, [".npz"])
    embedder = loaded_embedder(settings.embedder, settings)
    with progress_bars() as progress:
        found = train_model(annotated, embedder, **given, progress=progress)
    write_model(model, found.model)
    said = (
        f"Trained on {len(found.trained)} queries, measured on {len(found.held_out)}: "
        f"{model}."
    )
    emit(
        {"file": str(model), **training_json(found)},
        partial(draw_tables, [training_table(found)], above=said),
        as_json=as_json,
    )


_annotation = click.argument("annotation", type=_PATH)


@zelo.command()
@_annotation
@options_told("inspect")
def inspect(
    *, annotation: Path, query_id: str | None, document_id: str | None, **given: Any
) -> None:
    """Show who fought whom in an ANNOTATION, and whether the judges agree.

    ANNOTATION is an annotated file beside its working folder, that folder, or an
    ai_scores.json. With several queries and none named, they are listed.

    \b
    knowtrail eval zelo inspect annotated.jsonl --query q1 --document d3
    """  # noqa: D301 - click reads the backspace
    from knowtrail.eval.zelo import pages
    from knowtrail.eval.zelo.inspection import inspected
    from knowtrail.eval.zelo.scored_pairs import one_judged, read_judged

    report, documents, as_json = (given[n] for n in ("report", "documents", "as_json"))
    if query_id is None and document_id is None and report is None:
        judged = read_judged(annotation, documents=documents)
        if len(judged) > 1:
            found = [inspected(one) for one in judged]
            drawn = partial(draw_tables, [table("queries", found)])
            emit([pages.figures(one) for one in found], drawn, as_json=as_json)
            return
    one = inspected(one_judged(annotation, query_id, documents))
    if report is not None:
        check_output(report, (".html",))
        write_file(report, pages.battles_page(one))
    if document_id is None:
        number, tables = None, pages.inspection_tables(one)
        said = f"{one.judged.query.query}\n\n{pages.summary(one)}"
    else:
        number, said = _number(one, document_id), ""
        tables = [pages.battles_table(one, number)]
    answer = pages.figures(one) | pages.details(one, number)
    emit(answer, partial(draw_tables, tables, above=said), as_json=as_json)


def _number(one: Inspection, document_id: str) -> int:
    from knowtrail.eval.zelo.scored_pairs import some_ids

    ids = [document.id for document in one.judged.documents]
    if document_id in ids:
        return ids.index(document_id)
    raise InputError(
        f"Query {one.judged.query.id!r:.60} has no document {document_id!r:.60}: there "
        f"are {some_ids(ids)}."
    )


@click.command()
@_annotation
@options_told("battles")
@output_option("knowtrail-battles.html", ".html, .png or .svg")
def battles(
    *, annotation: Path, query_id: str | None, documents: Path | None, output: Path
) -> None:
    """Draw the battles of a query in an ANNOTATION, in input and in zELO order.

    ANNOTATION is an annotated file beside its working folder, that folder, or an
    ai_scores.json. The .html has every battle with its reasonings besides; without the
    extra view it has all but the picture.
    """
    from knowtrail.eval.zelo import pages
    from knowtrail.eval.zelo.inspection import inspected
    from knowtrail.eval.zelo.scored_pairs import one_judged

    suffix = check_output(output, (".html", ".png", ".svg"))
    one = inspected(one_judged(annotation, query_id, documents))
    is_page = suffix == ".html"
    drawn = pages.battles_page(one) if is_page else pages.battles_picture(one, suffix)
    write_file(output, drawn)
    click.echo(str(output))
