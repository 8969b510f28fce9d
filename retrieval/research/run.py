"""Research from one call: begun, gone on with where it was left, and reported."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from socket import gethostname
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import InputError, KnowtrailError, check_whole
from knowtrail.graph.extras import extra
from knowtrail.graph.models.embedders import embedder_name
from knowtrail.graph.models.language_models import model_at_hand
from knowtrail.graph.models.served import served_embedder
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.budgets import RESEARCH
from knowtrail.retrieval.corpora import agreed_embedder, find_corpus
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.research.desk import LOCKED, Desk
from knowtrail.retrieval.research.records import open_questions
from knowtrail.retrieval.research.report import report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from typing import TypeAlias

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.research.records import ResearchState
    from knowtrail.retrieval.research.report import ResearchReport

    AsyncApproval: TypeAlias = Callable[
        [Sequence[str]], Coroutine[Any, Any, Sequence[str]]
    ]

QUIET = timedelta(minutes=10)
"""After so long without a write a run is taken for one whose process is gone."""


def research(
    connection: Connection,
    question: str,
    *,
    embedder: Embedder | None = None,
    corpus: str | None = None,
    budget: int = RESEARCH.default,
    model: LanguageModel | None = None,
    approve: Callable[[Sequence[str]], Sequence[str]] | None = None,
    fresh: bool = False,
    progress: Progress = silent,
    settings: Settings | None = None,
) -> ResearchReport:
    """Find out what a corpus says to a question, by many walks, and report it.

    All of it is stored as it is made. Where the same question to the same corpus was
    left before its end, the run goes on from there, as long as the corpus is the same;
    one that a process, if it still is, wrote to in the last ten minutes is refused.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        embedder: The model of the corpus; None loads it, see `traverse`.
        corpus: Name of the corpus; may be left out where there is only one.
        budget: Walks and calls of the language model together.
        model: None takes `model_at_hand`; without any, the report is stored sentences.
        approve: Given what is planned, returns the questions to ask; none ends the run.
        fresh: Whether to begin anew, whatever was left.
        progress: Told of what is spent.
        settings: Where embedder, language model and snapshots are found.

    Raises:
        InputError: If an argument is no good, the plan refused, or the run going on.
        MissingExtraError: If the extra `research` is not installed.
        ModelError: If the language model does not answer; the same call goes on.
        DatabaseError: If the database fails.
    """
    check_question(question)
    check_budget(budget)
    with extra("research", "Research"):
        import langgraph.graph as _  # noqa: F401
    info = find_corpus(connection, corpus)
    agreed = served_embedder(connection, agreed_embedder(info, embedder, settings))
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    desk = Desk(
        begun={},
        question=question,
        corpus=info,
        connection=connection,
        embedder=agreed,
        model=model or model_at_hand(settings),
        budget=budget,
        approval=approve is not None,
        settings=settings,
        progress=progress,
    )
    desk, state, goes_on = _left(desk, fresh=fresh)
    with _marked_where_it_breaks(desk):
        return report_of(desk, _ended(desk, state, approve), goes_on=goes_on)


async def aresearch(
    connection: Connection,
    question: str,
    *,
    embedder: Embedder | None = None,
    corpus: str | None = None,
    budget: int = RESEARCH.default,
    model: LanguageModel | None = None,
    approve: AsyncApproval | None = None,
    fresh: bool = False,
    progress: Progress = silent,
    settings: Settings | None = None,
) -> ResearchReport:
    """Do as `research` does, in a thread, without blocking; see there.

    `approve` is awaited in the caller's event loop, `progress` called in the thread. A
    task that is cancelled ends with the step that it is in; the same call goes on.
    """
    loop, cancelled = asyncio.get_running_loop(), threading.Event()
    asked: list[Future[Sequence[str]]] = []

    def told(stage: str, done: int, total: int | None) -> None:
        if cancelled.is_set():
            raise CancelledError
        progress(stage, done, total)

    def approved(plan: Sequence[str]) -> Sequence[str]:
        asking = cast("AsyncApproval", approve)(plan)
        answer = asyncio.run_coroutine_threadsafe(asking, loop)
        asked.append(answer)
        if cancelled.is_set():
            answer.cancel()
        return answer.result()

    work = asyncio.to_thread(
        research,
        connection,
        question,
        embedder=embedder,
        corpus=corpus,
        budget=budget,
        model=model,
        approve=approve and approved,
        fresh=fresh,
        progress=told,
        settings=settings,
    )
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        for answer in asked:
            answer.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raise


def check_budget(budget: object) -> None:
    """Refuse a budget that pays for nothing.

    Raises:
        InputError: If it is no whole number from 1 to 1,000.
    """
    one = RESEARCH
    check_whole("The budget", budget, one.least, one.most, f", {one.meaning}")


def _left(desk: Desk, *, fresh: bool) -> tuple[Desk, ResearchState, bool]:
    """Return desk and state of a run that was left, or of a new one, and which."""
    begun: dict[str, Any] = {
        "corpus": desk.corpus.name,
        "corpusVersion": desk.corpus.version,
        "question": desk.question,
        "budget": desk.budget,
        "model": None if desk.model is None else desk.model.name,
        "embedder": embedder_name(desk.embedder),
    }
    now = datetime.now(UTC)
    quiet = now - QUIET
    rows = []
    if not fresh:
        rows = desk.connection.read("research/unfinished", **begun, quietSince=quiet)
    row = rows[0] if rows else {"questions": [], "findings": [], "claims": []}
    run = row.get("run", {})
    key = content_key("research", desk.corpus.name, desk.question, now.isoformat())
    # A name of this run that tells its process, too.
    owner = f"{uuid4().hex} {os.getpid()} {gethostname()}"
    taking = {"status": "running", "owner": owner, "updatedAt": now}
    begun |= {
        "id": run.get("id", key),
        "createdAt": run.get("createdAt", now),
        "owner": owner,
    }
    desk = replace(desk, begun=begun)
    goes_on = bool(rows) and row["goesOn"] and not _gone(run["owner"])
    if goes_on or (rows and not _take(desk, run["owner"], taking)):
        since = f"{run['createdAt'].to_native():%Y-%m-%d %H:%M}"
        raise InputError(
            f"This question is being researched since {since} UTC: wait for its end "
            f"({QUIET.seconds // 60} minutes where its process is gone), or begin anew "
            "with --fresh (fresh=True)."
        )
    waiting = open_questions(row["questions"]) and not row["claims"]
    costs = ("walks", "calls", "tokens", "useless")
    state: ResearchState = {
        "questions": row["questions"],
        "approved": bool(rows) and not (desk.approval and waiting),
        "findings": row["findings"],
        "claims": row["claims"],
        "cost": {name: run.get(name, 0) for name in costs},  # type: ignore[typeddict-item]
        "stop": run.get("stopReason", ""),
        "unread": run.get("unread", 0),
    }
    return desk, state, bool(rows)


def _gone(owner: str) -> bool:
    """Return whether a run is of a process of this machine that is no more."""
    _, _, process = owner.partition(" ")
    pid, _, host = process.partition(" ")
    if host != gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is somebody else's
    return False


def _take(desk: Desk, owner: str, changes: Mapping[str, object]) -> bool:
    """Change a run that has not ended, if an owner still has it; return whether."""
    done = desk.connection.write(
        "research/take",
        run=desk.run,
        owner=owner,
        corpus=desk.corpus.name,
        changes=changes,
    )
    return done.properties_set > LOCKED


@contextmanager
def _marked_where_it_breaks(desk: Desk) -> Iterator[None]:
    """Say of a run that breaks off that its process is done with it."""
    try:
        yield
    except BaseException:
        with suppress(KnowtrailError):
            _take(desk, desk.begun["owner"], {"status": "broken"})
        raise


def _ended(
    desk: Desk,
    state: ResearchState,
    approve: Callable[[Sequence[str]], Sequence[str]] | None,
) -> ResearchState:
    """Run the graph to its end; the person is asked where it waits for one."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from knowtrail.retrieval.research.workflow import research_graph

    # Only a graph that waits for a person needs to be kept, and only for so long.
    graph = research_graph().compile(checkpointer=approve and InMemorySaver())
    config: Any = {
        "configurable": {"thread_id": desk.run},
        "recursion_limit": 4 * desk.budget + 50,
    }
    found: Any = graph.invoke(state, config, context=desk)
    while approve and (waiting := found.get("__interrupt__")):
        kept = list(approve(waiting[0].value["plan"]))
        answer: Any = Command(resume={"questions": kept})
        found = graph.invoke(answer, config, context=desk)
    if found["stop"] == "refused":
        msg = "The plan was refused, so nothing more is walked for: ask in other words."
        raise InputError(msg)
    return cast("ResearchState", found)
