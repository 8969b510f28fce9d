"""The routes, over anything that runs procedures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response
from starlette.routing import Match

from knowtrail.graph.cli.rows import plain_value, shown_value
from knowtrail.graph.errors import InputError, KnowtrailError, near_name
from knowtrail.retrieval.procedures.registry import PROCEDURES
from knowtrail.retrieval.serve.explorer import about, file_response, read_rows
from knowtrail.retrieval.serve.gate import Gate, until_gone, within
from knowtrail.retrieval.serve.guard import (
    Guard,
    Rules,
    http_problem,
    problem_of,
    problem_response,
)
from knowtrail.retrieval.serve.request_values import Asked, asked, read_values
from knowtrail.retrieval.serve.row_formats import (
    LINES,
    LineResponse,
    csv_text,
    escapes_for,
    started,
)
from knowtrail.retrieval.serve.signatures import (
    QUERY_ID,
    metrics_description,
    procedure_description,
    signature,
    template_description,
    with_keys,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from knowtrail.retrieval.procedures.registry import Procedure
    from knowtrail.retrieval.serve.backend import GraphBackend, TemplateDoor

DESCRIPTION = (
    "The procedures of Knowtrail as JSON, as CSV for LOAD CSV, and `ask` line by line. "
    "Options are those of the procedures in Cypher. `traverse`, `compare` and `ask` "
    "record their walks in the graph, also by GET, unless `record` is false."
)
T = TypeVar("T")
CSV = "text/csv"
_ESCAPES = frozenset({"neo4j", "rfc4180"})


def create_app(
    backend: GraphBackend,
    *,
    rules: Rules | None = None,
    places: int = 4,
    seconds: float = 60.0,
    templates: TemplateDoor | None = None,
) -> Guard:
    """Return the ASGI application of what runs the procedures, for who may ask.

    Without rules it serves this machine without a key, without templates nothing by
    them.
    """
    app = FastAPI(
        title="Knowtrail",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_exception_handler(HTTPException, _on_refusal)
    app.add_exception_handler(KnowtrailError, _on_error)
    app.add_exception_handler(Exception, _on_error)
    gate = Gate(places=places, seconds=seconds)
    alone = rules is None or len(rules.keys) < 2
    _Routes(backend=backend, gate=gate, templates=templates, alone=alone).add_to(app)
    app.openapi = partial(with_keys, app.openapi)  # type: ignore[method-assign]
    return Guard(app, rules or Rules())


async def _on_refusal(request: Request, error: Exception) -> Response:
    """Answer a request that HTTP itself has a status for."""
    status = getattr(error, "status_code", 500)
    detail, headers = getattr(error, "detail", ""), getattr(error, "headers", None)
    if status == 404 and detail == "Not Found":
        detail = f"Nothing at {request.url.path[:200]!r}: see / for what there is."
    elif status == 405:
        allowed = _methods_of(request)
        detail = f"{request.method} is not possible here: use {' or '.join(allowed)}."
        headers = {"Allow": ", ".join(allowed)}
    if status == 499:
        return Response(status_code=499)
    problem = http_problem(status, detail, headers)
    return problem_response(problem, request.state.request_id)


def _methods_of(request: Request) -> list[str]:
    """Return the methods of all routes of a path; each route has but one."""
    return sorted({
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    })


async def _on_error(request: Request, error: Exception) -> Response:
    return problem_response(problem_of(error), request.state.request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Routes:
    """The routes with what they share."""

    backend: GraphBackend
    gate: Gate
    templates: TemplateDoor | None = None
    alone: bool = True

    def add_to(self, app: FastAPI) -> None:
        _add(app, "/", self.index, hidden=True)
        _add(app, "/explore/about", self.about, hidden=True)
        rows = _handler(self.rows)
        _add(app, "/explore/rows", rows, method="POST", hidden=True)
        _add(app, "/explore", self.index, hidden=True)
        _add(app, "/explore/{name:path}", _handler(self.explorer), hidden=True)
        _add(app, "/health", self.health)
        _add(app, "/ready", self.ready)
        _add(app, "/metrics", self.metrics, described=metrics_description())
        if self.templates is not None:
            by_template = _handler(partial(self.by_template, self.templates))
            for method in ("GET", "POST"):
                described = template_description(method)
                _add(app, "/templates", by_template, method=method, described=described)
        _add(app, "/procedures", self.listing)
        _add(app, "/procedures", self.listing, method="POST")
        for procedure in PROCEDURES.values():
            forms: dict[str, tuple[str, Any]] = {
                "": ("application/json", self.as_json),
                ".csv": (CSV, self.as_csv),
            }
            if procedure.speaks:
                forms[".ndjson"] = (LINES, self.as_lines)
            for ending, (media_type, form) in forms.items():
                handler = _handler(partial(form, procedure))
                path = f"/procedures/{procedure.name}{ending}"
                for method in ("GET", "POST"):
                    described = procedure_description(procedure, media_type, method)
                    _add(app, path, handler, method=method, described=described)
        for method in ("GET", "POST"):
            unknown = _handler(self.unknown)
            _add(app, "/procedures/{name:path}", unknown, method=method, hidden=True)

    async def index(self) -> Response:
        return RedirectResponse("/explore/")

    async def explorer(self, request: Request) -> Response:
        return file_response(request.path_params["name"])

    async def about(self) -> Response:
        return JSONResponse(about(self.backend.corpus))

    async def rows(self, request: Request) -> Response:
        """Answer with the rows of a statement that reads."""
        if not self.alone:
            raise HTTPException(
                403,
                "Not here, where several callers have keys: each would read the "
                "conversations of all. Start a server with one key.",
            )
        call = await asked(request)
        read = partial(read_rows, self.backend, call.body)
        found = await until_gone(self._in_place(read), request.receive)
        return JSONResponse(found)

    async def health(self) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self) -> Response:
        """Say whether database, corpus and model are there; 503 until they are."""
        parts = await self.backend.readiness()
        ready = all(said == "ok" for said in parts.values())
        return JSONResponse(
            {"ready": ready, **parts},
            status_code=200 if ready else 503,
            headers={} if ready else {"Retry-After": "1"},
        )

    async def metrics(self) -> Response:
        from knowtrail.retrieval.specificity.monitoring import (
            CONTENT_TYPE,
            metrics_text,
        )

        return Response(metrics_text(), media_type=CONTENT_TYPE)

    async def by_template(self, templates: TemplateDoor, request: Request) -> Response:
        """Answer a question by a template, with every step."""
        call = await asked(request)
        answer = partial(templates.answer, call, request.state.caller)
        found = await until_gone(self._in_place(answer), request.receive)
        return JSONResponse(plain_value(found))

    async def listing(self) -> Response:
        shown = [signature(procedure) for procedure in PROCEDURES.values()]
        return JSONResponse({"procedures": shown})

    async def unknown(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        there = f"there are {', '.join(PROCEDURES)}."
        hint = near_name(name.partition(".")[0], PROCEDURES, none=there)
        raise HTTPException(404, f"No procedure {name[:80]!r}: {hint}")

    async def as_json(self, procedure: Procedure, request: Request) -> Response:
        call = await asked(request)
        rows = await self._rows(procedure, call, request)
        columns = [column.name for column in procedure.columns]
        answer = {"procedure": procedure.name, "columns": columns, "rows": rows}
        return JSONResponse(plain_value(answer))

    async def as_csv(self, procedure: Procedure, request: Request) -> Response:
        call = await asked(request)
        call.take("key")
        escape = call.take("escape")
        if escape is not None and escape not in _ESCAPES:
            msg = f"escape is {escape!r}: use 'neo4j' or 'rfc4180', or leave it out."
            raise InputError(msg)
        rows = await self._rows(procedure, call, request)
        text = csv_text(
            [column.name for column in procedure.columns],
            plain_value(rows),
            escaped=escapes_for(request.headers.get("user-agent", ""), escape),
        )
        return Response(text, media_type=f"{CSV}; charset=utf-8; header=present")

    async def as_lines(self, procedure: Procedure, request: Request) -> Response:
        """Answer with pieces of text as they come, a line each, then the row."""
        call = await asked(request)
        given = await until_gone(
            self._in_place(partial(self._given, procedure, call)), request.receive
        )
        pieces = self.backend.stream(procedure.name, *given)
        lines = started(pieces, self.gate, request.state.request_id)
        first = await until_gone(lines.__anext__(), request.receive)
        return LineResponse(first, lines)

    async def _rows(
        self, procedure: Procedure, call: Asked, request: Request
    ) -> list[dict[str, Any]]:
        """Run a procedure as long as there is time and a client."""

        async def work() -> list[dict[str, Any]]:
            given = await self._given(procedure, call)
            return await self.backend.call(procedure.name, *given)

        return await until_gone(self._in_place(work), request.receive)

    async def _in_place(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something in a place of the gate, as long as there is time."""
        async with self.gate.place() as end:
            return await within(end, self.gate.seconds, work())

    async def _given(
        self, procedure: Procedure, call: Asked
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return arguments and options, the question of a stored Query among them."""
        values = read_values(call.query, call.body)
        if QUERY_ID in values:
            values = await self._with_stored(values, values.pop(QUERY_ID))
        elif "question" not in values:
            msg = "There is no question: give question, or queryId of a stored Query."
            raise InputError(msg)
        names = {field.name for field in procedure.arguments}
        arguments = {name: value for name, value in values.items() if name in names}
        return arguments, {n: v for n, v in values.items() if n not in names}

    async def _with_stored(
        self, values: dict[str, Any], query_id: object
    ) -> dict[str, Any]:
        """Return parameters with the question and the corpus of a stored Query."""
        if "question" in values:
            raise InputError("Both question and queryId are given: give one.")
        if not isinstance(query_id, str):
            raise InputError(f"queryId is {shown_value(query_id)}: give a text.")
        stored = await self.backend.question(query_id)
        if stored is None:
            msg = f"No Query has the id {query_id[:80]!r}: store one, and commit it."
            raise HTTPException(404, msg)
        own = {} if stored["corpus"] is None else {"corpus": stored["corpus"]}
        return {"question": stored["text"], **own, **values}


def _handler(
    answer: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a function whose signature FastAPI can read."""

    async def handler(request: Request) -> Response:
        return await answer(request)

    return handler


def _add(
    app: FastAPI,
    path: str,
    handler: Callable[..., Any],
    *,
    method: str = "GET",
    hidden: bool = False,
    described: Mapping[str, Any] | None = None,
) -> None:
    words = [word for word in path.replace(".", "/").split("/") if word.isalpha()]
    app.add_api_route(
        path,
        handler,
        methods=[method],
        response_model=None,
        response_class=Response if described else JSONResponse,
        include_in_schema=not hidden,
        operation_id="_".join([method.lower(), *words]),
        name="_".join(words) or "index",
        openapi_extra=json.loads(json.dumps(described or {})),
    )
