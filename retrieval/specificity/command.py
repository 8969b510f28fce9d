"""What `knowtrail ask` does when a question may be answered by a template."""

from __future__ import annotations

import json
import logging
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.errors import InputError
from knowtrail.graph.settings import own_command
from knowtrail.ingest.corpus import check_corpus
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.specificity.routes import (
    Route,
    choose_route,
    institutions_of,
    refuse_empty,
)

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.template_pipeline import (
        PipelineResult,
        TemplatePipeline,
    )

_LOG = logging.getLogger(__name__)

_HINTS = {
    "en": {
        "note": "Note",
        "turns": "The conversation turn by turn",
        "go on": "Go on with",
        "question": "QUESTION",
    },
    "nl": {
        "note": "Let op",
        "turns": "Het gesprek, beurt voor beurt",
        "go on": "Ga verder met",
        "question": "VRAAG",
    },
}


def answered_by_template(
    connection: Connection,
    settings: Settings,
    question: str,
    *,
    route: str,
    conversation: str | None,
    corpus: str | None,
    model: LanguageModel | None,
    record: bool,
    strict: bool,
    as_json: bool,
) -> bool:
    """Answer by a template where the route says so; say which route and why.

    Where no institutions are stored, there is nothing to choose: that is only logged.

    Raises:
        InputError: If templates are wanted and there are no institutions.
        UnknownCorpusError: If they are wanted of a corpus that is not stored.
    """
    _check_recorded(conversation, record=record)
    insisted = route == "templates" or conversation is not None
    if not _has_institutions(connection, corpus, insisted=insisted):
        return False
    from knowtrail.retrieval.specificity.live_pipeline import open_pipeline

    pipeline = open_pipeline(
        connection,
        settings,
        corpus=corpus,
        model=model,
        record=record,
        chunks=model is not None or as_json,
    )
    if route == "auto" and not _fits(
        connection, pipeline, question, conversation, corpus=corpus
    ):
        return False
    name = conversation
    if name is None and record:
        name = content_key("conversation", question, datetime.now(UTC).isoformat())
    result = pipeline.forward(question, conversation=name, strict=strict)
    _show(result, settings, as_json=as_json, new=conversation is None)
    return True


def _check_recorded(conversation: str | None, *, record: bool) -> None:
    """Refuse a conversation that is named and not to be stored."""
    if not record and conversation is not None:
        msg = "A conversation is stored: leave --no-record out, or --conversation."
        raise InputError(msg)


def _has_institutions(
    connection: Connection, corpus: str | None, *, insisted: bool
) -> bool:
    """Return whether templates could find anything; refuse, or say why not."""
    institutions = institutions_of(connection, corpus)
    if institutions.found:
        return True
    if insisted:
        refuse_empty(connection, corpus)
    if corpus is None or not institutions.stored:
        _LOG.info("Route: graph, because no institutions are stored")
    else:
        check_corpus(connection, corpus)
        _say(Route(name="graph", reason=f"corpus {corpus!r} has no institutions"))
    return False


def _fits(
    connection: Connection,
    pipeline: TemplatePipeline,
    question: str,
    conversation: str | None,
    *,
    corpus: str | None,
) -> bool:
    """Return whether templates are to answer; say the route and why."""
    chosen = choose_route(pipeline, question, conversation)
    texts = [info.name for info in corpora(connection)] if _walks(chosen) else []
    if _walks(chosen) and not (texts if corpus is None else corpus in texts):
        reason = f"{chosen.reason}, but {_textless(corpus)}"
        chosen = Route(name="templates", reason=reason)
    _say(chosen)
    return chosen.name == "templates"


def _textless(corpus: str | None) -> str:
    """Return that there is no text to walk, and how to make some."""
    has = "the graph" if corpus is None else f"corpus {corpus!r}"
    return (
        f"{has} has institutions and no texts (knowtrail ingest custodians makes them, "
        "without --no-documents)"
    )


def _walks(route: Route) -> bool:
    """Return whether a route needs texts."""
    return route.name == "graph"


def _say(route: Route) -> None:
    """Tell which route is taken and why."""
    click.echo(f"Route: {route.name}, because {route.reason}.", err=True)


def _show(
    result: PipelineResult, settings: Settings, *, as_json: bool, new: bool
) -> None:
    """Write an answer with what the user should know."""
    if as_json:
        click.echo(json.dumps(result.as_dict(), ensure_ascii=False, indent=2))
        return
    said = _HINTS[result.language]
    click.echo(plain_text(result.answer, lines=True))
    for note in result.notes:
        click.echo(f"{said['note']}: {plain_text(note, lines=True)}", err=True)
    name = result.conversation.id
    if name is None:
        return
    own = own_command(settings.home)
    click.echo(f"\n{said['turns']}:")
    click.echo(
        f"  {own} cypher --saved conversation -p conversation={shlex.quote(name)}"
    )
    if new:
        go_on, question = said["go on"], said["question"]
        click.echo(f"{go_on}: {own} ask --conversation {shlex.quote(name)} {question}")


def forget(connection: Connection, conversation: str) -> None:
    """Delete a conversation and say what went."""
    from knowtrail.retrieval.specificity.conversation import delete_conversation

    counters = delete_conversation(connection, conversation)
    click.echo(f"Deleted {counters.nodes_deleted} nodes of the conversation.")
