"""Two tiers of tests, the shared material, and one real Neo4j server a worker."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.settings import DEFAULT_NEO4J, Settings
from tests import tiers
from tests.databases import Database
from tests.java import plan_once, short_lived

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(__file__).resolve().parents[2] / "shared"

LINES = (DEFAULT_NEO4J, "5.26.30")
"""The Neo4j lines that are tested; the first tier takes the first of them."""

MOST_WORKERS = 4

# The processes that tests start find what the first of them compiled, torch above all.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# xdist tells its workers the width of the terminal, which tables would keep to.
os.environ.pop("COLUMNS", None)
sys.dont_write_bytecode = False

# A worker has a core: more threads of torch would only wait for each other, busily.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


class Servers:
    """One real server a line, each in a folder of its own."""

    def __init__(self, folders: pytest.TempPathFactory, leases: ExitStack) -> None:
        self._folders = folders
        self._leases = leases
        self._started: dict[str, Settings] = {}

    def settings(self, line: str) -> Settings:
        """Return settings of the server of a line, started by the first who asks."""
        if line not in self._started:
            self._started[line] = self._start(line)
        return self._started[line]

    def _start(self, line: str) -> Settings:
        from knowtrail.graph.server.lease import join_server

        home = self._folders.mktemp(f"home-{line}")
        if uri := os.environ.get("NEO4J_TEST_URI"):
            return Settings.from_env(uri=uri, home=home)
        with ExitStack() as start:
            if line != LINES[0] or not tiers.amount(0, 1):  # else as users have it
                plan_once(home)
                start.enter_context(short_lived(line))
            lease = join_server(home, version=line)
        info = self._leases.enter_context(lease).info
        return Settings.from_env(env={}, home=home).with_server(
            uri=info.uri, username=info.username, password=info.password
        )


def _everything(config: pytest.Config) -> bool:
    """Return whether the second tier, or the rest of it, is asked for."""
    return bool(config.getoption(tiers.ALL) or config.getoption(tiers.REST))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the second tier, and what of it the first has not."""
    parser.addoption(
        tiers.ALL,
        action="store_true",
        help="run everything, also what is marked `thorough`: it takes much longer",
    )
    parser.addoption(
        tiers.REST,
        action="store_true",
        help=f"run {tiers.ALL} without what the first tier runs just the same",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the tier before test modules say how much they try."""
    tiers.choose(_everything(config))
    # Under CI the same examples every time; elsewhere new ones, which find new defects.
    hypothesis.settings.register_profile(
        "tier",
        max_examples=tiers.amount(15, 500),
        derandomize=bool(os.environ.get("CI")),
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("tier")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what is marked `thorough`, or else what the first tier has."""
    if config.getoption(tiers.REST):
        left_out = [item for item in items if tiers.same_in_both(item, LINES[0])]
    elif not config.getoption(tiers.ALL):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
    else:
        return
    config.hook.pytest_deselected(items=left_out)
    out = set(left_out)
    items[:] = [item for item in items if item not in out]
    if not config.getoption(tiers.REST):
        _put_off(items)


def _put_off(items: list[pytest.Item]) -> None:
    """Run late what has a server forget its plans, and last what needs no server.

    Files stay together: a worker takes one at a time, and the last are short ones.
    """
    forgetful = {i.path for i in items if i.get_closest_marker("forgets")}
    files = {path: n for n, path in enumerate(dict.fromkeys(i.path for i in items))}
    items.sort(
        key=lambda item: (
            "unit" in item.path.parts,
            item.path in forgetful,
            files[item.path],
            item.get_closest_marker("forgets") is not None,
        )
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test after `TESTS_UNTIL`, in seconds of the epoch, where that is set."""
    until = os.environ.get("TESTS_UNTIL")
    if until and time.time() > float(until):
        pytest.skip("the time for tests is over: run it by itself")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Share out folders; what is picked of them, or on a server of one's own, not."""
    here = config.invocation_params.dir
    picked = [arg for arg in config.args if not (here / arg).is_dir()]
    if picked or os.environ.get("NEO4J_TEST_URI"):
        return 0
    return min(MOST_WORKERS, os.cpu_count() or 1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a server on every line where everything is asked for."""
    one = metafunc.definition.get_closest_marker("one_line")
    if (
        one is None
        and "neo4j_line" in metafunc.fixturenames
        and _everything(metafunc.config)
    ):
        metafunc.parametrize("neo4j_line", LINES, indirect=True, scope="session")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data; skip without it, fail under CI."""
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI is set and the shared data is not at {SHARED}")
        pytest.skip(f"the shared data is not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield the servers of this worker, started as tests ask for their line."""
    with ExitStack() as leases:
        yield Servers(tmp_path_factory, leases)


@pytest.fixture(scope="session")
def neo4j_line(request: pytest.FixtureRequest) -> str:
    """Return the Neo4j line of the server that a test gets."""
    return str(
        getattr(request, "param", os.environ.get("KNOWTRAIL_TEST_NEO4J", LINES[0]))
    )


@pytest.fixture(scope="session")
def server(servers: Servers, neo4j_line: str) -> Settings:
    """Return settings of a real server: NEO4J_TEST_URI, or one started here."""
    return servers.settings(neo4j_line)


@pytest.fixture(scope="session")
def session_connection(server: Settings) -> Iterator[Connection]:
    """Yield one connection to the session's server."""
    with Connection.open(server) as connection:
        yield connection


@pytest.fixture(scope="session")
def database(session_connection: Connection) -> Database:
    """Return the database of the session's server, for content that tests share."""
    return Database(session_connection)


@pytest.fixture
def connection(database: Database) -> Connection:
    """Return a connection to an empty database.

    Constraints stay from test to test, and vector indexes too where they have the 32
    dimensions that most tests use.
    """
    return database.holding("nothing", lambda: None)
