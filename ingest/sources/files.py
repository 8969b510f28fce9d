"""Documents from files and folders: text, Markdown, reStructuredText, HTML, PDF."""

from __future__ import annotations

import codecs
import os
import posixpath
import re
from collections import defaultdict
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from knowtrail.graph.errors import SettingsError, SourceError
from knowtrail.graph.files import disk_errors, text_encoding
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import Failure, LeftOut, Link, RawDocument
from knowtrail.ingest.sources._lines import Part
from knowtrail.ingest.sources._pages import (
    Page,
    PageError,
    read_html,
    read_markdown,
    read_pdf,
    read_rst,
    read_text,
)
from knowtrail.ingest.sources._remote import RemoteFile, located

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowtrail.ingest.records import Item
    from knowtrail.ingest.sources._remote import AnyPath

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


class _Left(NamedTuple):
    """A path that is passed over and what it is, or in `trouble` and why."""

    path: AnyPath
    reason: str
    trouble: bool = False


_Entry: TypeAlias = Path | RemoteFile | _Left


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
        paths: AnyPath | str | Sequence[AnyPath | str],
        patterns: Sequence[str] = PATTERNS,
        *,
        encoding: str | None = None,
        language: str = "en",
        max_file: int = MAX_FILE,
    ) -> None:
        """Name a folder, or files, folders and shell patterns, here or at addresses.

        Patterns of the names of files in folders hold in any case. The language is that
        of files that tell none; `max_file` is in bytes, ten times that for PDF.

        Raises:
            SettingsError: If Python knows no such encoding.
        """
        named = [paths] if isinstance(paths, Path | RemoteFile | str) else paths
        self._named = [located(path) for path in named]
        self.name = ", ".join(map(str, self._named))
        self._root = ""
        self.settle(None)
        self._patterns = tuple(patterns)
        self._encoding = _known(encoding)
        self._language = language
        self._max_file = max_file
        self.size: int | None = None  # before the files were listed
        self.position = 0
        self._ids: dict[str, str] = {}
        self._stems: dict[str, list[str]] = {}
        self._found: list[tuple[str, _Entry]] = []

    def settle(self, root: str | None, *, new: bool = False) -> str | None:
        """Take the folder that ids are paths in; return that of the corpus.

        That is the folder of the corpus, so that a file is one document however it is
        named, and files of two folders are two. A folder that is named alone takes the
        place of one that is no longer there, as if that had been moved. Where the
        corpus has none, it is the folder that is named alone, or for a new corpus the
        working folder; else None.
        """
        one = self._named[0] if len(self._named) == 1 else None
        alone = one if one and one.is_dir() else None
        moved = root and alone and _moved(root, alone)
        self._root = root if root and not moved else _absolute(alone or "")
        return whole_characters(self._root) if root or alone or new else None

    def parts(self, size: int) -> Iterator[Part]:
        """List the files as `items` does; yield pieces of about so many bytes."""
        self._found = [(key, _placed(entry)) for key, entry in self._list().items()]
        start = weight = 0
        marks: list[str] = []
        for place, (key, entry) in enumerate(self._found, start=1):
            length, changed = 0, "0"
            if isinstance(entry, Path | RemoteFile) and entry.is_file():
                status = entry.stat()
                length, changed = status.st_size or 0, str(status.st_mtime_ns)
            weight += length
            marks.append(f"{key} {length} {changed}")
            if weight >= size or place == len(self._found):
                yield Part(self.name, start, place, content_key(*marks), place - start)
                start, weight, marks = place, 0, []

    def part_items(self, part: Part) -> Iterator[Item]:
        """Yield the documents of a piece."""
        return self._read_all(dict(self._found[part.start : part.end]))

    def items(self) -> Iterator[Item]:
        """List the files, or raise `SourceError`; yield their documents."""
        return self._read_all(self._list())

    def _list(self) -> dict[str, _Entry]:
        found: dict[str, _Entry] = {}
        for named in self._named:
            for entry in self._listed(named):
                path = entry.path if isinstance(entry, _Left) else entry
                found.setdefault(self._id(path), entry)
        if all(isinstance(e, _Left) and not e.trouble for e in found.values()):
            wanted = ", ".join(self._patterns)
            msg = f"No file below {self.name} matches {wanted}: check the path."
            raise SourceError(msg)
        self.size, self.position = len(found), 0
        self._ids, self._stems = {}, defaultdict(list)
        for identity, entry in found.items():
            if isinstance(entry, Path | RemoteFile):
                self._ids[_absolute(entry)] = identity
                stem = PurePosixPath(identity).stem.casefold()
                self._stems[stem].append(identity)
        return found

    def _listed(self, named: AnyPath) -> Iterator[_Entry]:
        text = str(named)
        if isinstance(named, RemoteFile):
            yield from _remote(named, self._patterns)
        elif named.is_dir():
            yield from _walk(named, self._patterns)
        elif os.path.lexists(named):
            yield named
        elif matches := sorted(glob(text, recursive=True)):  # noqa: PTH207 - as shells
            yield from (path for match in matches if not (path := Path(match)).is_dir())
        else:
            what = "nothing matches" if has_magic(text) else "no such file or folder"
            raise SourceError(f"Cannot read {text}: {what}. Check the path.")

    def _read_all(self, found: Mapping[str, _Entry]) -> Iterator[Item]:
        passed = []
        for identity, entry in found.items():
            if isinstance(entry, Path | RemoteFile):
                yield self._item(identity, entry)
            elif entry.trouble:
                yield Failure(title=identity, message=entry.reason)
            else:
                passed.append(LeftOut(title=identity, reason=entry.reason))
                continue
            self.position += 1
        for item in passed:
            self.position += 1
            yield item

    def _id(self, path: AnyPath) -> str:
        """Return the path in the folder, or below the host of a file elsewhere."""
        text, root, away = str(path), self._root, "://" in self._root
        if isinstance(path, RemoteFile) and not (away and text.startswith(f"{root}/")):
            return whole_characters(path.key)
        if away and not isinstance(path, RemoteFile):
            root = ""
        return whole_characters(Path(os.path.relpath(text, root or None)).as_posix())

    def _item(self, identity: str, path: AnyPath) -> Item:
        kind = path.suffix.lower()
        try:
            page = self._page(path, kind)
        except _OtherError:
            return LeftOut(title=identity, reason=_ending(path))
        except PageError as error:
            return Failure(title=identity, message=str(error))
        except RecursionError:
            return Failure(title=identity, message="nested too deep to be read")
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

    def _page(self, path: AnyPath, kind: str) -> Page:
        """Return what a file says, or raise why it cannot be read or is left out."""
        if kind == ".pdf":
            return read_pdf(_bytes(path, limit=10 * self._max_file))
        data = _bytes(path, limit=self._max_file)
        told = kind in _READERS or data.startswith(_UTF16)
        if not told and b"\0" in data[:_HEAD]:
            raise _OtherError
        text = _text(data, self._encoding_of(data, kind), named=self._encoding)
        return _READERS[kind](text) if kind in _READERS else Page(title=None, text=text)

    def _encoding_of(self, data: bytes, kind: str) -> str | None:
        """Return the encoding of a file, None for what it is without being told."""
        # The one that the user named is not for files that are UTF-8, which text in
        # another encoding is by accident only where it is short.
        if self._encoding is None or (not data.isascii() and _is_utf8(data)):
            return _declared(data, kind)
        return self._encoding

    def _links(
        self, identity: str, path: AnyPath, links: Sequence[Link]
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

    def _file_at(self, path: AnyPath, address: str) -> str | None:
        """Return the id of the file at an address in a file, None for other places."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if parts.scheme or parts.netloc or not parts.path:
            return None
        place = unquote(parts.path)
        try:
            if isinstance(path, RemoteFile):
                inner = f"/{posixpath.dirname(path.key)}/{place}"
                inner = posixpath.normpath(place if place.startswith("/") else inner)
                file: AnyPath = path.at(inner.lstrip("/"))
            else:
                base = self._root if place.startswith("/") else path.parent
                file = Path(_absolute(f"{base}/{place}"))
            if known := self._ids.get(str(file)):
                return known
            # It may be in the corpus, or come: what is read does not decide.
            # Nor is a server asked for every link.
            readable = file.suffix.lower() in {*_READERS, ".pdf"} and (
                isinstance(file, RemoteFile) or file.is_file()
            )
            return self._id(file) if readable else None
        except (OSError, ValueError):  # a NUL character, a name that is too long
            return None

    def _file_named(self, identity: str, page: PurePosixPath) -> str | None:
        """Return the id of the file that a wiki link names."""
        # Of several of that name it is the one whose folder the link names, else that
        # of the folder of the link, else the first.
        folder, wanted = PurePosixPath(identity).parent, page.parent.parts

        def rank(candidate: str) -> tuple[bool, bool]:
            parent = PurePosixPath(candidate).parent
            end = PurePosixPath(str(parent).casefold()).parts[-len(wanted) :]
            return bool(wanted) and end != wanted, parent != folder

        found = self._stems.get(page.name) or self._stems.get(page.stem) or []
        return min(found, key=rank, default=None)


def _absolute(path: AnyPath | str) -> str:
    """Return a path from the root; links stay, as ids go through them."""
    if isinstance(path, RemoteFile):
        return str(path)
    return os.path.abspath(path)  # noqa: PTH100 - resolve follows links


def _placed(entry: _Entry) -> _Entry:
    """Return what was found where it is wherever the process runs that reads it."""
    return Path(_absolute(entry)) if isinstance(entry, Path) else entry


def _moved(root: str, alone: AnyPath) -> bool:
    """Return whether the folder of a corpus is no longer where it was."""
    if "://" in root:
        return not isinstance(alone, RemoteFile)
    return not os.path.isdir(root)  # noqa: PTH112 - as text, like the paths of ids


def _known(encoding: str | None) -> str | None:
    try:
        return encoding and text_encoding(encoding)
    except LookupError as error:
        msg = f"{encoding!r} is no encoding: write one such as utf-8 or windows-1252."
        raise SettingsError(msg) from error


def _declared(data: bytes, kind: str) -> str | None:
    """Return the encoding that HTML declares, None where there is none to go by."""
    found = _CHARSET.search(data[:_HEAD]) if kind in _HTML else None
    if found is None or data.startswith((*_UTF16, codecs.BOM_UTF8)):
        return None
    try:
        return text_encoding(found[1].decode("ascii"))
    except LookupError:
        return None


def _bytes(path: AnyPath, *, limit: int) -> bytes:
    with disk_errors(PageError, "cannot be read: {reason}"):
        if not path.is_file():
            raise PageError("not a regular file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    if len(data) > limit:
        raise PageError(f"larger than {limit:,} bytes: split it")
    return data


def _text(data: bytes, encoding: str | None, *, named: str | None) -> str:
    """Return the text of a file, by its encoding if known, or by what the user said."""
    # As told, else UTF-16 where a byte order mark says so, else UTF-8.
    decoding = encoding or ("utf-16" if data.startswith(_UTF16) else "utf-8")
    try:
        text = data.decode(decoding).removeprefix("\ufeff")
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
        raise PageError(msg) from error
    if "\0" in text:
        raise PageError("not text: it has NUL bytes")
    return text


def _is_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8; a beginning of a file may be cut anywhere."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, len(data) < _HEAD)
    except UnicodeDecodeError:
        return False
    return True


def _remote(named: RemoteFile, patterns: Sequence[str]) -> Iterator[_Entry]:
    """Yield a file, those that match a pattern in a bucket, or those of a folder."""
    if not named.bucket:
        named.stat()
        yield named
    elif has_magic(named.key):
        yield from named.found()
    elif not named.is_dir():
        named.stat()
        yield named
    else:
        for file in named.found():
            inner = file.key.removeprefix(named.key)
            if any(part.startswith(".") for part in inner.split("/")):
                yield _Left(file, "hidden")
            elif any(fnmatchcase(file.name.lower(), p.lower()) for p in patterns):
                yield file
            else:
                yield _Left(file, _ending(file))


def _walk(folder: Path, patterns: Sequence[str]) -> Iterator[_Entry]:
    """Yield the files below a folder by path; those that do not match as such."""
    # Patterns of names hold in any case. Names that begin with a dot are passed over,
    # too. Links to folders elsewhere are followed; those that lead back into the
    # folder, or above it, are trouble, because their files would come twice or without
    # end.
    lowered = [pattern.lower() for pattern in patterns]
    yield from _walked(folder, lowered, (folder.resolve(),))


def _walked(
    folder: Path, patterns: Sequence[str], entered: tuple[Path, ...]
) -> Iterator[_Entry]:
    try:
        entries = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        yield _Left(folder, f"cannot be opened: {error.strerror}", trouble=True)
        return
    for path in entries:
        if path.name.startswith("."):
            yield _Left(path, "hidden")
            continue
        matches = any(fnmatchcase(path.name.lower(), p) for p in patterns)
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            if matches:
                reason = (
                    getattr(error, "strerror", None) or "a link that leads in a ring"
                )
                yield _Left(path, f"cannot be followed: {reason}", trouble=True)
            continue
        if not real.is_dir():
            yield path if matches else _Left(path, _ending(path))
        elif path.is_symlink() and _leads_back(real, entered):
            reason = f"a link that leads back into {real}: its files come once"
            yield _Left(path, reason, trouble=True)
        else:
            yield from _walked(path, patterns, (*entered, real))


def _ending(path: AnyPath) -> str:
    """Return the ending of a file's name in words, for the count of such files."""
    return path.suffix.lower() or "without an ending"


def _leads_back(real: Path, entered: Sequence[Path]) -> bool:
    """Say whether a folder contains, or lies in, one that is being read."""
    return any(
        real == path or path.is_relative_to(real) for path in entered
    ) or real.is_relative_to(entered[0])
