"""Disks that lack something."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import portalocker

if TYPE_CHECKING:
    import pytest


def lockless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file be locked, as on a disk that has no locks."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(portalocker.portalocker, "LOCKER", refused)
