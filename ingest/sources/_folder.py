"""The files of a folder, in an order that does not depend on the disk."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class Trouble(NamedTuple):
    """A path that cannot be read, and why."""

    path: Path
    reason: str


class Passed(NamedTuple):
    """A path that is passed over, and what it is."""

    path: Path
    reason: str


def walk(folder: Path, patterns: Sequence[str]) -> Iterator[Path | Trouble | Passed]:
    """Yield the files below a folder, sorted by path; those that do not match as such.

    Patterns of names hold in any case. Names that begin with a dot are passed over,
    too. Links to folders elsewhere are followed; those that lead back into the folder,
    or above it, are trouble, because their files would come twice or without end.
    """
    lowered = [pattern.lower() for pattern in patterns]
    yield from _walk(folder, lowered, (folder.resolve(),))


def _walk(
    folder: Path, patterns: Sequence[str], entered: tuple[Path, ...]
) -> Iterator[Path | Trouble | Passed]:
    """Yield the files of one folder and those below it."""
    try:
        entries = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        yield Trouble(folder, f"cannot be opened: {error.strerror}")
        return
    for path in entries:
        if path.name.startswith("."):
            yield Passed(path, "hidden")
            continue
        matches = any(fnmatchcase(path.name.lower(), p) for p in patterns)
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            if matches:
                reason = (
                    getattr(error, "strerror", None) or "a link that leads in a ring"
                )
                yield Trouble(path, f"cannot be followed: {reason}")
            continue
        if not real.is_dir():
            yield path if matches else Passed(path, ending(path))
        elif path.is_symlink() and _leads_back(real, entered):
            reason = f"a link that leads back into {real}: its files come once"
            yield Trouble(path, reason)
        else:
            yield from _walk(path, patterns, (*entered, real))


def ending(path: Path) -> str:
    """Return the ending of a file's name in words, for the count of such files."""
    return path.suffix.lower() or "without an ending"


def _leads_back(real: Path, entered: Sequence[Path]) -> bool:
    """Say whether a folder contains, or lies in, one that is being read."""
    return any(
        real == path or path.is_relative_to(real) for path in entered
    ) or real.is_relative_to(entered[0])
