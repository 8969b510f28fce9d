"""Whether a question goes to the templates: light, for most graphs have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from knowtrail.graph.errors import InputError
from knowtrail.ingest.corpus import check_corpus
from knowtrail.retrieval.specificity.query_templates import NONE

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

_NO_INSTITUTIONS = (
    "Templates need institutions, and the graph has none: put some in with knowtrail "
    "ingest custodians, or use --route graph."
)

RouteName: TypeAlias = Literal["templates", "graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a question is answered.

    Attributes:
        name: `templates` or `graph`.
        reason: Why, for people.
    """

    name: RouteName
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Institutions:
    """Whether templates could find anything.

    Attributes:
        stored: Whether the database has institutions.
        found: Whether the corpus that was asked for has some; `stored` where none was.
    """

    stored: bool
    found: bool


def institutions_of(connection: Connection, corpus: str | None = None) -> Institutions:
    """Return whether institutions are stored, asking the database once."""
    row = connection.read("retrieval/specificity_institutions", corpus=corpus)[0]
    return Institutions(stored=bool(row["stored"]), found=bool(row["found"]))


def refuse_empty(connection: Connection, corpus: str | None) -> NoReturn:
    """Refuse a corpus, or a database, that has no institutions.

    Raises:
        UnknownCorpusError: If a corpus is named and nothing is stored under the name.
        InputError: If it, or where none is named the database, has no institutions.
    """
    if corpus is None:
        raise InputError(_NO_INSTITUTIONS)
    check_corpus(connection, corpus)
    msg = (
        f"Corpus {corpus!r} has texts and no institutions: name a corpus of "
        "institutions, none for all, or use --route graph."
    )
    raise InputError(msg)


def choose_route(
    pipeline: TemplatePipeline,
    question: str,
    conversation: Conversation | str | None = None,
) -> Route:
    """Return whether a question is better answered by a template or from the graph."""
    seen = pipeline.understand(question, conversation=conversation)
    if seen.status == "lost":
        return Route(name="templates", reason="it builds on an earlier question")
    if seen.status == "irrelevant":
        return Route(name="graph", reason="it names nothing of heritage institutions")
    if seen.classification is None:
        msg = "The question was not classified."
        raise InputError(msg)
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
