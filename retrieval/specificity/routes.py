"""Whether a question goes to the templates, and what `knowtrail ask` then does."""

from __future__ import annotations

import json
import logging
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import click

from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.errors import InputError
from knowtrail.graph.settings import Settings, own_command
from knowtrail.ingest.corpus import check_corpus
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.specificity.query_templates import NONE
from knowtrail.retrieval.specificity.vocabulary import said_in

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.template_pipeline import (
        PipelineResult,
        TemplatePipeline,
    )
    from knowtrail.retrieval.specificity.understanding import Understanding

_LOG = logging.getLogger(__name__)

RouteName: TypeAlias = Literal["templates", "graph"]


class Route(NamedTuple):
    """How a question is answered, and why, for people."""

    name: RouteName
    reason: str


class Institutions(NamedTuple):
    """Whether the database has institutions, and the corpus that was asked for."""

    stored: bool
    found: bool


def institutions_of(connection: Connection, corpus: str | None = None) -> Institutions:
    """Return whether institutions are stored, asking the database once."""
    row = connection.read("retrieval/specificity_institutions", corpus=corpus)[0]
    return Institutions(stored=bool(row["stored"]), found=bool(row["found"]))


def choose_route(
    pipeline: TemplatePipeline,
    question: str,
    conversation: Conversation | str | None = None,
) -> Route:
    """Return whether a question is better answered by a template or from the graph."""
    seen = pipeline.understand(question, conversation=conversation)
    if seen.status == "lost":
        return Route(name="templates", reason="it builds on an earlier question")
    if seen.status == "irrelevant" or seen.classification is None:
        return Route(name="graph", reason="it names nothing of heritage institutions")
    if seen.template_id == NONE:
        reason = "it asks for what no template answers"
        likely, score = next(iter(seen.classification.scores), (NONE, 0.0))
        if likely != NONE:
            reason = f"no template fits; {likely} is nearest, only {score:.2f} like it"
        return Route(name="graph", reason=reason)
    if seen.left_out:
        words = " ".join(seen.left_out)
        reason = f"the template {seen.template_id} does not take {words!r} into account"
        return Route(name="graph", reason=reason)
    confidence = seen.classification.confidence
    reason = f"the template {seen.template_id} fits, with confidence {confidence:.2f}"
    return Route(name="templates", reason=reason)


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
    understand: str = "rules",
    seconds: float = 60.0,
) -> bool:
    """Answer by a template where the route says so; say which route and why.

    Where no institutions are stored, there is nothing to choose: that is only logged,
    but refused where templates are wanted.
    """
    if not record and conversation is not None:
        msg = "A conversation is stored: leave --no-record out, or --conversation."
        raise InputError(msg)
    insisted = route == "templates" or conversation is not None
    if not _has_institutions(connection, corpus, insisted=insisted):
        return False
    from knowtrail.retrieval.specificity.live_pipeline import open_pipeline

    reader = _understanding(understand, model, settings, seconds)
    if reader is not None:  # numbers that a model words are nobody's
        model = None
    pipeline = open_pipeline(
        connection,
        settings,
        corpus=corpus,
        model=model,
        understanding=reader,
        record=record,
        chunks=model is not None or as_json,
    )
    if route == "auto" and not _fits(connection, pipeline, question, conversation):
        return False
    name = conversation
    if name is None and record:
        name = content_key("conversation", question, datetime.now(UTC).isoformat())
    result = pipeline.forward(question, conversation=name, strict=strict)
    _show(result, settings, as_json=as_json, new=conversation is None)
    return True


def _understanding(
    name: str, model: LanguageModel | None, settings: Settings, seconds: float
) -> Understanding | None:
    """Return what understands questions; None for rules."""
    if name == "rules":
        return None
    from knowtrail.graph.models.language_models import check_there, load_language_model
    from knowtrail.retrieval.specificity.understanding import ByModel

    if model is None:
        check_there(settings.language_model, settings)
        model = load_language_model(settings=settings)
    return ByModel(model, seconds=seconds)


def _has_institutions(
    connection: Connection, corpus: str | None, *, insisted: bool
) -> bool:
    """Return whether templates could find anything; refuse, or say why not."""
    institutions = institutions_of(connection, corpus)
    if institutions.found:
        return True
    if insisted:
        from knowtrail.retrieval.specificity.live_pipeline import refuse_empty

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
) -> bool:
    """Return whether templates are to answer; say the route and why."""
    chosen = choose_route(pipeline, question, conversation)
    corpus = pipeline.options.corpus
    if chosen.name == "graph":
        texts = [info.name for info in corpora(connection)]
        has = "the graph" if corpus is None else f"corpus {corpus!r}"
        if not (texts if corpus is None else corpus in texts):
            reason = (
                f"{chosen.reason}, but {has} has institutions and no texts (knowtrail "
                "ingest custodians makes them, without --no-documents)"
            )
            chosen = Route(name="templates", reason=reason)
    _say(chosen)
    return chosen.name == "templates"


def _say(route: Route) -> None:
    click.echo(f"Route: {route.name}, because {route.reason}.", err=True)


def _show(
    result: PipelineResult, settings: Settings, *, as_json: bool, new: bool
) -> None:
    if as_json:
        click.echo(json.dumps(result.as_dict(), ensure_ascii=False, indent=2))
        return
    said = said_in(result.language)["hints"]
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
