"""Which version of the code a figure was made with."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["code_version"]

_ROOT = Path(__file__).resolve().parents[2]


def code_version() -> str:
    """Return the version of the package, with the commit where it is a checkout.

    The files of Git are read; nothing is run.
    """
    try:
        release = version("knowtrail")
    except PackageNotFoundError:
        release = "unknown"
    commit = _commit(_ROOT / ".git")
    return f"{release}+{commit[:10]}" if commit else release


def _commit(folder: Path) -> str:
    """Return the commit that is checked out, empty where this is no checkout."""
    try:
        head = (folder / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        loose = folder / name
        if loose.is_file():
            return loose.read_text("utf-8").strip()
        for line in (folder / "packed-refs").read_text("utf-8").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0]
    except (OSError, UnicodeDecodeError):
        pass
    return ""
