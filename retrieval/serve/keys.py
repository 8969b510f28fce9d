"""The key that a client shows: where it comes from and how it is compared."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING

from graph.errors import SettingsError, StorageError
from graph.server.folder import write_whole

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_key", "is_key", "read_key", "shown_key", "stored_key"]

KEY_BYTES = 24
_SOUND = re.compile(r"[!-~]{16,200}")
FILE_NAME = "serve.key"


def check_key(key: str, where: str) -> str:
    """Return a key that can be sent in a header and is not guessed.

    Args:
        key: The key.
        where: Where it comes from, for the message, which does not repeat it.

    Raises:
        SettingsError: If it is too short or has other characters.
    """
    if not _SOUND.fullmatch(key):
        msg = (
            f"The key of {where} has {len(key)} characters or some that a header "
            "cannot carry: use 16 to 200 letters, digits and signs, no spaces."
        )
        raise SettingsError(msg)
    return key


def read_key(path: Path) -> str:
    """Return the first line of a file.

    Raises:
        SettingsError: If there is none, or it is no key.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read a key from {path}: write it on the first line."
        raise SettingsError(msg) from error
    return check_key(lines[0].strip() if lines else "", str(path))


def stored_key(home: Path) -> tuple[str, Path]:
    """Return the key of a home folder with its file; the first call makes it.

    Args:
        home: The folder; the file in it is readable by its user only.

    Raises:
        SettingsError: If the file holds no key.
        StorageError: If it cannot be written, or others may read it.
    """
    path = home / FILE_NAME
    if not path.exists():
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            msg = f"Cannot make {home}: {error.strerror}. Choose another --home."
            raise StorageError(msg) from error
        write_whole(path, secrets.token_urlsafe(KEY_BYTES) + "\n")
    if path.stat().st_mode & 0o077:
        msg = f"Others can read {path}: delete it, and the next start makes a new key."
        raise StorageError(msg)
    return read_key(path), path


def shown_key(authorization: str) -> str | None:
    """Return the key in an `Authorization` header; None where it has none.

    Args:
        authorization: `Bearer KEY`, or `Basic ...` whose password is the key; the user
            name may be anything.
    """
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        pair = base64.b64decode(value.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return pair.partition(":")[2]


def is_key(shown: str | None, key: str) -> bool:
    """Return whether a client's key is the right one, in a time that tells nothing."""
    digests = [
        hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
        for text in (shown or "", key)
    ]
    return hmac.compare_digest(*digests)
