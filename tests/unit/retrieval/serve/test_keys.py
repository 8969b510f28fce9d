"""Keys: where they come from, how they are shown and compared."""

from __future__ import annotations

import base64
import stat
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import SettingsError, StorageError
from knowtrail.retrieval.serve.guard import (
    caller_of,
    check_key,
    read_keys,
    shown_key,
    stored_keys,
)
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

KEY = "0123456789abcdef-KEY"


def _basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


@pytest.mark.parametrize(
    "key", ["", "short", "x" * 201, "with a space in the key", "schlüssel-schlüssel"]
)
def test_weak_or_unsendable_keys_are_refused_and_not_shown(key: str) -> None:
    """The message tells what is wrong without the key."""
    with pytest.raises(SettingsError, match="16 to 200") as caught:
        check_key(key, "KNOWTRAIL_SERVE_KEY")

    assert not key or key not in str(caught.value)


def test_keys_are_the_lines_of_a_file(tmp_path: Path) -> None:
    """One without a name, others with theirs; white space is not part of them."""
    (tmp_path / "key").write_text(f"  {KEY}\n\nada  {KEY}2\nbo b {KEY}3 \n", "utf-8")

    assert read_keys(tmp_path / "key") == {
        "": KEY,
        "ada": f"{KEY}2",
        "bo b": f"{KEY}3",
    }


@pytest.mark.parametrize(
    "content",
    [
        *(None, b"", b"\xff\xfe", b"y" * 15, b"name"),
        *(b"a 0123456789abcdef\nb 0123456789abcdef", b"0123456789abcde0\n" * 2),
        *(b"a 0123456789abcdef\na 0123456789abcde0", b"a 0123456789abcdef\nb short"),
    ],
)
def test_file_without_a_key_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """It is missing, empty or no text."""
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=str(path)):
        read_keys(path)


def test_key_is_made_once_and_for_its_user_only(tmp_path: Path) -> None:
    """The second start finds the key of the first."""
    first, path = stored_keys(tmp_path / "home")

    second, _ = stored_keys(tmp_path / "home")

    assert first == second
    assert [(name, len(key)) for name, key in first.items()] == [("", 32)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """A copied folder may have lost its rights."""
    _, path = stored_keys(tmp_path)
    path.chmod(0o644)

    with pytest.raises(StorageError, match="Others can read"):
        stored_keys(tmp_path)


@each(
    ("header", "shown"),
    [
        (f"Bearer {KEY}", KEY),
        (f"bearer  {KEY} ", KEY),
        (_basic(f"knowtrail:{KEY}"), KEY),
        (_basic(f":{KEY}"), KEY),
        (_basic("user:with:colon"), "with:colon"),
        (_basic("nothing"), ""),
        ("Basic %%%", None),
        ("Basic /w==", None),
        ("Digest x", None),
        ("", None),
    ],
)
def test_header_shows_the_key(header: str, shown: str | None) -> None:
    """A bearer token, or the password of basic authentication."""
    assert shown_key(header) == shown


@pytest.mark.parametrize("shown", [None, "", KEY[:-1], KEY + "x", KEY.lower(), "ü"])
def test_other_keys_do_not_fit(shown: str | None) -> None:
    """Only a whole key does, and it is its caller's."""
    keys = {"": "other-0123456789", "ada": KEY}

    assert caller_of(shown, keys) is None
    assert [caller_of(key, keys) for key in keys.values()] == ["", "ada"]
