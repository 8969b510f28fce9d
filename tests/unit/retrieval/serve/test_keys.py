"""Keys: where they come from, how they are shown and compared."""

from __future__ import annotations

import base64
import stat
from typing import TYPE_CHECKING

import pytest

from graph.errors import SettingsError, StorageError
from retrieval.serve.keys import check_key, is_key, read_key, shown_key, stored_key

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


def test_key_is_the_first_line_of_a_file(tmp_path: Path) -> None:
    """White space around it is not part of it."""
    (tmp_path / "key").write_text(f"  {KEY}\nnot this\n", "utf-8")

    assert read_key(tmp_path / "key") == KEY


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_file_without_a_key_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """It is missing, empty or no text."""
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=str(path)):
        read_key(path)


def test_key_is_made_once_and_for_its_user_only(tmp_path: Path) -> None:
    """The second start finds the key of the first."""
    first, path = stored_key(tmp_path / "home")

    second, _ = stored_key(tmp_path / "home")

    assert first == second
    assert len(first) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """A copied folder may have lost its rights."""
    _, path = stored_key(tmp_path)
    path.chmod(0o644)

    with pytest.raises(StorageError, match="Others can read"):
        stored_key(tmp_path)


@pytest.mark.parametrize(
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
    """Only the whole key does."""
    assert not is_key(shown, KEY)
    assert is_key(KEY, KEY)
