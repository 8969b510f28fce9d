"""Neo4j inside this process: configuration, password, start and stop.

Only the server process imports this module's Java half; see
`knowtrail.graph.server._child`.
"""

from __future__ import annotations

import logging
import re
import socket
from dataclasses import dataclass, replace
from importlib import resources
from importlib.metadata import entry_points
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.driver import is_loopback
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import PortInUseError, ServerStartError
from knowtrail.graph.server.folder import USERNAME, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knowtrail.graph.server.folder import ServerFolder

DEFAULT_PORT = 7687
OWN_CONFIGURATION = "own.conf"
"""File of the user beside `neo4j.conf`: more settings, where these have none."""
PLUGIN_GROUP = "knowtrail.server_plugins"
SYSTEM_DATABASE = "system"
DEFAULT_DATABASE = "neo4j"

_NOT_THIS_MACHINE = ",".join(
    str(part)
    for part in (
        *IPv4Network("0.0.0.0/0").address_exclude(IPv4Network("127.0.0.0/8")),
        *IPv6Network("::/0").address_exclude(IPv6Network("::1/128")),
    )
)
"""Every address but loopback, where `knowtrail serve` is."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DbmsSpec:
    """How Neo4j is to be set up; `root` is its own home, no port keeps Bolt closed."""

    root: Path
    port: int | None
    page_cache: str
    load_csv: str = "local"


def choose_port(wanted: int | None, last: int | None = None) -> int:
    """Return the wanted port (or `PortInUseError`), else the last, 7687, a free one."""
    for port in (last, DEFAULT_PORT) if wanted is None else (wanted,):
        if port is not None and is_free(port):
            return port
    if wanted is not None:
        raise PortInUseError(
            f"Port {wanted} is taken by another process: "
            "leave out --port to get a free one, or choose another."
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def is_free(port: int) -> bool:
    """Return whether nobody listens on a loopback port, nor on all addresses."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return False
    except OSError:
        pass
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def configuration(spec: DbmsSpec) -> dict[str, str]:
    """Return Neo4j's settings: those of `neo4j.conf` beside this, and the folder's."""
    source = resources.files("knowtrail.graph.server").joinpath("neo4j.conf")
    lines = source.read_text("utf-8").splitlines()
    address = f"127.0.0.1:{spec.port or DEFAULT_PORT}"
    return dict(line.split("=", 1) for line in lines if "=" in line) | {
        "server.bolt.enabled": "false" if spec.port is None else "true",
        "server.bolt.listen_address": address,
        "server.bolt.advertised_address": address,
        "internal.dbms.cypher_ip_blocklist": (
            "" if spec.load_csv == "remote" else _NOT_THIS_MACHINE
        ),
        "server.memory.pagecache.size": spec.page_cache,
    }


def _check_loopback(own: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse addresses of the user's settings, where not ours, that others reach."""
    for key, value in own.items():
        # HOST:PORT, :PORT or HOST, of which one with several colons is in brackets.
        found = re.fullmatch(r"\[(.*)\](?::\d+)?|([^:]*)(?::\d+)?", value.strip())
        host = "other" if found is None else found[1] or found[2]
        own_address = key.endswith("listen_address") and key not in ours
        if own_address and host and not is_loopback(host):
            raise ServerStartError(
                f"{OWN_CONFIGURATION}: {key}={value[:80]} is not on loopback alone: "
                "write :PORT."
            )


def _properties(file: Path) -> dict[str, str]:
    """Read a file of Java's properties, whose keys and addresses are in ASCII."""
    from jpype import JClass

    found = JClass("java.util.Properties")()
    found.load(JClass("java.io.ByteArrayInputStream")(file.read_bytes()))
    return {
        str(key): str(found.getProperty(key)) for key in found.stringPropertyNames()
    }


class Dbms:
    """A running Neo4j in this process."""

    def __init__(self, service: Any) -> None:
        self._service = service

    @classmethod
    def start(cls, spec: DbmsSpec) -> Dbms:
        """Start Neo4j and return once it takes connections."""
        from jpype import JClass, JException

        settings = configuration(spec)
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        file = spec.root / "conf" / "neo4j.conf"
        own = file.with_name(OWN_CONFIGURATION)
        for folder in (file.parent, spec.root / "import"):
            folder.mkdir(exist_ok=True)
        write_whole(file, text)
        builder_class = JClass("org.neo4j.dbms.api.DatabaseManagementServiceBuilder")
        path_class = JClass("java.nio.file.Path")
        log_class = JClass("org.neo4j.logging.log4j.Log4jLogProvider")
        try:
            builder = builder_class(path_class.of(str(spec.root)))
            if own.is_file():
                _check_loopback(_properties(own), settings)
                builder = builder.loadPropertiesFromFile(path_class.of(str(own)))
            return cls(
                builder
                .loadPropertiesFromFile(path_class.of(str(file)))
                .setUserLogProvider(log_class(JClass("java.lang.System").out))
                .build()
            )
        except JException as error:
            _log.error("Neo4j did not start: %s", error.stacktrace())
            raise ServerStartError(_innermost(error)) from error

    def set_password(self, password: str) -> None:
        """Change the password on the system database, without a connection."""
        from jpype import JClass

        self._service.database(SYSTEM_DATABASE).executeTransactionally(
            statement("schema/password"),
            JClass("java.util.Map").of("password", password),
        )

    def register_plugins(self) -> None:
        """Call every server plugin with the default database's resolver.

        A plugin is an entry point of the group `knowtrail.server_plugins` that loads to
        a function of one argument. One that fails is logged and left out.
        """
        resolver = self._service.database(DEFAULT_DATABASE).getDependencyResolver()
        for plugin in entry_points(group=PLUGIN_GROUP):
            try:
                plugin.load()(resolver)
            except Exception:
                _log.exception("Server plugin %s failed and is left out", plugin.name)

    def stop(self) -> None:
        """Stop Neo4j, everything committed being on disk."""
        self._service.shutdown()


def prepare_password(folder: ServerFolder, spec: DbmsSpec) -> None:
    """See to it that Neo4j's password is the stored one before Bolt ever opens.

    A new folder gets Neo4j's file for the first password, which it reads when it makes
    its system database, so that the well-known default never exists. Where data are
    older than the stored password (its file was deleted, or the first start broke off)
    Neo4j runs once with Bolt closed and its password is changed.
    """
    mark = spec.root / "password.set"
    password = folder.read_password()
    has_data = (spec.root / "data" / "databases" / SYSTEM_DATABASE).exists()
    if password is not None and has_data and mark.exists():
        return
    if password is None:
        mark.unlink(missing_ok=True)
        password = folder.new_password()
    if has_data:
        closed = Dbms.start(replace(spec, port=None))
        try:
            closed.set_password(password)
        finally:
            closed.stop()
    else:
        _write_first_password(spec.root, password)
    mark.touch()


def _write_first_password(root: Path, password: str) -> None:
    from jpype import JClass

    path_class = JClass("java.nio.file.Path")
    context = JClass("org.neo4j.cli.ExecutionContext")(
        path_class.of(str(root)), path_class.of(str(root / "conf"))
    )
    command = JClass("org.neo4j.commandline.admin.security.SetInitialPasswordCommand")
    code = JClass("picocli.CommandLine")(command(context)).execute(["--", password])
    if code != 0:
        msg = f"Neo4j refused to take a first password for {USERNAME!r} (code {code})."
        raise ServerStartError(msg)


def _innermost(error: Any) -> str:
    while error.getCause() is not None:
        error = error.getCause()
    message = error.getMessage()
    text = str(message) if message is not None else str(error.getClass().getName())
    return text.strip().splitlines()[0][:300]
