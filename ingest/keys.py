"""Identifiers derived from content and place, so that a second run finds its own."""

from __future__ import annotations

import hashlib
import re
import unicodedata

__all__ = ["content_key", "normalise_name", "normalise_title"]

_SPACES = re.compile(r"[\s_]+")


def content_key(*parts: str | int) -> str:
    """Return a 128-bit key of the parts, as 32 hexadecimal digits.

    Parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def normalise_title(title: str) -> str:
    """Return a page title in the form that links are compared in.

    Underscores and runs of white space become one space, a fragment (`#...`) and a
    leading colon go, the first letter becomes upper case, as MediaWiki does.
    """
    title = unicodedata.normalize("NFC", title.split("#", 1)[0])
    title = _SPACES.sub(" ", title).strip().removeprefix(":").strip()
    return title[:1].upper() + title[1:]


def normalise_name(name: str) -> str:
    """Return a theme or category name in the form that names are compared in."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", name)).strip().casefold()
