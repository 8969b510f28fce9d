"""The server: tools, resources and prompts, over stdio or HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from functools import partial, wraps
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context, MCPServer, ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from starlette.exceptions import HTTPException

from knowtrail.graph.blocking import Threads
from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import KnowtrailError
from knowtrail.graph.telemetry import span
from knowtrail.retrieval.mcp.tools import SECONDS, STATEMENT_SECONDS, TEXTS, Tools
from knowtrail.retrieval.serve.gate import Gate
from knowtrail.retrieval.serve.guard import Guard
from knowtrail.retrieval.serve.http_server import run_app

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import TypeAlias

    from mcp_types import Tool

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.serve.guard import Rules

    Asked: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]

_WHOLE = 1_000_000
"""Tokens of a resource, which has no cursor."""
LISTING_SECONDS = 5.0
"""How long the list of tools waits for the database."""
PLACES = 4
"""Tools at work at once; four times as many wait, more are refused."""
BEAT_SECONDS = 2.0
"""How often a client is told that a reading tool is still at it."""


class _Server(MCPServer[Any]):
    """Offers what answers from institutions where the database has some."""

    def __init__(self, tools: Tools, **described: Any) -> None:
        super().__init__(**described)
        self._tools = tools

    async def list_tools(self) -> list[Tool]:
        """Return the tools that can answer now; all, if the database says nothing."""
        offered = await super().list_tools()
        stored = True
        with suppress(KnowtrailError, TimeoutError):
            async with asyncio.timeout(LISTING_SECONDS):
                stored = await self._tools.has_institutions()
        return [t for t in offered if stored or t.name != "ask_templates"]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> Any:
        """Call a tool; arguments that it has not are refused, not passed over."""
        for tool in await super().list_tools():
            known = tool.input_schema.get("properties", {})
            if tool.name == name and (wrong := sorted(arguments.keys() - known.keys())):
                raise ToolError(
                    f"{name} has no argument {wrong[0][:80]!r}: it takes "
                    f"{', '.join(known) or 'none'}."
                )
        return await super().call_tool(name, arguments, context)


def build_server(
    tools: Tools, *, write: bool = False, alone: bool = True
) -> MCPServer[Any]:
    """Return the server; where callers are not `alone`, nobody reads by Cypher."""
    server = _Server(
        tools,
        name="knowtrail",
        title="Knowtrail",
        version=version("knowtrail"),
        instructions=TEXTS["instructions"],
        log_level="WARNING",
        subscriptions=False,  # others change the database, and nobody tells of it
    )
    gate = Gate(places=PLACES, seconds=SECONDS)
    kept = {"traverse", "compare"}  # their walks are stored
    reading: tuple[Asked, ...] = (
        *(tools.list_corpora, tools.search, tools.traverse, tools.compare),
        *(tools.explain_walk, tools.read_passage, tools.neighbours),
        *(tools.path_between, tools.schema, tools.ask_templates),
        *((tools.read_cypher,) if alone else ()),  # it finds others' conversations
    )
    changing = (tools.ingest_text, tools.forget_document) if write else ()
    for tool in (*reading, *changing):
        changes, again = tool in changing, tool.__name__ not in kept
        hints = ToolAnnotations(
            read_only_hint=again and not changes,
            destructive_hint=changes,
            idempotent_hint=again,
            open_world_hint=False,
        )
        seconds = STATEMENT_SECONDS if tool == tools.read_cypher else SECONDS
        limits = (None, None) if changes else (seconds, gate)
        limited = _limited(tool, *limits)
        server.add_tool(limited, annotations=hints)
    _add_resources(server, tools, gate)
    _add_prompts(server)
    return server


def _limited(
    tool: Asked, seconds: float | None = SECONDS, gate: Gate | None = None
) -> Asked:
    """Return a tool that ends in time, and says in one line why it failed."""
    # One that reads tells a client meanwhile that it lives; others tell their stages.

    @wraps(tool)
    async def limited(beating: Context[Any] | None = None, **given: Any) -> Any:
        try:
            async with (
                _beating(beating, tool.__name__),
                nullcontext() if gate is None else gate.place(),
                asyncio.timeout(seconds) as limit,
            ):
                with span("tool", tool=tool.__name__):
                    return await tool(**given)
        except TimeoutError as error:
            if not limit.expired():  # of a model or a server that was asked
                msg = (
                    f"{tool.__name__} was not answered in time: {error or 'try again'}."
                )
                raise ToolError(msg) from error
            msg = f"{tool.__name__} took longer than {seconds:g} s: ask for less."
            raise ToolError(msg) from error
        except HTTPException as error:  # of the gate
            raise ToolError(error.detail) from error
        except KnowtrailError as error:
            raise ToolError(str(error)) from error

    if seconds is not None:  # by its type the SDK knows what to hand over
        limited.__annotations__ = tool.__annotations__ | {"beating": Context[Any]}
    return limited


@asynccontextmanager
async def _beating(context: Context[Any] | None, name: str) -> AsyncIterator[None]:
    """Tell a client how long a tool is at work, so that it goes on waiting."""

    async def beat(asked: Context[Any]) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            passed = time.monotonic() - began
            await asked.report_progress(passed, message=f"{name}: {passed:.1f} s")

    task = None if context is None else asyncio.create_task(beat(context))
    try:
        yield
    finally:
        if task is not None:
            task.cancel()


def _add_resources(server: MCPServer[Any], tools: Tools, gate: Gate) -> None:
    """Offer what can be read by address: the schema, documents, walks."""
    read = partial(_read, gate)
    # Names and titles reach the database as parameters alone, so any text may be one.
    any_text = ResourceSecurity(exempt_params={"corpus", "title", "walk_id"})

    @server.resource("knowtrail://schema", mime_type="text/plain")
    async def schema() -> str:
        """What the graph is made of, for read_cypher."""
        return await read(tools.schema)

    @server.resource("knowtrail://corpora", mime_type="application/json")
    async def corpora() -> str:
        """What is in here."""
        return await read(tools.list_corpora, max_tokens=_WHOLE)

    @server.resource(
        "knowtrail://corpus/{corpus}/{title}",
        mime_type="application/json",
        security=any_text,
    )
    async def document(corpus: str, title: str) -> str:
        """The first sentences of a document."""
        return await read(tools.read_passage, document=title, corpus=corpus)

    @server.resource(
        "knowtrail://walk/{walk_id}", mime_type="application/json", security=any_text
    )
    async def walk(walk_id: str) -> str:
        """The steps of a kept walk, each with its reason."""
        return await read(tools.explain_walk, walk_id=walk_id, max_tokens=_WHOLE)


async def _read(gate: Gate, tool: Asked, **given: Any) -> str:
    """Return a tool's text, or else JSON; it ends in time, and says why it failed."""
    try:
        answer = await _limited(tool, gate=gate)(**given)
    except ToolError as error:
        raise ResourceError(str(error)) from error
    return answer if isinstance(answer, str) else str(answer.model_dump_json())


def _add_prompts(server: MCPServer[Any]) -> None:
    """Offer two ways to work."""

    @server.prompt()
    def research_question(question: str) -> str:
        """Answer a question from the graph, with citations."""
        return TEXTS["research_question"].format(question=question)

    @server.prompt()
    def check_claim(claim: str) -> str:
        """Say whether stored documents support or contradict a claim."""
        return TEXTS["check_claim"].format(claim=claim)


async def serve_stdio(settings: Settings, *, write: bool) -> None:
    """Serve one agent over standard input and output, until it ends the input."""
    asyncio.get_running_loop().set_default_executor(Threads())
    async with await AsyncConnection.open(settings) as connection:
        with closing(Tools(connection, settings)) as tools:
            await build_server(tools, write=write).run_stdio_async()


async def serve_http(
    settings: Settings,
    bound: socket.socket,
    *,
    rules: Rules,
    write: bool,
    started: Callable[[], None],
) -> None:
    """Serve agents over HTTP at `/mcp`, guarded as `knowtrail serve` is."""
    # Host and Origin are checked by the guard.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    async with await AsyncConnection.open(settings) as connection:
        with closing(Tools(connection, settings)) as tools:
            server = build_server(tools, write=write, alone=len(rules.keys) < 2)
            app = server.streamable_http_app(transport_security=unchecked)
            async with server.session_manager.run():
                await run_app(Guard(app, rules), bound, started=started)
