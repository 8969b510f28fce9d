"""Connection profiles: where a service is, and as whom to speak to it.

What is not said is taken from Knowtrail's settings (`NEO4J_USERNAME`,
`NEO4J_PASSWORD`), and else from py2neo's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.py2neo.errors import UnsupportedValueError
from knowtrail.graph.settings import Settings

_PORT = 7687
_HELD = frozenset({"host", "password", "routing", "secure", "user", "verify"})
"""Settings that are held as they are given."""
_KNOWN = _HELD | {"address", "auth", "port", "port_number", "protocol", "scheme", "uri"}
_SUFFIXES = {"": (False, True), "s": (True, True), "ssc": (True, False)}


class ConnectionProfile(Mapping[str, Any]):
    """Address and credentials, from a URI or another profile, and single settings.

    These win: `scheme`, `secure`, `verify`, `routing`, `host`, `port`, `address`,
    `user`, `password` or `auth`, a pair or `USER:PASSWORD`. The password is in no text
    of a profile.
    """

    protocol = "bolt"

    def __init__(
        self, profile: str | ConnectionProfile | None = None, **settings: Any
    ) -> None:
        if unknown := sorted(set(settings) - _KNOWN):
            msg = f"Unknown setting {unknown[0]!r}: use one of {sorted(_KNOWN)}."
            raise SettingsError(msg)
        profile = settings.pop("uri", None) if profile is None else profile
        self.routing, self.secure, self.verify = False, False, True
        self.host, self.port = "localhost", _PORT
        ours = Settings.from_env()
        self.user = ours.username or "neo4j"
        self.password = ours.password or "password"  # what py2neo tries
        if isinstance(profile, ConnectionProfile):
            self.__dict__.update(profile.__dict__)
        elif isinstance(profile, str):
            self._read_uri(profile)
        elif profile is not None:
            msg = f"Profile {profile!r} is neither a URI nor a profile."
            raise UnsupportedValueError(msg)
        self._apply(settings)
        self.address = (self.host, self.port)
        self.port_number = self.port
        self.auth = (self.user, self.password)

    def _read_uri(self, uri: str) -> None:
        try:
            parts = urlsplit(uri if "://" in uri else f"bolt://{uri}")
            port = parts.port
        except ValueError as error:
            msg = "The Neo4j address cannot be used: write bolt://HOST:PORT."
            raise SettingsError(msg) from error
        self._read_scheme(parts.scheme)
        self.host = parts.hostname or "localhost"
        self.port = port or _PORT
        if parts.username:
            self.user = unquote(parts.username)
        if parts.password is not None:
            self.password = unquote(parts.password)

    def _read_scheme(self, scheme: str) -> None:
        name, _, suffix = scheme.partition("+")
        if name in {"http", "https"}:
            msg = "HTTP is not spoken here: use the Bolt address, such as bolt://HOST:7687."
            raise SettingsError(msg)
        if name not in {"bolt", "neo4j"} or suffix not in _SUFFIXES:
            msg = f"Unknown scheme {scheme!r}: use bolt, bolt+s, bolt+ssc or neo4j."
            raise SettingsError(msg)
        self.routing = name == "neo4j"
        self.secure, self.verify = _SUFFIXES[suffix]

    def _apply(self, settings: Mapping[str, Any]) -> None:
        given = {name: wish for name, wish in settings.items() if wish is not None}
        for name in ("protocol", "scheme"):
            if name in given:
                self._read_scheme(given[name])
        for name in _HELD & given.keys():
            setattr(self, name, given[name])
        if "address" in given:
            self.host, self.port = given["address"][:2]
        port = given.get("port", given.get("port_number", self.port))
        try:
            self.port = int(port)
        except (TypeError, ValueError) as error:
            msg = f"{port!r} is no port: give a whole number, such as 7687."
            raise SettingsError(msg) from error
        auth = given.get("auth")
        if isinstance(auth, str):
            self.user, _, self.password = auth.partition(":")
        elif isinstance(auth, list | tuple) and len(auth) == 2:
            self.user, self.password = auth
        elif auth is not None:
            msg = "auth is neither a pair nor USER:PASSWORD: give ('neo4j', '...')."
            raise SettingsError(msg)

    @property
    def scheme(self) -> str:
        """Return the scheme of the URI."""
        suffix = "" if not self.secure else "+s" if self.verify else "+ssc"
        return f"{'neo4j' if self.routing else 'bolt'}{suffix}"

    @property
    def uri(self) -> str:
        """Return the address without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def to_dict(self, *, include_password: bool = False) -> dict[str, Any]:
        """Return all settings, without the password unless it is asked for."""
        hidden = () if include_password else ("auth", "password")
        return {name: value for name, value in self.items() if name not in hidden}

    def __getitem__(self, key: str) -> Any:
        if key not in _KNOWN:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_KNOWN))

    def __len__(self) -> int:
        return len(_KNOWN)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConnectionProfile):
            return False
        return (self.uri, self.auth) == (other.uri, other.auth)

    def __hash__(self) -> int:
        return hash((self.uri, self.auth))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"


class ServiceProfile(ConnectionProfile):
    """The profile of a whole service, which may be a cluster (`routing`)."""
