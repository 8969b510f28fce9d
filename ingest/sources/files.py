"""Documents from a folder of text and Markdown files."""

from __future__ import annotations

import codecs
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from graph.errors import SourceError
from ingest.records import Failure, LeftOut, Link, RawDocument
from ingest.sources._folder import walk
from ingest.sources._markdown import read_markdown
from ingest.sources._values import repaired

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.records import Item

__all__ = ["MAX_FILE", "FilesSource"]

MAX_FILE = 20_000_000
"""Largest file in bytes."""

_HEAD = 1 << 16
_MARKDOWN = {".md", ".markdown", ".mdown", ".mkd"}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _UnreadableError(ValueError):
    """A file is no text; the message says why."""


class FilesSource:
    """The text and Markdown files below a folder, sorted by path.

    The id of a document is its path relative to the folder, with slashes. The title
    of a Markdown file is that of its front matter, else its first heading, else the
    name of the file without its ending, as for every other file. Headings become
    sections; links to files of the folder and `[[wiki]]` links become links to the
    titles of those files. Code blocks are left out. Files whose names begin with a
    dot are passed over.

    Files are UTF-8, or UTF-16 with a byte order mark. One that cannot be read is a
    `Failure`, and the rest goes on.
    """

    def __init__(
        self,
        folder: Path | str,
        patterns: Sequence[str] = ("*.txt", "*.md"),
        *,
        language: str = "en",
        max_file: int = MAX_FILE,
    ) -> None:
        """Name the folder; nothing is opened yet.

        Args:
            folder: Where to look, to any depth.
            patterns: Shell patterns of file names, in any case.
            language: Language of the files.
            max_file: Largest file to accept, in bytes.
        """
        self._folder = Path(folder)
        self._patterns = tuple(patterns)
        self._language = language
        self._max_file = max_file
        self._size: int | None = None
        self._position = 0
        self._paths: dict[str, Path] = {}
        self._stems: dict[str, str] = {}
        self._titles: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Return the folder."""
        return str(self._folder)

    @property
    def size(self) -> int | None:
        """Return the number of files, None before the folder was listed."""
        return self._size

    @property
    def position(self) -> int:
        """Return the number of files that were read."""
        return self._position

    def items(self) -> Iterator[Item]:
        """List the folder, then yield its documents.

        Raises:
            SourceError: If there is no such folder or nothing in it matches.
        """
        if not self._folder.is_dir():
            kind = "not a folder" if self._folder.exists() else "no such folder"
            msg = f"Cannot read {self._folder}: {kind}. Check the path."
            raise SourceError(msg)
        found = list(walk(self._folder, self._patterns))
        if not found:
            wanted = ", ".join(self._patterns)
            msg = f"No file below {self._folder} matches {wanted}: check the patterns."
            raise SourceError(msg)
        self._size, self._position, self._titles = len(found), 0, {}
        self._paths = {self._id(p): p for p in found if isinstance(p, Path)}
        self._stems = {
            PurePosixPath(i).stem.casefold(): i for i in reversed(list(self._paths))
        }
        return self._read_all(found)

    def _read_all(self, found: Sequence[Path | tuple[Path, str]]) -> Iterator[Item]:
        """Yield what each path holds."""
        for entry in found:
            if isinstance(entry, Path):
                yield self._item(entry)
            else:
                yield Failure(title=self._id(entry[0]), message=entry[1])
            self._position += 1

    def _id(self, path: Path) -> str:
        """Return the path as it identifies a document."""
        return repaired(path.relative_to(self._folder).as_posix())

    def _item(self, path: Path) -> Item:
        """Read one file."""
        identity = self._id(path)
        try:
            text = _text(path, limit=self._max_file)
        except _UnreadableError as error:
            return Failure(title=identity, message=str(error))
        if path.suffix.lower() in _MARKDOWN:
            return self._markdown(identity, text)
        return self._plain(identity, text)

    def _plain(self, identity: str, text: str) -> RawDocument | LeftOut:
        """Return a text file as it is."""
        title = PurePosixPath(identity).stem
        if not text.strip():
            return LeftOut(title=title, reason="empty", source_id=identity)
        return RawDocument(
            source_id=identity,
            title=title,
            raw=text,
            source=identity,
            language=self._language,
        )

    def _markdown(self, identity: str, text: str) -> RawDocument | LeftOut:
        """Return what a Markdown file says."""
        page = read_markdown(text)
        title = page.title or PurePosixPath(identity).stem
        self._titles[identity] = title
        if not page.text.strip():
            return LeftOut(title=title, reason="empty", source_id=identity)
        targets = ((link, self._target(identity, link.target)) for link in page.links)
        return RawDocument(
            source_id=identity,
            title=title,
            raw=page.text,
            links=tuple(
                Link(start=link.start, end=link.end, target=target)
                for link, target in targets
                if target
            ),
            sections=page.sections,
            source=identity,
            language=self._language,
        )

    def _target(self, identity: str, address: str) -> str | None:
        """Return the title that a link of a file leads to, None for other places."""
        if address.startswith("wiki:"):
            page = address.removeprefix("wiki:").split("#", 1)[0].strip()
            file = self._stems.get(PurePosixPath(page).name.casefold())
            if file is None and page:
                file = self._stems.get(PurePosixPath(page).stem.casefold())
            return self._title(file) if file else page or None
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if parts.scheme or parts.netloc or not parts.path:
            return None
        path = unquote(parts.path)
        base = [] if path.startswith("/") else list(PurePosixPath(identity).parts[:-1])
        for part in PurePosixPath(path.lstrip("/")).parts:
            base = base[:-1] if part == ".." else [*base, part]
        file = "/".join(base)
        return self._title(file) if file in self._paths else None

    def _title(self, identity: str) -> str:
        """Return the title of a file, reading its beginning once."""
        if identity not in self._titles:
            title = _title_of(self._paths[identity])
            self._titles[identity] = title or PurePosixPath(identity).stem
        return self._titles[identity]


def _title_of(path: Path) -> str | None:
    """Return the title at the beginning of a Markdown file."""
    if path.suffix.lower() not in _MARKDOWN or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    return read_markdown(_decoded(head, errors="ignore")).title


def _text(path: Path, *, limit: int) -> str:
    """Read a text file.

    Raises:
        _UnreadableError: If it is no regular file, too large, or no text.
    """
    try:
        if not path.is_file():
            msg = "not a regular file"
            raise _UnreadableError(msg)
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
        raise _UnreadableError(msg) from error
    if len(data) > limit:
        msg = f"larger than {limit:,} bytes: split it"
        raise _UnreadableError(msg)
    try:
        text = _decoded(data)
    except UnicodeDecodeError as error:
        msg = (
            f"invalid {error.encoding.upper()} at byte {error.start}: save it as UTF-8"
        )
        raise _UnreadableError(msg) from error
    if "\0" in text:
        msg = "looks like a binary file: it has NUL characters"
        raise _UnreadableError(msg)
    return text


def _decoded(data: bytes, *, errors: str = "strict") -> str:
    """Decode UTF-8, or UTF-16 where a byte order mark says so."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors)
    return data.decode("utf-8", errors).removeprefix("\ufeff")
