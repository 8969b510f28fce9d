"""Files on the web and in buckets, which sources read by ranges as they read paths."""

from __future__ import annotations

import io
import logging
import posixpath
from abc import abstractmethod
from contextlib import closing
from functools import cached_property
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote, unquote, urlsplit

from knowtrail.graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import httpx

_Made = TypeVar("_Made")
_FIRST, _MOST = 1 << 17, 1 << 23
"""Bytes of the first request of a reading, and of one after many in a row."""
_TRIES, _PAUSE = 4, 0.5
_RIGHTS = {
    "s3": "s3:GetObject (and s3:ListBucket for folders and patterns), by "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE",
    "gs": "storage.objects.get (and .list for folders and patterns), by gcloud auth "
    "application-default login, or name gs://anonymous@... if all may read it",
}


class _FinalError(Exception):
    """What no other try would mend."""


class State(NamedTuple):
    """What is known of a remote file, with the names that `os.stat` has for it.

    The size is None where nobody tells; the time is in the words of who keeps it.
    """

    st_size: int | None
    st_mtime_ns: str
    folder: bool = False
    ranges: bool = True


class RemoteFile:
    """A file at an address, which does what sources ask of a path.

    As text it has neither user and password nor what follows `?`, which may sign it.
    `key` is its path below the host or bucket.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.scheme = address.partition("://")[0].lower()
        self.bucket = self.scheme in {"s3", "gs"}
        if not self.bucket and self.scheme not in {"http", "https"}:
            msg = (
                f"{self.scheme}:// is not read: http://, https://, s3:// and gs:// are."
            )
            raise SourceError(msg)
        try:
            parts = urlsplit(address, allow_fragments=not self.bucket)
            if not parts.hostname or parts.port == 0:
                raise ValueError
        except ValueError:
            msg = f"An address of {self.scheme}:// has no usable host: check it."
            raise SourceError(msg) from None  # which would tell of it
        self._root = f"{self.scheme}://{parts.netloc}"
        self._options = f"?{parts.query}" if self.bucket and parts.query else ""
        self.host = parts.netloc.rpartition("@")[2]
        key = parts.path.removeprefix("/").rstrip("/")
        self.key = key if self.bucket else unquote(key)
        named = PurePosixPath(self.key)
        self.name, self.suffix = named.name or self.host, named.suffix

    def __repr__(self) -> str:
        return f"{self.scheme}://{self.host}/{self.key}"

    def __reduce__(self) -> tuple[type[RemoteFile], tuple[str]]:
        return RemoteFile, (self._address,)

    def absolute(self) -> RemoteFile:
        """Return it: every address is absolute."""
        return self

    def at(self, key: str) -> RemoteFile:
        """Return another file of the host or bucket."""
        where = key if self.bucket else quote(key)
        return RemoteFile(f"{self._root}/{where}{self._options}")

    def stat(self) -> State:
        """Return what is known of it, asked for once, or raise `SourceError`."""
        return self._state

    @cached_property
    def _state(self) -> State:
        with closing(self.store()) as store:
            state: State = self.tried(store.state)
        return state

    def is_file(self) -> bool:
        """Return whether it is there; `SourceError` where nobody says."""
        return self._folder() is False

    def is_dir(self) -> bool:
        """Return whether it is a folder of a bucket; the web has none."""
        return self.bucket and self._folder() is True

    def _folder(self) -> bool | None:
        try:
            return self._state.folder
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def open(self, mode: str = "rb", buffering: int = 1 << 16) -> io.BufferedReader:
        """Open it to be read by ranges, in bounded memory; `SourceError` if it fails.

        What fails on the way is tried again. Without ranges it is read in a row, once.
        """
        if self._state.folder:
            raise SourceError(f"{self} is a folder: name the files in it.")
        return io.BufferedReader(_Reading(self, self._state), buffering)

    def found(self) -> list[RemoteFile]:
        """Return the files of a bucket that match it, or are below it, by path."""
        with closing(self.store()) as store:
            keys: list[str] = self.tried(store.keys)
        return [self.at(key) for key in sorted(keys, key=lambda key: key.split("/"))]

    def store(self) -> Any:
        """Return what asks for it, which is to be closed."""
        if not self.bucket:
            return _Web(self._address)
        return _Bucket(self._root + self._options, self)

    def tried(self, ask: Callable[[], _Made]) -> _Made:
        """Return an answer, asked for several times where that may help."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt
        from tenacity import wait_random_exponential as wait

        retrying = Retrying(
            retry=retry_if_exception(_may_pass),
            stop=stop_after_attempt(_TRIES),
            wait=wait(multiplier=_PAUSE, max=10),
            reraise=True,
        )
        try:
            return retrying(ask)
        except Exception as error:
            if self.bucket and _denied(error):
                msg = (
                    f"Cannot read {self}: access to {self.key!r} in bucket "
                    f"{self.host!r} is denied. Give credentials with the right "
                    f"{_RIGHTS[self.scheme]}."
                )
                raise SourceError(msg) from error
            # Not UnreachableError: sources take an OSError for a damaged file.
            why = "there is no such file"
            if not isinstance(error, FileNotFoundError):
                told = str(error).replace(self._address, str(self))
                why = " ".join(told.split())[:300].rstrip(". ")
            raise SourceError(
                f"Cannot read {self}: {why or type(error).__name__}. Check the "
                "address, your rights and the network; then run the command again."
            ) from error


AnyPath: TypeAlias = Path | RemoteFile


def located(path: AnyPath | str) -> AnyPath:
    """Return the path or the remote file that a text names."""
    if not isinstance(path, str):
        return path
    return RemoteFile(path) if "://" in path else Path(path)


def located_all(paths: Sequence[AnyPath | str]) -> Iterator[AnyPath]:
    """Yield what texts name; of a pattern in a bucket the files that match.

    Raises:
        SourceError: If none does, or two files have one path below their hosts or
            buckets, and so one id.
    """
    seen: dict[str, RemoteFile] = {}
    for path in map(located, paths):
        files: Sequence[AnyPath] = [path]
        if isinstance(path, RemoteFile) and path.bucket and has_magic(path.key):
            files = path.found()
        for file in files:
            if isinstance(file, RemoteFile) and seen.setdefault(file.key, file) != file:
                msg = f"{seen[file.key]} and {file} have one path: take one at a time."
                raise SourceError(msg)
            yield file


def _may_pass(error: BaseException) -> bool:
    final = isinstance(error, _FinalError | FileNotFoundError) or _denied(error)
    return isinstance(error, Exception) and not final


def _denied(error: BaseException) -> bool:
    return isinstance(error, PermissionError) or "AWS Error ACCESS_DENIED" in str(error)


class RawBytes(io.RawIOBase):
    """A file that is read by pieces, of which `some` gives the next one."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.some(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    @abstractmethod
    def some(self, most: int) -> bytes:
        """Return what comes next, no more than so many bytes; nothing at the end."""


class _Reading(RawBytes):
    """A remote file as bytes; the more of it is read in a row, the more at once."""

    def __init__(self, file: RemoteFile, state: State) -> None:
        self._file = file
        self._state = state
        self._store = file.store()
        self._at = self._begin = 0
        self._block = b""
        self._ahead = _FIRST

    def close(self) -> None:
        self._store.close()
        super().close()

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (self._at if whence == io.SEEK_CUR else 0)
        return self._at

    def some(self, most: int) -> bytes:
        if not self._begin <= self._at < self._begin + len(self._block):
            self._load()
        data = self._block[self._at - self._begin :][:most]
        self._at += len(data)
        return data

    def _load(self) -> None:
        follows = self._at == self._begin + len(self._block)
        if not follows and not self._state.ranges:
            raise SourceError(
                f"The server of {self._file} gives no ranges of it, so that it cannot "
                "be read in pieces: download it first, or take --engine local."
            )
        self._ahead = min(2 * self._ahead, _MOST) if follows else _FIRST
        start, end = self._at, self._at + self._ahead
        if self._state.ranges:
            end = min(end, self._state.st_size or 0)
        ask = lambda: self._store.read(self._state, start, end)  # noqa: E731
        self._begin, self._block = start, self._file.tried(ask) if start < end else b""


class _Web:
    """What a web server says of a file, and ranges of it."""

    def __init__(self, address: str) -> None:
        import httpx

        for name in ("httpx", "httpcore"):  # they tell addresses with their secrets
            logging.getLogger(name).setLevel(logging.WARNING)
        self._address = address
        timeout = httpx.Timeout(30, connect=10)
        self._client = httpx.Client(follow_redirects=True, timeout=timeout)
        self._body: Iterator[bytes] | None = None

    def close(self) -> None:
        self._client.close()

    def state(self) -> State:
        with closing(self._answer("bytes=0-0")) as answer:
            return _state_of(answer)

    def read(self, state: State, start: int, end: int) -> bytes:
        if not state.ranges:
            return self._next()
        with closing(self._answer(f"bytes={start}-{end - 1}")) as answer:
            if _state_of(answer) != state:
                raise _FinalError("it changed while it was read")
            return _whole(answer.read(), end - start)

    def _next(self) -> bytes:
        """Return what comes next of a file without ranges; none can come twice."""
        import httpx

        try:
            if self._body is None:
                self._body = self._answer("").iter_bytes(_FIRST)
            return next(self._body, b"")
        except httpx.HTTPError as error:
            msg = f"the connection was cut ({error}), and the server gives no ranges"
            raise _FinalError(msg) from error

    def _answer(self, wanted: str) -> httpx.Response:
        headers = {"Accept-Encoding": "identity"} | (
            {"Range": wanted} if wanted else {}
        )
        request = self._client.build_request("GET", self._address, headers=headers)
        answer = self._client.send(request, stream=True)
        status = answer.status_code
        if status in {200, 206, 416}:
            return answer
        answer.close()
        what = f"the server answered {status} {answer.reason_phrase}".strip()
        if status in {404, 410}:
            raise FileNotFoundError(what)
        if status in {408, 425, 429} or status >= 500:
            raise OSError(what)
        raise _FinalError(what)


def _state_of(answer: httpx.Response) -> State:
    """Return the state of a file by the answer to a request for a range of it."""
    told = answer.headers
    mark = told.get("Last-Modified") or told.get("ETag") or ""
    size = told.get("Content-Range", "").rpartition("/")[2]
    if answer.status_code != 200 and size.isdecimal():  # 416 where it is empty
        return State(int(size), mark)
    size = told.get("Content-Length", "")
    return State(int(size) if size.isdecimal() else None, mark, ranges=False)


def _whole(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise OSError(f"{len(data):,} bytes came of {length:,}")
    return data


class _Bucket:
    """What a bucket says of a file or folder, ranges of it, and what it has."""

    def __init__(self, address: str, file: RemoteFile) -> None:
        self._address = address
        self._key = file.key
        self._path = f"{file.host}/{file.key}".rstrip("/")

    @cached_property
    def _files(self) -> Any:
        from pyarrow.fs import FileSystem

        address = self._address
        if address.startswith("gs:"):  # which tries for a quarter of an hour
            address += f"{'&' if '?' in address else '?'}retry_limit_seconds=5"
        return FileSystem.from_uri(address)[0]

    @cached_property
    def _open(self) -> Any:
        return self._files.open_input_file(self._path)

    def close(self) -> None:
        if "_open" in vars(self):
            self._open.close()

    def state(self) -> State:
        told = self._files.get_file_info(self._path)
        if told.type.name == "NotFound":
            raise FileNotFoundError
        mark = self._mark() if told.is_file else ""
        return State(told.size, mark, folder=not told.is_file)

    def _mark(self) -> str:
        """Return what changes with the file: its tag, or when it was changed."""
        with self._files.open_input_file(self._path) as file:
            told = {k.lower(): v for k, v in file.metadata().items()}
            names = ("generation", "etag", "last-modified")
            return next((str(told[name]) for name in names if name in told), "")

    def read(self, state: State, start: int, end: int) -> bytes:
        try:
            data = self._open.read_at(end - start, start)
        except Exception:  # of a file that is shorter now, too
            self._check(state)
            raise
        self._check(state)
        return _whole(data, end - start)

    def _check(self, state: State) -> None:
        if self._mark() != state.st_mtime_ns:
            raise _FinalError("it changed while it was read")

    def keys(self) -> list[str]:
        from pyarrow.fs import FileSelector

        base = self._path
        while has_magic(base):
            base = posixpath.dirname(base)
        deep = not has_magic(self._key) or "/" in self._path[len(base) + 1 :]
        told = self._files.get_file_info(FileSelector(base, recursive=deep))
        keys = [info.path.partition("/")[2] for info in told if info.is_file]
        if not has_magic(self._key):
            return keys
        match = f"/{self._key}"
        found = [key for key in keys if PurePosixPath(f"/{key}").match(match)]
        if not found:
            raise FileNotFoundError
        return found
