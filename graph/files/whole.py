"""Files that are written whole or not at all, private ones, and digests of files."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, KnowtrailError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO, TextIO, TypeAlias

    Opener: TypeAlias = Callable[[str, int], int]

_FAILURE = "{path} cannot be written: {reason}."
_LEFT_SECONDS = 3600


@contextmanager
def disk_errors(kind: type[Exception], told: str, /, **about: object) -> Iterator[None]:
    """Raise an `OSError` of the block as another kind; errors of our own pass.

    `told` is its message, which is filled with the `reason` and what it is about.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, KnowtrailError):
            raise
        raise kind(told.format(reason=error.strerror or error, **about)) from error


@contextmanager
def whole_file(
    path: str | Path, *, failure: str = _FAILURE, opener: Opener | None = None
) -> Iterator[TextIO]:
    """Yield a text file that takes its place when the block ends without an error.

    It is UTF-8, its lines end at line feeds. It is flushed to the disk before, and
    removed where the block raises. A link is followed; something that is no regular
    file, such as a pipe, is written to as it is. `failure` says, with `path` and
    `reason`, that it cannot be written, in a `StorageError`. `opener` is that of
    `open`, such as `private`.
    """
    with whole_bytes(path, failure=failure, opener=opener) as data:
        file = TextIOWrapper(data, "utf-8", newline="\n")
        try:
            yield file
            file.flush()
        finally:
            with suppress(OSError):
                file.detach()


@contextmanager
def whole_bytes(
    path: str | Path, *, failure: str = _FAILURE, opener: Opener | None = None
) -> Iterator[IO[bytes]]:
    """Yield a file of bytes that takes its place as one of `whole_file` does."""
    import portalocker

    with disk_errors(StorageError, failure, path=path):
        place = Path(path).resolve()
        if place.exists() and not place.is_file():
            with place.open("wb") as file:
                yield file
            return
        _clean(place.parent)
        draft = place.with_name(f".{secrets.token_hex(6)}.part")
        try:
            with open(draft, "xb", opener=opener) as file:
                with suppress(portalocker.LockException):  # a disk without locks
                    portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(place)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@lru_cache(maxsize=64)  # once a process: folders may be large
def _clean(folder: Path) -> None:
    """Remove drafts of an hour or more, whose writers were killed."""
    import portalocker

    for draft in folder.glob(f".{'[0-9a-f]' * 12}.part"):
        with suppress(OSError, portalocker.LockException):
            if time.time() - draft.stat().st_mtime < _LEFT_SECONDS:
                continue
            with draft.open("r+b") as file:
                # Refused while its writer lives.
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            draft.unlink()


def file_digest(path: Path, *, size: int = 16) -> str:
    """Return the blake2b hash of a file, of so many bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.blake2b(digest_size=size)
        ).hexdigest()


def check_output(path: Path, suffixes: Sequence[str] = ()) -> str:
    """Check a path before anything is computed; return its suffix in lower case.

    Raises:
        InputError: If the suffix is none of those, or the folder is missing or may not
            be written.
    """
    suffix = path.suffix.lower()
    if suffixes and suffix not in suffixes:
        kinds = " or ".join(suffixes)
        msg = f"Cannot make {path}: its name must end in {kinds}, which says its kind."
        raise InputError(msg)
    if not path.absolute().parent.is_dir():
        folder = path.absolute().parent
        msg = f"Cannot make {path}: there is no folder {folder}; choose another place."
        raise InputError(msg)
    if not os.access(path.absolute().parent, os.W_OK):
        msg = f"Cannot make {path}: its folder may not be written; choose another."
        raise InputError(msg)
    if path.is_dir():
        raise InputError(f"Cannot make {path}: it is a folder; name a file.")
    return suffix


def write_file(path: Path, content: bytes | str) -> None:
    """Write bytes, or text as UTF-8, beside a file's place, then move them there.

    Raises:
        StorageError: If it cannot be written; nothing is left behind.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with whole_bytes(
        path, failure="Cannot write {path}: {reason}. Choose another place."
    ) as file:
        file.write(data)


@contextmanager
def held_file(
    path: Path, refusal: KnowtrailError, *, timeout: float = 0.0
) -> Iterator[None]:
    """Hold a file among the processes of all machines.

    Raises:
        KnowtrailError: The refusal, if another holds it for `timeout` seconds more.
        StorageError: If the disk has no locks.
    """
    import portalocker

    lock = portalocker.Lock(path, timeout=timeout, check_interval=0.05, opener=private)
    try:
        with locking(path):
            lock.acquire()
    except portalocker.AlreadyLocked as error:
        raise refusal from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locking(path: Path) -> Iterator[None]:
    """Tell a disk without locks by a `StorageError`; `AlreadyLocked` goes through."""
    import portalocker

    try:
        yield
    except portalocker.AlreadyLocked:
        raise
    except portalocker.LockException as error:
        why = error.args[-1] if error.args else "it has no locks"
        msg = f"Cannot lock {path}: {why}. Choose a folder on another disk."
        raise StorageError(msg) from error


def private(path: str, flags: int) -> int:
    """Open a file that is new as 0600; the `opener` of `open`."""
    return os.open(path, flags, 0o600)


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, as 0700; close one."""
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)
