"""Graph services: a Neo4j server with its databases, reached through one driver."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

from graph.driver import DRIVER_OPTIONS
from graph.py2neo.errors import ConnectionUnavailable, ServiceUnavailable, translated
from graph.py2neo.profiles import ConnectionProfile, ServiceProfile
from graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graph.py2neo.graph import Graph, SystemGraph
    from graph.server import ServerLease

__all__ = ["GraphService", "Version"]

_LOG = logging.getLogger(__name__)

_OPTIONS = {
    "user_agent": "user_agent",
    "max_connections": "max_connection_pool_size",
    "connection_timeout": "connection_timeout",
}
"""Setting of a service -> option of the driver."""


class Version(tuple[int, ...]):
    """A version: its numbers, and the text that it was written as.

    Args:
        text: The version, such as `5.26.30`.
    """

    _text: str

    def __new__(cls, text: str) -> Version:
        """Read the numbers, up to what follows a hyphen or plus sign."""
        numbers = text.partition("-")[0].partition("+")[0].split(".")
        version = super().__new__(cls, (int(n) for n in numbers if n.isdigit()))
        version._text = text
        return version

    def __str__(self) -> str:
        """Return the text."""
        return self._text

    def __reduce__(self) -> tuple[type[Version], tuple[str]]:
        """Copy and pickle as the text."""
        return Version, (self._text,)


class GraphService:
    """A Neo4j server, and the graphs in it.

    It holds one driver, which opens connections as they are needed and may be shared
    by threads. The driver is closed with `close`, or when the service is forgotten.

    Args:
        profile: Address as a URI or profile. Without it and any setting, the server
            that Knowtrail's settings name (`NEO4J_URI`), or else the managed local
            server, which is started where it does not run.
        settings: Single settings of a `ServiceProfile`; and `user_agent`,
            `max_connections` (40) and `connection_timeout` in seconds.

    Raises:
        ConnectionUnavailable: If nothing answers, or the credentials are refused.
        SettingsError: If a setting is not known.
    """

    def __init__(
        self, profile: str | ConnectionProfile | None = None, **settings: Any
    ) -> None:
        import neo4j

        options = {"max_connection_pool_size": 40, **DRIVER_OPTIONS}
        for name, option in _OPTIONS.items():
            value = settings.pop(name, None)
            if value is not None:
                options[option] = value
        self._database: str | None = None
        self._profile = self._resolve(profile, settings)
        with translated(self.uri):
            driver = neo4j.GraphDatabase.driver(
                self.uri, auth=self._profile.auth, **options
            )
        self._driver = driver
        self._closing = weakref.finalize(self, driver.close)
        try:
            with translated(self.uri):
                driver.verify_connectivity()
        except ServiceUnavailable as error:
            self.close()
            raise ConnectionUnavailable(str(error)) from error
        except BaseException:
            self.close()
            raise

    def _resolve(
        self, profile: str | ConnectionProfile | None, settings: dict[str, Any]
    ) -> ServiceProfile:
        """Find out where the server is, and start the managed one if it is that."""
        if profile is not None or settings:
            ours = Settings.from_env()
            if profile is None and ours.uri and not {"host", "address"} & set(settings):
                profile = ours.uri
            return ServiceProfile(profile, **settings)
        ours = Settings.from_env()
        if ours.uri is None:
            info = _managed_server(ours).info
            ours = ours.with_server(
                uri=info.uri, username=info.username, password=info.password
            )
        self._database = ours.database
        return ServiceProfile(ours.uri, auth=(ours.username, ours.password or ""))

    def close(self) -> None:
        """Close the driver; nothing can be run any more."""
        self._closing()

    def __enter__(self) -> GraphService:
        """Return the service."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the driver."""
        self.close()

    @property
    def profile(self) -> ServiceProfile:
        """Return where the server is, and as whom it is spoken to."""
        return self._profile

    @property
    def uri(self) -> str:
        """Return the address of the server."""
        return self._profile.uri

    @property
    def default_graph(self) -> Graph:
        """Return the graph that is used where none is named."""
        from graph.py2neo.graph import Graph

        return Graph._of(self, self._database)

    @property
    def system_graph(self) -> SystemGraph:
        """Return the graph that describes the server."""
        from graph.py2neo.graph import SystemGraph

        return SystemGraph._of(self, "system")

    def keys(self) -> list[str]:
        """Return the names of all graphs."""
        cursor = self.system_graph.query("SHOW DATABASES YIELD name RETURN name")
        return sorted({record[0] for record in cursor})

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all graphs."""
        return iter(self.keys())

    def __getitem__(self, name: str | None) -> Graph:
        """Return a graph by its name, None for the default.

        Raises:
            KeyError: If there is no such graph.
        """
        if name is None:
            return self.default_graph
        if name not in self.keys():
            msg = f"Graph {name!r} does not exist for service {self.uri!r}."
            raise KeyError(msg)
        from graph.py2neo.graph import Graph

        return Graph._of(self, name)

    def _component(self) -> tuple[str, str, str]:
        """Return product, version and edition of the server."""
        rows = self.default_graph.call("dbms.components").data()
        row = next((r for r in rows if r["name"].startswith("Neo4j")), rows[0])
        return row["name"], row["versions"][0], row["edition"]

    @property
    def kernel_version(self) -> Version:
        """Return the version of Neo4j in numbers, such as `(5, 26, 30)`."""
        return Version(self._component()[1])

    @property
    def product(self) -> str:
        """Return name, version and edition of the product."""
        name, version, edition = self._component()
        return f"{name} {version} ({edition.title()})"

    @property
    def config(self) -> dict[str, str]:
        """Return the settings of the server by name."""
        cursor = self.default_graph.query(
            "SHOW SETTINGS YIELD name, value RETURN name, value"
        )
        return {record[0]: record[1] for record in cursor}

    def __eq__(self, other: object) -> bool:
        """Return whether both speak to the same server as the same user."""
        if not isinstance(other, GraphService):
            return False
        return self is other or self._profile == other._profile

    def __hash__(self) -> int:
        """Return the hash of the profile."""
        return hash(self._profile)

    def __repr__(self) -> str:
        """Return the class with the address."""
        return f"<GraphService uri={self.uri!r}>"


_LEASES: dict[Path, ServerLease] = {}
_LOCK = threading.Lock()


def _managed_server(settings: Settings) -> ServerLease:
    """Join or start the managed server; it is held until the process ends."""
    from graph.server import join_server

    with _LOCK:
        lease = _LEASES.get(settings.home)
        if lease is None:
            _LOG.warning(
                "No address of a server is given: Knowtrail's own in %s is used, and "
                "started where it does not run. Set NEO4J_URI for another.",
                settings.home,
            )
            lease = join_server(
                settings.home,
                version=settings.neo4j_version,
                heap=settings.heap,
                page_cache=settings.page_cache,
            )
            _LEASES[settings.home] = lease
            atexit.register(lease.close)
    return lease
