"""Connection profiles, as URIs and as single settings."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.py2neo import (
    ConnectionProfile,
    ServiceProfile,
    UnsupportedValueError,
)
from tests.cases import each


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what would change the defaults."""
    for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "KNOWTRAIL_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@each(
    ("profile", "settings", "uri"),
    [
        (None, {}, "bolt://localhost:7687"),
        ("bolt://graph.example.com", {}, "bolt://graph.example.com:7687"),
        ("graph.example.com:7688", {}, "bolt://graph.example.com:7688"),
        ("neo4j+s://graph.example.com:7687", {}, "neo4j+s://graph.example.com:7687"),
        ("bolt+ssc://a", {}, "bolt+ssc://a:7687"),
        ("bolt://a", {"secure": True}, "bolt+s://a:7687"),
        ("bolt://a", {"secure": True, "verify": False}, "bolt+ssc://a:7687"),
        ("bolt://a", {"routing": True}, "neo4j://a:7687"),
        (None, {"host": "a", "port": 9}, "bolt://a:9"),
        (None, {"address": ("a", 9)}, "bolt://a:9"),
        (None, {"scheme": "neo4j", "host": "a"}, "neo4j://a:7687"),
        ("bolt://[::1]:7687", {}, "bolt://[::1]:7687"),
    ],
)
def test_profiles_are_resolved(
    profile: str | None, settings: dict[str, Any], uri: str
) -> None:
    """URIs and single settings come to one address; settings win."""
    assert ServiceProfile(profile, **settings).uri == uri


@pytest.mark.parametrize(
    ("profile", "settings", "auth"),
    [
        (None, {}, ("neo4j", "password")),
        ("bolt://alice:12%2F34@a", {}, ("alice", "12/34")),
        ("bolt://alice:1234@a", {"password": "5"}, ("alice", "5")),
        (None, {"auth": ("alice", "1234")}, ("alice", "1234")),
        (None, {"auth": "alice:12:34"}, ("alice", "12:34")),
        (None, {"user": "alice", "password": "1234"}, ("alice", "1234")),
    ],
)
def test_credentials_are_resolved(
    profile: str | None, settings: dict[str, Any], auth: tuple[str, str]
) -> None:
    """Credentials come from settings, from the URI, or are py2neo's defaults."""
    assert ServiceProfile(profile, **settings).auth == auth


def test_the_environment_gives_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own variables stand in where nothing is said."""
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    assert ServiceProfile("bolt://a").auth == ("neo4j", "secret")


def test_a_profile_keeps_its_password_to_itself() -> None:
    """No text of a profile has the password, and a dictionary only if asked."""
    profile = ConnectionProfile("bolt://alice:1234@a")
    assert "1234" not in f"{profile} {profile!r} {profile.uri} {profile.to_dict()}"
    assert profile.to_dict(include_password=True)["password"] == "1234"


def test_profiles_are_equal_by_address_and_credentials() -> None:
    """A profile of a profile equals it until a setting differs."""
    profile = ServiceProfile("bolt://alice:1234@a")
    assert ServiceProfile(profile) == profile
    assert hash(ServiceProfile(profile)) == hash(profile)
    assert ServiceProfile(profile, port=9) != profile


@pytest.mark.parametrize(
    ("profile", "settings", "words"),
    [
        ("ftp://a", {}, "Unknown scheme"),
        ("bolt+x://a", {}, "Unknown scheme"),
        ("http://a:7474", {}, "HTTP is not spoken"),
        ("bolt://a:port", {}, "cannot be used"),
        (None, {"colour": "red"}, "Unknown setting"),
        (None, {"auth": ("a", "b", "c")}, "neither a pair"),
        (None, {"auth": 3}, "neither a pair"),
    ],
)
def test_what_is_not_known_is_refused(
    profile: str | None, settings: dict[str, Any], words: str
) -> None:
    """Unknown schemes and settings are refused with what to write."""
    with pytest.raises(SettingsError, match=words):
        ServiceProfile(profile, **settings)


def test_a_profile_is_a_text_or_a_profile() -> None:
    """A number is refused as py2neo does it."""
    with pytest.raises(UnsupportedValueError, match="neither a URI nor"):
        ServiceProfile(3)  # type: ignore[arg-type]


def test_a_port_is_a_number() -> None:
    """A port that is none is one of the settings that cannot be used."""
    with pytest.raises(SettingsError, match="'abc' is no port"):
        ConnectionProfile(host="localhost", port="abc")
