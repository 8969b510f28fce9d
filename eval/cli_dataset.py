"""`knowtrail dataset`: questions with known answers, made or converted."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graph.lazy_group import NearGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.generation import (
        ContextGroup,
        GeneratedQuestions,
        QuestionOptions,
    )
    from eval.skn.models import ModelOptions
    from graph.settings import Settings

__all__ = ["dataset"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_GROUPINGS = "intra_document, theme_based, sequential_multi_hop, deepeval_native"
_EVOLUTIONS = "reasoning, multi-context, comparative"


@click.group(cls=NearGroup)
def dataset() -> None:
    """Make and convert data sets of questions."""


@dataset.command()
@click.argument("corpus")
@click.option(
    "--output",
    type=_FILE,
    required=True,
    help="File of questions: .jsonl, or .json or .csv as DeepEval has them.",
)
@click.option("--model", metavar="NAME", help="Ollama model that writes the questions.")
@click.option("--critic", metavar="NAME", help="Another model that judges them.")
@click.option(
    "--synthesizer",
    type=click.Choice(["chain", "deepeval"]),
    default="chain",
    show_default=True,
    help="Our own prompts, or DeepEval's Synthesizer.",
)
@click.option(
    "--goldens", default=10, show_default=True, help="Questions wanted, at most."
)
@click.option(
    "--goldens-per-context",
    default=1,
    show_default=True,
    help="Questions asked about one context.",
)
@click.option(
    "--grouping",
    "groupings",
    multiple=True,
    metavar="NAME[=WEIGHT]",
    help=f"How contexts are gathered, repeatable: {_GROUPINGS}. All without it.",
)
@click.option(
    "--evolution",
    "evolutions",
    multiple=True,
    metavar="NAME[=SHARE]",
    help=f"How questions are made harder, repeatable: {_EVOLUTIONS}.",
)
@click.option(
    "--evolution-rounds",
    default=1,
    show_default=True,
    help="How often a question is made harder; 0 for never.",
)
@click.option(
    "--threshold", default=0.8, show_default=True, help="Score that the critic wants."
)
@click.option(
    "--retries",
    default=5,
    show_default=True,
    help="How often the critic looks at a question.",
)
@click.option(
    "--max-sentences",
    default=10,
    show_default=True,
    help="Sentences of a context, sequential_multi_hop apart.",
)
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    help="Documents that sequential_multi_hop reads in.",
)
@click.option(
    "--round-chunks",
    default=3,
    show_default=True,
    help="Chunks that it reads in each, at most.",
)
@click.option(
    "--round-sentences",
    default=5,
    show_default=True,
    help="Sentences that it keeps of each.",
)
@click.option(
    "--native-chunks",
    default=3,
    show_default=True,
    help="Chunks of deepeval_native, of different documents.",
)
@click.option(
    "--theme-targets",
    default=1,
    show_default=True,
    help="Documents of like themes that theme_based looks for.",
)
@click.option(
    "--fallback/--no-fallback",
    default=True,
    show_default=True,
    help="Go to any document where none of like themes is near.",
)
@click.option("--seed", default=0, show_default=True, help="Repeats all choices.")
@click.option("--groups-only", is_flag=True, help="Write the contexts, ask no model.")
@click.option(
    "--work",
    type=_FOLDER,
    help="Folder in which an interrupted run goes on; FILE.work without it.",
)
@click.option("--retry-failed", is_flag=True, help="Try failed questions again.")
@click.option("--temperature", default=0.0, show_default=True, help="Of the models.")
@click.option(
    "--tokens", default=1_024, show_default=True, help="Most tokens of an answer."
)
@click.option(
    "--seconds", default=120.0, show_default=True, help="Time limit of an answer."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_obj
def generate(settings: Settings, /, corpus: str, **given: Any) -> None:
    """Make questions about CORPUS, with answers and the sentences they rest on.

    Chunks are gathered along the graph's edges, then a language model writes a question
    about them, makes it harder, judges it, and answers it. What it says is kept: an
    interrupted run goes on where it ended.

    \b
    knowtrail dataset generate glaciers --output asked.jsonl --goldens 20
    knowtrail dataset generate glaciers --output contexts.jsonl --groups-only
    """  # noqa: D301 - click reads the backspace
    from eval.cli_dataset_output import write_groups, write_made
    from eval.generation import GraphContexts, context_groups, corpus_passages
    from eval.generation.files import FORMATS
    from graph.cli_session import open_connection
    from graph.progress import progress_bars
    from retrieval.corpora import corpora, pick_corpus
    from retrieval.views.files import check_output

    output: Path = given["output"]
    check_output(output, [".jsonl"] if given["groups_only"] else FORMATS)
    plan, options, models = _plan(given), _options(given), _models(given)
    with open_connection(settings) as connection, progress_bars() as progress:
        name = pick_corpus(corpora(connection), corpus).name
        source = GraphContexts(connection, name)
        grouped = context_groups(source, plan, progress=progress)
        passages = [] if given["groups_only"] else [*corpus_passages(connection, name)]
    if given["groups_only"]:
        write_groups(output, grouped, as_json=given["as_json"])
        return
    made = _made(settings, grouped.groups, given, options, models)
    write_made(output, made, grouped, passages, as_json=given["as_json"])


def _weights(given: tuple[str, ...], what: str) -> dict[str, float]:
    """Return what `NAME=NUMBER` options say; a name alone counts 1."""
    weights: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            weights[name.strip()] = float(number) if number else 1.0
        except ValueError as error:
            msg = f"--{what} {text}: write NAME or NAME=NUMBER, such as {name}=0.5."
            raise click.UsageError(msg) from error
    return weights


def _plan(given: dict[str, Any]) -> Any:
    """Return which contexts are wanted, checked."""
    from eval.generation import GroupPlan, WalkParameters

    sizes = WalkParameters(
        max_sentences=given["max_sentences"],
        rounds=given["rounds"],
        round_chunks=given["round_chunks"],
        round_sentences=given["round_sentences"],
        native_chunks=given["native_chunks"],
        theme_targets=given["theme_targets"],
        fallback=given["fallback"],
    )
    weights = _weights(given["groupings"], "grouping")
    return GroupPlan(
        goldens=given["goldens"],
        goldens_per_context=given["goldens_per_context"],
        seed=given["seed"],
        sizes=sizes,
        **({"weights": weights} if weights else {}),
    )


def _options(given: dict[str, Any]) -> QuestionOptions:
    """Return how questions are made, checked."""
    from eval.generation import QuestionOptions

    evolutions = _weights(given["evolutions"], "evolution")
    return QuestionOptions(
        rounds=given["evolution_rounds"],
        threshold=given["threshold"],
        retries=given["retries"],
        retry_failed=given["retry_failed"],
        seed=given["seed"],
        **({"evolutions": evolutions} if evolutions else {}),
    )


def _models(given: dict[str, Any]) -> ModelOptions:
    """Return how models are asked, checked.

    Raises:
        MissingExtraError: If what is asked for needs DeepEval, which is not there.
    """
    from eval.skn.models import ModelOptions

    if given["synthesizer"] == "deepeval" and not given["groups_only"]:
        from eval.judged.bridge import need_deepeval

        need_deepeval()
    return ModelOptions(
        temperature=given["temperature"],
        tokens=given["tokens"],
        seconds=given["seconds"],
    )


def _made(
    settings: Settings,
    groups: tuple[ContextGroup, ...],
    given: dict[str, Any],
    options: QuestionOptions,
    models: ModelOptions,
) -> GeneratedQuestions:
    """Ask for the questions; what is finished is in the working folder."""
    from eval.generation import chain_writer, generate_questions
    from eval.skn.state import State
    from graph.progress import progress_bars

    work: Path = given["work"] or given["output"].with_name(
        f"{given['output'].name}.work"
    )
    make = chain_writer
    if given["synthesizer"] == "deepeval":
        from eval.generation.synthesizer import deepeval_writer

        make = deepeval_writer
    with _kept(work), State(work) as state, progress_bars() as progress:
        writer = make(
            given["model"] or settings.language_model,
            critic=given["critic"],
            state=state,
            options=options,
            models=models,
            settings=settings,
        )
        return generate_questions(
            groups,
            writer,
            state=state,
            goldens=given["goldens"],
            per_group=given["goldens_per_context"],
            options=options,
            progress=progress,
        )


@contextmanager
def _kept(work: Path) -> Iterator[None]:
    """Say what is not lost when the run is interrupted or fails."""
    from graph.errors import ModelError

    try:
        yield
    except (KeyboardInterrupt, ModelError):
        state = work / "state.jsonl"
        if state.exists() and state.stat().st_size:
            click.echo(
                f"What is finished is kept in {work}: the same command goes on.",
                err=True,
            )
        raise


@dataset.command()
@click.argument("source", metavar="KIND:FILES")
@click.argument("output", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def convert(source: str, output: Path, *, as_json: bool) -> None:
    """Convert a data set, named as `eval retrieval` names it, to OUTPUT.

    OUTPUT ends in .jsonl (our own form, with the passages beside it), or in .json or
    .csv for DeepEval.

    \b
    knowtrail dataset convert musique:questions.json,corpus.json musique.jsonl
    knowtrail dataset convert jsonl:asked.jsonl,asked.passages.jsonl asked.csv
    """  # noqa: D301 - click reads the backspace
    from eval.cli_dataset_output import show
    from eval.datasets import read_specification
    from eval.generation.files import (
        FORMATS,
        dataset_questions,
        passages_beside,
        write_passages,
        write_questions,
    )
    from retrieval.views.files import check_output

    check_output(output, FORMATS)
    read = read_specification(source)
    for problem in read.problems:
        click.echo(f"Warning: {problem.message}", err=True)
    write_questions(output, dataset_questions(read))
    if output.suffix.lower() == ".jsonl":
        write_passages(passages_beside(output), read.passages)
    show(
        {
            "questions": len(read.questions),
            "passages": len(read.passages),
            "problems": len(read.problems),
            "output": str(output),
        },
        f"{len(read.questions)} questions are in {output}.",
        as_json=as_json,
    )
