"""ZeroEntropy's rerankers, over its HTTP interface.

As its public reference says (`POST /v1/models/rerank`, read in November 2026):

    request   {"model": "zerank-2", "query": "...", "documents": ["...", "..."]}
              with the header  Authorization: Bearer KEY
    answer    {"results": [{"index": 1, "relevance_score": 0.93}, ...], ...}

Results come best first, `index` is the place in the request. A request may have
5,000,000 bytes, counted as 150 and those of the query and the document for each
document; more documents are sent in several requests, as each is scored by itself. A
busy service answers 429; that, errors of the server and broken connections are tried
again, later each time. Using it costs money and sends the texts to that company.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from knowtrail.graph.batches import batched_within
from knowtrail.graph.busy import BusyError, asked_pause, pause_noted, retry_after
from knowtrail.graph.errors import ModelError, SettingsError
from knowtrail.retrieval.rerank.base import BaseReranker

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    import httpx
    from tenacity import RetryCallState

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings

_LOG = logging.getLogger(__name__)
URL = "https://api.zeroentropy.dev/v1/models/rerank"
CONCURRENCY = 64
ATTEMPTS = 7
SECONDS = 60.0
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_PAUSE = 30.0
_OVERHEAD = 150
_LARGEST = 4_500_000
"""Bytes of one request, below the service's limit."""


class ZeroEntropyReranker(BaseReranker):
    """A reranker that ZeroEntropy runs.

    At most 64 requests are under way at a time, for each event loop.

    Args:
        model: Its name there, such as `zerank-2`.
        key: The key of the service; never shown and never logged.
        url: Another address that speaks the same.
        attempts: How often a request is tried.
        sleep: Waits between tries, for tests.

    Raises:
        SettingsError: If there is no key.
    """

    concurrency = CONCURRENCY

    def __init__(
        self,
        model: str,
        *,
        key: str | None,
        url: str = URL,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not key or not key.strip():
            raise SettingsError(
                "ZeroEntropy's rerankers need a key: set ZEROENTROPY_API_KEY, or take "
                "a reranker that runs here, such as bm25."
            )
        self.name = f"zeroentropy:{model}"
        self._model = model
        self._key = key.strip()
        self._url = url
        self._attempts = attempts
        self._sleep = sleep
        self._ssl: ssl.SSLContext | None = None
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the service's number for each document."""
        import httpx

        if self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        scores: list[float] = []
        async with httpx.AsyncClient(
            verify=self._ssl,
            timeout=SECONDS,
            headers={"Authorization": f"Bearer {self._key}"},
        ) as client:
            for part in _parts(query, documents):
                scores += await self._asked(client, query, part)
        return scores

    async def _asked(
        self, client: httpx.AsyncClient, query: str, documents: list[str]
    ) -> list[float]:
        """Send one request, again while the service is busy."""
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(BusyError),
            stop=stop_after_attempt(self._attempts),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=pause_noted(_LOG, self._url),
            reraise=True,
        )
        body = {"model": self._model, "query": query, "documents": documents}
        try:
            answer: Any = await retrying(self._once, client, body)
        except BusyError as error:
            raise ModelError(
                f"No answer from {self._url} after {self._attempts} tries: {error}. "
                "Check the network, or try again later."
            ) from error
        return self._scores(answer, len(documents))

    async def _once(self, client: httpx.AsyncClient, body: dict[str, Any]) -> Any:
        """Send one request and tell a busy service from one that refuses."""
        import httpx

        gate = self._gates.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(CONCURRENCY)
        )
        try:
            async with gate:
                response = await client.post(self._url, json=body)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            msg = f"{self._url!r} is no address of ZeroEntropy's service: {error}."
            raise SettingsError(msg) from error
        except httpx.TransportError as error:
            raise BusyError(str(error) or type(error).__name__) from error
        status = response.status_code
        if status in _BUSY:
            reason = f"status {status} {response.reason_phrase}".strip()
            raise BusyError(reason, after=retry_after(response.headers))
        if status in {401, 403}:
            msg = f"{self._url} refuses the key ({status}): check ZEROENTROPY_API_KEY."
            raise SettingsError(msg)
        if status != 200:
            said = response.text[:200].replace(self._key, "...")
            msg = f"{self._url} refuses model {self._model!r} ({status}): {said!r}."
            raise ModelError(msg)
        try:
            return response.json()
        except ValueError as error:
            raise BusyError("an answer that is not JSON") from error

    def _scores(self, answer: Any, n: int) -> list[float]:
        """Return the scores of an answer in the order of the request."""
        try:
            found = {
                int(result["index"]): float(result["relevance_score"])
                for result in answer["results"]
            }
            if len(answer["results"]) == n == len(found):
                return [found[place] for place in range(n)]
        except (KeyError, TypeError, ValueError) as error:
            msg = f"{self._url} gave an answer of another form: {str(answer)[:200]!r}."
            raise ModelError(msg) from error
        raise ModelError(f"{self._url} gave {len(found)} scores for {n} documents.")


def _parts(query: str, documents: Sequence[str]) -> Iterator[list[str]]:
    """Yield documents in groups that fit into a request; a large one stands alone."""
    fixed = _OVERHEAD + len(query.encode("utf-8", "replace"))
    return batched_within(
        documents, lambda text: fixed + len(text.encode("utf-8", "replace")), _LARGEST
    )


def _pause(state: RetryCallState) -> float:
    """Return how long to wait: as told, else longer each time and at random."""
    from tenacity import wait_random_exponential

    if (asked := asked_pause(state)) is not None:
        return min(asked, _LONGEST_PAUSE)
    return wait_random_exponential(multiplier=0.5, max=_LONGEST_PAUSE)(state)


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> ZeroEntropyReranker:
    """Return the reranker, see `knowtrail.retrieval.rerank.base.load_reranker`."""
    key = None if settings is None else settings.zeroentropy_key
    return ZeroEntropyReranker(what, key=key)
