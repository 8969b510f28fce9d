"""`knowtrail ask`: an answer in words, with the sentences it rests on."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.answers import emit
from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.cli.tables import write_wrapped
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import DEFAULT_LANGUAGE_MODEL, as_typed, own_command
from knowtrail.retrieval.cli.options import (
    algorithm_option,
    load_model,
    told,
    walk_asked,
    walk_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.ask import Answer


@click.command()
@click.argument("question", required=False)
@algorithm_option
@walk_options
@told("ask")
@click.pass_obj
def ask(
    settings: Settings,
    /,
    *,
    question: str | None,
    forget: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer QUESTION in words, from sentences found by walking the graph.

    Where institutions are stored, a question for them is answered by a query. The
    language model is by default that of KNOWTRAIL_LANGUAGE_MODEL; without any, the
    answer is the sentences nearest to the question.
    """
    from knowtrail.retrieval.ask import ask_stream

    if question is None or forget:
        _forget(settings, question, options["conversation"], asked=forget)
        return
    names = ("strict", "understand", "route", "conversation")
    template = {name: options.pop(name) for name in names} | {"as_json": as_json}
    given = {name: options.pop(name) for name in ("record", "seconds")}
    context = options.pop("context")
    if template["route"] == "graph" and template["understand"] == "model":
        raise click.UsageError("--understand model reads for templates: leave it out.")
    asked = walk_asked(settings, question, options, _model)
    given |= {name: asked.pop(name) for name in ("model", "corpus")}
    with open_connection(settings) as connection:
        if template["route"] != "graph":
            from knowtrail.retrieval.specificity.routes import answered_by_template

            if answered_by_template(
                connection, settings, question, **template, **given
            ):
                return
        pieces = ask_stream(connection, question, context=context, **given, **asked)
        answer = _shown(pieces, streams=not as_json)
    _show(answer, settings, as_json=as_json)


def _model(name: str | None, settings: Settings) -> LanguageModel | None:
    chosen = settings.language_model
    if name is None and chosen != DEFAULT_LANGUAGE_MODEL:
        from knowtrail.graph.models.language_models import check_there

        check_there(chosen, settings)
    return load_model(name, settings)


def _show(answer: Answer, settings: Settings, *, as_json: bool) -> None:
    """Write what comes after the text of an answer, or all of it as JSON."""
    emit(answer.as_dict(), lambda: _show_sources(answer), as_json=as_json, indent=2)
    if answer.note:
        # Whole: a terminal breaks it, and a command in it can still be copied.
        click.echo(as_typed(answer.note, settings.home), err=True)
    if answer.warning:
        click.echo(f"Warning: {answer.warning}", err=True)
    elif answer.traversal_id is not None and answer.walk.steps and not as_json:
        own = own_command(settings.home)
        click.echo("\nThe walk step by step:")
        click.echo(
            f"  {own} cypher --saved traversal_steps -p traversal={answer.traversal_id}"
        )


def _forget(
    settings: Settings, question: str | None, conversation: str | None, *, asked: bool
) -> None:
    from knowtrail.retrieval.specificity.conversation import delete_conversation

    if not asked:
        raise click.UsageError("Missing argument 'QUESTION'.")
    if question is not None or conversation is None:
        raise click.UsageError("--forget takes --conversation ID, and no question.")
    with open_connection(settings) as connection:
        counters = delete_conversation(connection, conversation)
    click.echo(f"Deleted {counters.nodes_deleted} nodes of the conversation.")


def _shown(pieces: Iterator[str | Answer], *, streams: bool) -> Answer:
    """Write an answer's text as it comes, so that it steers no terminal; return it."""
    wrote = False
    for piece in pieces:
        if not isinstance(piece, str):
            if streams and not wrote:
                write_wrapped(plain_text(piece.text, lines=True), sys.stdout)
            elif streams:
                click.echo()
            answer = piece
        elif streams:
            wrote = True
            click.echo(plain_text(piece, lines=True), nl=False)
            sys.stdout.flush()
    return answer


def _show_sources(answer: Answer) -> None:
    """Write the sentences that an answer rests on, under their documents."""
    sources = answer.as_dict()["sources"]
    documents = {(source["documentId"], source["title"]) for source in sources}
    shared = Counter(title for _, title in documents)
    for number, source in enumerate(sources, start=1):
        title = source["title"]
        if shared[title] > 1:
            title += f" (document {source['documentId']})"
        line = f"- {title}: {source['text']}"
        if answer.model is None:
            line = f"[{number}] {title}, score {source['score']:.3f}"
        write_wrapped(plain_text(line), sys.stdout)
    if answer.confidence is not None:
        click.echo(f"Confidence, as {answer.model} says: {answer.confidence:.2f}")
