"""Where a picture goes: a file of a known kind, written whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from graph.errors import InputError, StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["check_output", "write_file"]


def check_output(path: Path, suffixes: Sequence[str]) -> str:
    """Check a path before anything is computed.

    Args:
        path: Where the picture is to go.
        suffixes: Kinds that can be made, such as `.html`.

    Returns:
        The kind, in lower case.

    Raises:
        InputError: If the suffix is another one, or the folder is missing.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        kinds = " or ".join(suffixes)
        msg = f"Cannot make {path}: its name must end in {kinds}, which says its kind."
        raise InputError(msg)
    if not path.absolute().parent.is_dir():
        folder = path.absolute().parent
        msg = f"Cannot make {path}: there is no folder {folder}; choose another place."
        raise InputError(msg)
    if path.is_dir():
        msg = f"Cannot make {path}: it is a folder; name a file."
        raise InputError(msg)
    return suffix


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file beside its place, then move it there.

    Args:
        path: Where the file goes; one that is there is replaced.
        content: What is in it; text is written as UTF-8.

    Raises:
        StorageError: If it cannot be written; nothing is left behind.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    begun = path.with_name(f".{path.name[:200]}.part")
    try:
        begun.write_bytes(data)
        begun.replace(path)
    except OSError as error:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
        msg = f"Cannot write {path}: {error.strerror}. Choose another place."
        raise StorageError(msg) from error
