"""Documents from files and folders: text, Markdown, reStructuredText, HTML, PDF."""

from __future__ import annotations

import codecs
import os
import re
from collections import defaultdict
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from knowtrail.graph.errors import SettingsError, SourceError
from knowtrail.ingest.records import Failure, LeftOut, Link, RawDocument
from knowtrail.ingest.sources._folder import Passed, Trouble, ending, walk
from knowtrail.ingest.sources._html import read_html, read_rst
from knowtrail.ingest.sources._markdown import read_markdown, read_text
from knowtrail.ingest.sources._page import Page
from knowtrail.ingest.sources._pdf import PdfError, read_pdf
from knowtrail.ingest.sources._values import repaired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowtrail.ingest.records import Item

MAX_FILE = 20_000_000
"""Largest file in bytes."""

_HEAD = 1 << 16
_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
_HTML = (".html", ".htm", ".xhtml")
_READERS: dict[str, Callable[[str], Page]] = {
    **dict.fromkeys(_MARKDOWN, read_markdown),
    **dict.fromkeys(_HTML, read_html),
    ".rst": read_rst,
    ".txt": read_text,
}
PATTERNS = ("*.txt", "*.md", "*.rst", "*.html", "*.htm", "*.pdf")
"""Names of files that are read in a folder, where nothing else is said."""
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)""", re.I)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _UnreadableError(ValueError):
    """A file is no text; the message says why."""


class _OtherError(ValueError):
    """A file that nobody said is text is none."""


class FilesSource:
    """Files of text, Markdown, reStructuredText, HTML and PDF.

    A folder is read to any depth, sorted by path; files, folders and patterns such
    as `notes/**/*.md` in the order in which they are named, each file once. A file
    that is named is read as text where its ending says nothing; in folders the
    patterns decide. The id of a document is its path, with slashes, in the folder
    that `settle` takes.

    The title is what a file says of itself, else its first heading, else the name of
    the file without its ending. Headings become sections, and so do the pages of a
    PDF; links to files that are read become links to those documents, and `[[wiki]]`
    links too, by the name of a file, else by the title of a document. Code blocks are
    left out.

    Files are UTF-8, UTF-16 with a byte order mark, HTML also what it declares. One
    that cannot be read is a `Failure`, and the rest goes on; those whose names are
    hidden or do not match are each `LeftOut`.
    """

    unit = "files"

    def __init__(
        self,
        paths: Path | str | Sequence[Path | str],
        patterns: Sequence[str] = PATTERNS,
        *,
        encoding: str | None = None,
        language: str = "en",
        max_file: int = MAX_FILE,
    ) -> None:
        """Say what to read; nothing is opened yet.

        Args:
            paths: A folder, or files, folders and shell patterns of paths.
            patterns: Shell patterns of the names of files in folders, in any case.
            encoding: How text is encoded; None finds out, see above.
            language: Language of files that tell none.
            max_file: Largest file to accept, in bytes; ten times that for PDF.

        Raises:
            SettingsError: If Python knows no such encoding.
        """
        named = [paths] if isinstance(paths, Path | str) else paths
        self._named = [Path(path) for path in named]
        self._root = ""
        self.settle(None)
        self._patterns = tuple(patterns)
        self._encoding = _known(encoding)
        self._language = language
        self._max_file = max_file
        self._size: int | None = None
        self._position = 0
        self._ids: dict[str, str] = {}
        self._stems: dict[str, list[str]] = {}

    @property
    def name(self) -> str:
        """Return what was named."""
        return ", ".join(str(path) for path in self._named)

    @property
    def size(self) -> int | None:
        """Return the number of files, None before they were listed."""
        return self._size

    @property
    def position(self) -> int:
        """Return the number of files that were read."""
        return self._position

    def settle(self, root: str | None, *, new: bool = False) -> str | None:
        """Take the folder that ids are paths in.

        That is the folder of the corpus, so that a file is one document however it is
        named, and files of two folders are two. A folder that is named alone takes the
        place of one that is no longer there, as if that had been moved.

        Args:
            root: The folder of the corpus, None before it has one.
            new: Whether the corpus is new.

        Returns:
            The folder of the corpus from now on: where it had none, the folder that is
            named alone, or for a new corpus the working folder; else None.
        """
        alone = len(self._named) == 1 and self._named[0].is_dir()
        folder = _absolute(self._named[0] if alone else "")
        self._root = root if root and not (alone and _moved(root)) else folder
        return repaired(self._root) if root or alone or new else None

    def items(self) -> Iterator[Item]:
        """List the files, then yield their documents.

        Raises:
            SourceError: If a path leads nowhere, or nothing matches.
        """
        found: dict[str, Path | Trouble | Passed] = {}
        for named in self._named:
            for entry in self._listed(named):
                path = entry if isinstance(entry, Path) else entry.path
                found.setdefault(self._id(path), entry)
        if all(isinstance(entry, Passed) for entry in found.values()):
            wanted = ", ".join(self._patterns)
            msg = f"No file below {self.name} matches {wanted}: check the path."
            raise SourceError(msg)
        self._size, self._position = len(found), 0
        self._ids, self._stems = {}, defaultdict(list)
        for identity, entry in found.items():
            if isinstance(entry, Path):
                self._ids[_absolute(entry)] = identity
                stem = PurePosixPath(identity).stem.casefold()
                self._stems[stem].append(identity)
        return self._read_all(found)

    def _listed(self, named: Path) -> Iterator[Path | Trouble | Passed]:
        """Yield what a path or pattern stands for; refuse one that leads nowhere."""
        text = str(named)
        if named.is_dir():
            yield from walk(named, self._patterns)
        elif os.path.lexists(named):
            yield named
        elif matches := sorted(glob(text, recursive=True)):  # noqa: PTH207 - as shells
            yield from (path for match in matches if not (path := Path(match)).is_dir())
        else:
            what = "nothing matches" if has_magic(text) else "no such file or folder"
            msg = f"Cannot read {text}: {what}. Check the path."
            raise SourceError(msg)

    def _read_all(self, found: Mapping[str, Path | Trouble | Passed]) -> Iterator[Item]:
        """Yield what each path holds; what is passed over comes last."""
        passed = []
        for identity, entry in found.items():
            if isinstance(entry, Path):
                yield self._item(identity, entry)
            elif isinstance(entry, Trouble):
                yield Failure(title=identity, message=entry.reason)
            else:
                passed.append(LeftOut(title=identity, reason=entry.reason))
                continue
            self._position += 1
        for item in passed:
            self._position += 1
            yield item

    def _id(self, path: Path) -> str:
        """Return the path as it identifies a document."""
        return repaired(Path(os.path.relpath(path, self._root)).as_posix())

    def _item(self, identity: str, path: Path) -> Item:
        """Read one file."""
        kind = path.suffix.lower()
        try:
            page = self._page(path, kind)
        except _OtherError:
            return LeftOut(title=identity, reason=ending(path))
        except (_UnreadableError, PdfError) as error:
            return Failure(title=identity, message=str(error))
        title = page.title or PurePosixPath(identity).stem
        if not page.text.strip():
            return LeftOut(title=title, reason="empty", source_id=identity)
        return RawDocument(
            source_id=identity,
            title=title,
            raw=page.text,
            links=tuple(self._links(identity, path, page.links)),
            sections=page.sections,
            source=identity,
            language=page.language or self._language,
        )

    def _page(self, path: Path, kind: str) -> Page:
        """Return what a file says, or raise why it cannot be read or is left out."""
        if kind == ".pdf":
            return read_pdf(_bytes(path, limit=10 * self._max_file))
        data = _bytes(path, limit=self._max_file)
        told = kind in _READERS or data.startswith(_UTF16)
        if not told and b"\0" in data[:_HEAD]:
            raise _OtherError
        encoding = self._encoding_of(data, kind)
        text = _text(data, encoding, named=self._encoding)
        return _READERS[kind](text) if kind in _READERS else Page(title=None, text=text)

    def _encoding_of(self, data: bytes, kind: str) -> str | None:
        """Return the encoding of a file, None for what it is without being told.

        The one that the user named is not for files that are UTF-8, which text in
        another encoding is by accident only where it is short.
        """
        if self._encoding is None or (not data.isascii() and _is_utf8(data)):
            return _declared(data, kind)
        return self._encoding

    def _links(
        self, identity: str, path: Path, links: Sequence[Link]
    ) -> Iterator[Link]:
        """Yield those links of a file that may lead to documents."""
        for link in links:
            if not link.target.startswith("wiki:"):
                file, title = self._file_at(path, link.target), ""
            else:
                title = link.target.removeprefix("wiki:").split("#", 1)[0].strip()
                file = self._file_named(identity, PurePosixPath(title.casefold()))
            if file or title:
                yield Link(
                    start=link.start,
                    end=link.end,
                    target="" if file else title,
                    source_id=file,
                )

    def _file_at(self, path: Path, address: str) -> str | None:
        """Return the id of the file at an address in a file, None for other places."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if parts.scheme or parts.netloc or not parts.path:
            return None
        place = unquote(parts.path)
        base = self._root if place.startswith("/") else path.parent
        try:
            file = Path(_absolute(f"{base}/{place}"))
            if known := self._ids.get(str(file)):
                return known
            # It may be in the corpus, or come: what is read does not decide.
            readable = file.suffix.lower() in {*_READERS, ".pdf"} and file.is_file()
            return self._id(file) if readable else None
        except (OSError, ValueError):  # a NUL character, a name that is too long
            return None

    def _file_named(self, identity: str, page: PurePosixPath) -> str | None:
        """Return the id of the file that a wiki link names.

        Of several of that name it is the one whose folder the link names, else that
        of the folder of the link, else the first.
        """
        folder, wanted = PurePosixPath(identity).parent, page.parent.parts

        def rank(candidate: str) -> tuple[bool, bool]:
            parent = PurePosixPath(candidate).parent
            end = PurePosixPath(str(parent).casefold()).parts[-len(wanted) :]
            return bool(wanted) and end != wanted, parent != folder

        found = self._stems.get(page.name) or self._stems.get(page.stem) or []
        return min(found, key=rank, default=None)


def _absolute(path: Path | str) -> str:
    """Return a path from the root; links stay, as ids go through them."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve follows links


def _moved(root: str) -> bool:
    """Return whether the folder of a corpus is no longer where it was."""
    return not os.path.isdir(root)  # noqa: PTH112 - as text, like the paths of ids


def _known(encoding: str | None) -> str | None:
    """Return the name of an encoding."""
    try:
        return encoding and codecs.lookup(encoding).name
    except LookupError as error:
        msg = f"{encoding!r} is no encoding: write one such as utf-8 or windows-1252."
        raise SettingsError(msg) from error


def _declared(data: bytes, kind: str) -> str | None:
    """Return the encoding that HTML declares, None where there is none to go by."""
    found = _CHARSET.search(data[:_HEAD]) if kind in _HTML else None
    if found is None or data.startswith((*_UTF16, codecs.BOM_UTF8)):
        return None
    try:
        return codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None


def _bytes(path: Path, *, limit: int) -> bytes:
    """Read a file that is a regular one, and not too large."""
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
    return data


def _text(data: bytes, encoding: str | None, *, named: str | None) -> str:
    """Return the text of a file, by its encoding if known, or by what the user said."""
    try:
        text = _decoded(data, encoding)
    except UnicodeError as error:
        at = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        name = (encoding or "utf-8").upper()
        msg = (
            f"invalid {name}{at}: save it as UTF-8, or name its encoding, such as "
            "--encoding windows-1252"
        )
        if encoding and encoding == named:
            msg = f"invalid UTF-8, and it is not {name} either, or not text"
        wide = data.startswith(_UTF16) or name.startswith(("UTF-16", "UTF-32"))
        if b"\0" in data and not wide:
            msg = "not text: it has NUL bytes"
        raise _UnreadableError(msg) from error
    if "\0" in text:
        msg = "not text: it has NUL bytes"
        raise _UnreadableError(msg)
    return text


def _is_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8; a beginning of a file may be cut anywhere."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, len(data) < _HEAD)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, encoding: str | None, *, errors: str = "strict") -> str:
    """Decode as told, else UTF-16 where a byte order mark says so, else UTF-8."""
    name = encoding or ("utf-16" if data.startswith(_UTF16) else "utf-8")
    return data.decode(name, errors).removeprefix("\ufeff")
