"""A polite client of the MediaWiki action API.

One request at a time, a pause between requests, `maxlag`, and retries that wait as
long as the server asks. Responses are bounded in size.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import SourceError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx
    from tenacity import RetryCallState

_LOG = logging.getLogger(__name__)

CONTACT = ""
MAX_RESPONSE = 64_000_000
_LONGEST_WAIT = 120.0
_MAXLAG = 5
_BUSY_STATUS = {429, 500, 502, 503, 504}
_BUSY_CODES = {"maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"}
_MOST_CONTINUATIONS = 1_000


class _BusyError(Exception):
    """The server asks to come back later, or the network failed on the way."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


def user_agent(contact: str = CONTACT) -> str:
    """Return the name that servers see: the product, its version and a contact."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("knowtrail")
    except PackageNotFoundError:
        number = "0"
    return f"knowtrail/{number} ({contact})" if contact else f"knowtrail/{number}"


class MediaWikiApi:
    """Asks one wiki; `close` ends the connection that was opened for it."""

    def __init__(
        self,
        url: str,
        *,
        client: httpx.Client | None = None,
        contact: str = CONTACT,
        interval: float = 0.2,
        attempts: int = 5,
        seconds: float = 30.0,
        max_response: int = MAX_RESPONSE,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the wiki; nothing is asked yet.

        Args:
            url: Address of its api.php.
            client: A client to use and to leave open; None opens one.
            contact: Address or e-mail for the user agent.
            interval: Least seconds from one request to the next.
            attempts: How often one request is tried.
            seconds: Time limit for connecting, and for each pause of the server.
            max_response: Largest response in bytes, decompressed.
            sleep: Waits a number of seconds.
            clock: Returns seconds that never go back.
        """
        import httpx

        self.url = url
        self._own = client is None
        self._client = client or httpx.Client(
            timeout=httpx.Timeout(seconds, connect=min(10.0, seconds))
        )
        self._headers = {"User-Agent": user_agent(contact)}
        self._interval = interval
        self._attempts = attempts
        self._max_response = max_response
        self._sleep = sleep
        self._clock = clock
        self._next = 0.0

    def close(self) -> None:
        """Close the client, unless the caller brought it."""
        if self._own:
            self._client.close()

    def query(self, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the `query` object of each response to a query and its continuations.

        Raises:
            SourceError: If the wiki cannot be reached, refuses or answers nonsense.
        """
        fixed = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "maxlag": str(_MAXLAG),
        }
        more: dict[str, str] = {}
        for _ in range(_MOST_CONTINUATIONS):
            answer = self._get({**fixed, **parameters, **more})
            part = answer.get("query", {})
            if not isinstance(part, dict):
                msg = f"{self.url} gave a query that is no object: check the address."
                raise SourceError(msg)
            yield part
            following = answer.get("continue")
            if not isinstance(following, dict) or not following:
                return
            before, more = more, {k: str(v) for k, v in following.items()}
            if more == before:
                break
        msg = f"{self.url} continues one answer without end: nothing more was read."
        raise SourceError(msg)

    def _get(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Ask once, and again while the server is busy."""
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(_BusyError),
            stop=partial(_gives_up, self._attempts),
            wait=_wait,
            sleep=self._sleep,
            before_sleep=self._note,
            reraise=True,
        )
        try:
            return retrying(self._once, parameters)
        except _BusyError as error:
            msg = (
                f"No answer from {self.url}: {error}. Check the network and the "
                f"address, or try again later."
            )
            raise UnreachableError(msg) from error

    def _note(self, state: RetryCallState) -> None:
        """Log why a request is tried again."""
        error = state.outcome.exception() if state.outcome else None
        pause = state.next_action.sleep if state.next_action else 0
        _LOG.info("%s: %s; asking again in %.1f s", self.url, error, pause)

    def _once(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Send one request, not before its time, and check the answer."""
        import httpx

        if (pause := self._next - self._clock()) > 0:
            self._sleep(pause)
        self._next = self._clock() + self._interval
        try:
            with self._client.stream(
                "GET", self.url, params=dict(parameters), headers=self._headers
            ) as response:
                self._check_status(response)
                body = self._body(response)
                after = _seconds(response.headers.get("Retry-After"))
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            msg = f"{self.url!r} is no address of an api.php: {error}."
            raise SourceError(msg) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            reason = str(error) or type(error).__name__
            raise _BusyError(reason) from error
        return self._answer(body, after)

    def _check_status(self, response: httpx.Response) -> None:
        """Tell a busy server from one that refuses."""
        status = response.status_code
        after = _seconds(response.headers.get("Retry-After"))
        if status in _BUSY_STATUS:
            msg = f"status {status} {response.reason_phrase}".strip()
            raise _BusyError(msg, after=after)
        if status != 200:
            msg = (
                f"{self.url} answered {status} {response.reason_phrase}: check that "
                f"this is the address of a wiki's api.php that you may use."
            )
            raise SourceError(msg)

    def _body(self, response: httpx.Response) -> bytes:
        """Read a response up to the size limit."""
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > self._max_response:
                msg = (
                    f"{self.url} answered with more than {self._max_response:,} "
                    f"bytes: ask for fewer articles at once."
                )
                raise SourceError(msg)
        return bytes(body)

    def _answer(self, body: bytes, after: float | None) -> dict[str, Any]:
        """Decode an answer and tell its errors apart."""
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            msg = f"an answer that is not JSON ({body[:40]!r})"
            raise _BusyError(msg, after=after) from error
        if not isinstance(answer, dict):
            msg = f"{self.url} gave no JSON object: check that it is an api.php."
            raise SourceError(msg)
        refusal = answer.get("error")
        if isinstance(refusal, dict):
            code, info = refusal.get("code"), str(refusal.get("info", ""))[:200]
            if code in _BUSY_CODES:
                msg = f"{code}: {info}"
                raise _BusyError(msg, after=after)
            msg = f"{self.url} refused the request ({code}): {info}"
            raise SourceError(msg)
        return answer


def _seconds(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which may be a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _asked(state: RetryCallState) -> float | None:
    """Return how long the server asked to wait."""
    error = state.outcome.exception() if state.outcome else None
    return error.after if isinstance(error, _BusyError) else None


def _wait(state: RetryCallState) -> float:
    """Return the next pause: 1, 2, 4... seconds, or more if the server asks."""
    return max(float(2 ** (state.attempt_number - 1)), _asked(state) or 0.0)


def _gives_up(attempts: int, state: RetryCallState) -> bool:
    """Stop after so many attempts, or when asked for too long a pause."""
    too_long = (_asked(state) or 0.0) > _LONGEST_WAIT
    return too_long or state.attempt_number >= attempts
