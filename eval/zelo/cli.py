"""`knowtrail eval zelo`: relevance judged in pairs, each command loaded when called."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.cli import options_of
from knowtrail.graph.cli.answers import emit, json_option
from knowtrail.graph.cli.groups import LazyGroup
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.cli.options import complete_algorithm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowtrail.eval.zelo.annotation import Annotation, Estimate, ZeloAnnotator
    from knowtrail.graph.settings import Settings

_HERE = "knowtrail.eval.zelo"
_COMMANDS = {
    "export": (f"{_HERE}.cli:export", "Queries with candidates of a corpus."),
    "annotate": (f"{_HERE}.cli:annotate", "Judge pairs, fit scores."),
    "benchmark": (
        f"{_HERE}.cli_rankings:benchmark",
        "Measure rerankers against annotated queries.",
    ),
    "inspect": (
        f"{_HERE}.cli_battles:inspect",
        "Battles, scores and reasonings of an annotation.",
    ),
    "rerank": (f"{_HERE}.cli_rankings:rerank", "Rank queries by a reranker."),
    "train": (f"{_HERE}.cli_rankings:train", "Fit a reranker to annotated queries."),
    "import": (f"{_HERE}.cli:import_", "Put judgements into the graph."),
    "judges": (f"{_HERE}.cli:judges", "Write the judges' configuration."),
}
"""Command -> (where it lives, one line for the list)."""


@click.group(cls=LazyGroup, commands_at=_COMMANDS)
def zelo() -> None:
    """Judge the relevance of documents in pairs, and measure rerankers by it."""


_FILE = click.Path(dir_okay=False, path_type=Path)
_STOPPED = {"budget": 1, "interrupted": 130}
_NAMED = 5


@click.command()
def judges() -> None:
    """Write the configuration of judges: who is asked, how fast, at what price.

    Edit a copy and name it by --judges-file.
    """
    from knowtrail.eval.zelo.judges import bundled_text

    click.echo(bundled_text(), nl=False)


@click.command(context_settings={"show_default": True})
@click.argument("source", type=_FILE)
@click.argument("target", type=_FILE)
@click.option(
    "--judge",
    "names",
    multiple=True,
    metavar="NAME",
    help="bm25, embedding, cross-encoder:MODEL, ollama:MODEL, or one of the "
    "configuration; several times. Without it: openai, anthropic and gemini.",
)
@click.option("--judges-file", type=_FILE, help="Configuration of judges, TOML.")
@click.option(
    "--pairs",
    "mode",
    type=click.Choice(["cycles", "dense", "adaptive"]),
    default="cycles",
    help="Random circles, every two, or those that tell most.",
)
@click.option(
    "--cycle-num",
    "--cycle_num",
    type=click.IntRange(1),
    default=4,
    help="Circles, of as many pairs as a query has documents.",
)
@click.option(
    "--cycles",
    type=click.Choice(["distinct", "published"]),
    default="distinct",
    help="Circles without a pair that was judged while others were not; or drawn "
    "without looking at each other.",
)
@click.option(
    "--document-threshold",
    "--document_threshold",
    "--document-limit",
    type=click.IntRange(1),
    help="Judge the first so many documents of each query.",
)
@click.option("--seed", default=0, help="Seed of pairs and swaps.")
@click.option(
    "--fit",
    "method",
    type=click.Choice(["maximum_likelihood", "published"]),
    default="maximum_likelihood",
    help="How scores are found.",
)
@click.option("--magnitude", is_flag=True, help="Count judges' scores by their size.")
@click.option(
    "--work",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Working folder; TARGET.zelo without it.",
)
@click.option("--dry-run", is_flag=True, help="Say what it would ask and cost; stop.")
@click.option(
    "--budget",
    type=click.FloatRange(0),
    metavar="USD",
    help="What all runs in the working folder may cost together.",
)
@click.option("--retry-failed", is_flag=True, help="Ask again for useless answers.")
@click.option("--partial", is_flag=True, help="Ask nothing; score what is known.")
@json_option
@click.pass_obj
def annotate(settings: Settings, /, **given: Any) -> None:
    """Judge the documents of SOURCE in pairs, write their scores to TARGET.

    Both have one query a line. Each judgement is kept when it is made: the same
    command continues after Ctrl-C, a crash or the end of a budget.
    """
    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.composing import FitSettings
    from knowtrail.eval.zelo.judges import load_judges
    from knowtrail.eval.zelo.pairs import PairSettings
    from knowtrail.graph.cli.progress import progress_bars

    if not given["source"].exists():
        msg = f"There is no file {given['source']}: make one with eval zelo export."
        raise InputError(msg)
    names = ("folder", "budget", "retry_failed", "partial")
    annotator = ZeloAnnotator(
        given["source"],
        given["target"],
        judges=load_judges(
            given["names"], file=given["judges_file"], settings=settings
        ),
        pairs=PairSettings(**options_of(PairSettings, given)),
        fit=FitSettings(**options_of(FitSettings, given)),
        **{name: given[name] for name in names},
    )
    if given["dry_run"]:
        _show_estimate(annotator.estimate(), as_json=given["as_json"])
        return
    with progress_bars() as progress, _draining(annotator):
        annotator.progress = progress
        done = annotator.annotate()
    _show(done, as_json=given["as_json"])
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


def _show_estimate(found: Estimate, *, as_json: bool) -> None:
    """Write what a run would ask and cost."""
    from dataclasses import asdict

    if as_json:
        answer = asdict(found) | {
            name: getattr(found, name) for name in ("inferences", "cost", "seconds")
        }
        click.echo(json.dumps(answer, indent=2))
        return
    click.echo(
        f"{found.queries:,} queries, {found.documents:,} documents, {found.pairs:,} "
        f"pairs: {found.inferences:,} judgements to be made"
    )
    for judge in found.judges:
        click.echo(
            f"  {judge.judge}: {judge.judgements:,} to be made, {judge.known:,} known, "
            f"at most {judge.prompt_tokens:,} tokens sent, about "
            f"{judge.completion_tokens:,} received, {_usd(judge.cost)}"
            + (f", at least {_time(judge.seconds)}" if judge.seconds else "")
        )
    click.echo(f"Cost: {_usd(found.cost)}; spent before: {_usd(found.spent)}")
    click.echo(
        f"Time: at least {_time(found.seconds)}, by the limits of speed"
        if found.seconds
        else "Time: not known, as no judge has a limit of speed"
    )


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
    """Return a price, which may be unknown."""
    return "price not known" if cost is None else f"{cost:,.4f} USD"


def _show(done: Annotation, *, as_json: bool) -> None:
    """Write what came of a run."""
    from dataclasses import asdict

    for warning in done.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if done.unjudged:
        _tell_unjudged(done)
    if done.stopped:
        click.echo(_why_stopped(done), err=True)
    if as_json:
        click.echo(json.dumps(asdict(done), indent=2, default=str))
        return
    counts = done.counts
    click.echo(
        f"{done.queries:,} queries, {done.pairs:,} pairs, {done.scored:,} documents "
        f"scored; {counts.asked:,} judgements asked for, {counts.reused:,} known "
        f"before, {counts.failed:,} failed; {done.degrees[0]} to {done.degrees[1]} "
        f"battles a document; {_usd(done.cost)}, {_usd(done.spent)} in all"
    )
    for judge in done.judges:
        click.echo(
            f"  {judge.judge}: {judge.answered:,} answers, {judge.failed:,} failed, "
            f"{judge.ties:.0%} ties, {judge.first:.0%} for the document shown first"
            + (f", {judge.shortened:,} shortened" if judge.shortened else "")
        )
    click.echo(f"Battles: {done.folder}")
    if done.target is not None:
        click.echo(f"Scores: {done.target}")


def _tell_unjudged(done: Annotation) -> None:
    """Name documents without a score."""
    count = sum(len(ids) for _, ids in done.unjudged)
    some = [f"{query}: {i}" for query, ids in done.unjudged for i in ids][:_NAMED]
    more = ", ..." if count > len(some) else ""
    click.echo(
        f"Without a score, and left out: {count:,} documents "
        f"({', '.join(some)}{more}); {done.folder / 'fits.jsonl'} names all.",
        err=True,
    )


def _why_stopped(done: Annotation) -> str:
    """Say why a run stopped and how it goes on."""
    why = (
        f"The budget is spent ({_usd(done.spent)})"
        if done.stopped == "budget"
        else "Interrupted"
    )
    further = " with a larger --budget" if done.stopped == "budget" else ""
    return (
        f"{why}: {done.counts.asked + done.counts.reused:,} judgements are kept in "
        f"{done.folder}, and no scores are written. The same command{further} goes "
        "on; --partial scores what is there."
    )


@click.command(context_settings={"show_default": True})
@click.argument("target", type=_FILE)
@click.option("--corpus", help="Corpus to ask; needed where there are several.")
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    default=("basic_retrieval",),
    shell_complete=complete_algorithm,
    help="How candidates are found; several take turns.",
)
@click.option(
    "--candidates",
    "count",
    type=click.IntRange(1),
    default=20,
    help="Chunks wanted of each algorithm.",
)
@click.option("--questions", type=_FILE, help="Questions, one a line, text or JSON.")
@click.option("--bundled", is_flag=True, help="The questions of the quick start.")
@click.option("--limit", type=click.IntRange(1), help="Take the first so many.")
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
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.session import open_connection
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


@click.command("import")
@click.argument("annotated", type=_FILE)
@click.option("--corpus", help="Corpus of the chunks; needed where there are several.")
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Working folder of the annotation; ANNOTATED.zelo without it.",
)
@json_option
@click.pass_obj
def import_(
    settings: Settings,
    /,
    *,
    annotated: Path,
    corpus: str | None,
    work: Path | None,
    as_json: bool,
) -> None:
    """Put the scores and battles of an annotation into the graph.

    A question's scores take the place of those that it had.
    """
    from dataclasses import asdict

    from knowtrail.eval.zelo.corpus import store_annotation
    from knowtrail.graph.session import open_connection
    from knowtrail.ingest.corpus import only_corpus

    if not annotated.exists():
        msg = f"There is no file {annotated}: make one with eval zelo annotate."
        raise InputError(msg)
    with open_connection(settings) as connection:
        name = only_corpus(connection, corpus or settings.corpus)
        done = store_annotation(connection, annotated, corpus=name, folder=work)
    if done.missing:
        click.echo(
            f"{done.missing:,} documents are no chunks of corpus {name!r}.", err=True
        )
    told = (
        f"{done.queries:,} questions, {done.scores:,} scores, {done.battles:,} battles"
    )
    emit(asdict(done), told, as_json=as_json)
