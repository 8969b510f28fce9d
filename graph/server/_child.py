"""The server process: hosts the Java virtual machine in which Neo4j runs.

Started by `knowtrail.graph.server.lease` as `python -m knowtrail.graph.server._child
SPEC`, where SPEC is a `ChildSpec` in JSON. It takes leave of its starter at once (a
session of its own, a fork whose parent exits), takes the folder's `server.lock` and
keeps it until it ends.

Standard input of a server that does not stay is a pipe from its starter. Whatever
ends the starter also ends that pipe, and from then on the server stops as soon as it
can take the clients' lock for itself alone.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection

from knowtrail.graph.errors import KnowtrailError, ServerError, ServerStartError
from knowtrail.graph.server.dbms import Dbms, DbmsSpec, choose_port, prepare_password
from knowtrail.graph.server.folder import RunningServer, ServerFolder
from knowtrail.graph.server.install import find_java, installed_jars, start_jvm
from knowtrail.graph.server.lease import ChildSpec
from knowtrail.graph.server.loading import adopt_store

CLIENT_POLL_SECONDS = 0.2
STOP_POLL_SECONDS = 0.5
LOCK_WAIT_SECONDS = 5.0
PORT_TRIES = 3
OPEN_FILES = 10_240

_log = logging.getLogger(__name__)


def main() -> None:
    """Run the server described by the first argument until it is told to stop."""
    spec = ChildSpec(**json.loads(sys.argv[1]))
    if os.fork() > 0:
        os._exit(0)
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stdout,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.umask(0o077)
    _raise_open_files()
    answers = Connection(spec.answer, readable=False)
    code = 1
    try:
        _serve(spec, answers, stop)
        code = 0
    except KnowtrailError as error:
        _log.error("%s", error)
        _answer(answers, error=str(error), kind=type(error).__name__)
    except BaseException as error:
        _log.exception("The server process failed")
        _answer(answers, error=repr(error), kind=ServerStartError.__name__)
    finally:
        # Java's own threads would keep the process alive; Neo4j is down by now.
        sys.stdout.flush()
        os._exit(code)


def _serve(spec: ChildSpec, answers: Connection, stop: threading.Event) -> None:
    folder = ServerFolder(spec.home)
    lock = folder.lock("server")
    if not lock.acquire(timeout=LOCK_WAIT_SECONDS):
        msg = f"Another server process still uses {folder.root}: try again."
        raise ServerError(msg)
    lock.note(str(os.getpid()))
    folder.clear_state()
    if adopt_store(folder.root):
        _log.info("An imported store took the place of the old one")
    began = time.monotonic()
    dbms, port = _start(spec, folder)
    state = RunningServer(
        pid=os.getpid(), port=port, version=spec.version, stays=spec.stays
    )
    dbms.register_plugins()
    folder.record(spec.version, port)
    folder.write_state(state)
    _log.info(
        "Neo4j %s answers on 127.0.0.1:%d after %.1f s",
        spec.version,
        port,
        time.monotonic() - began,
    )
    _answer(answers)
    # Not before: a start that outlasts its starter's patience, as a recovery does, ends
    # by itself, and whoever comes in the meantime waits for it.
    if not spec.stays:
        threading.Thread(
            target=_watch_clients, args=(folder, stop), name="clients", daemon=True
        ).start()
    # Python runs a signal's handler in the main thread, which a signal that the
    # system hands to one of Java's threads does not wake: look now and then.
    while not stop.wait(STOP_POLL_SECONDS):
        pass
    _log.info("Stopping")
    dbms.stop()
    folder.clear_state()
    _log.info("Stopped")


def _start(spec: ChildSpec, folder: ServerFolder) -> tuple[Dbms, int]:
    port = choose_port(spec.port, folder.recorded_port())
    java = find_java()
    extra = [f"-Xmx{spec.heap}", f"-XX:ErrorFile={folder.root / 'crash.log'}"]
    if spec.archive is not None:
        extra += [f"-XX:AOTCache={spec.archive}", "-Xlog:aot*=off"]
    start_jvm(java, installed_jars(spec.version), extra)
    for attempt in range(1, PORT_TRIES + 1):
        setup = DbmsSpec(
            root=folder.root,
            port=port,
            page_cache=spec.page_cache,
            load_csv=spec.load_csv,
        )
        if attempt == 1:
            prepare_password(folder, setup)
        try:
            return Dbms.start(setup), port
        except ServerStartError:
            # Somebody may have taken the port since it was looked at: if so, this
            # raises for a port the user chose and else finds another.
            again = choose_port(spec.port)
            if again == port or attempt == PORT_TRIES:
                raise
            port = again
    raise AssertionError


def _watch_clients(folder: ServerFolder, stop: threading.Event) -> None:
    """Stop the server once the starter is gone and no client holds the folder."""
    while os.read(0, 4096):
        pass
    while not stop.wait(CLIENT_POLL_SECONDS):
        state = folder.read_state()
        if state is not None and state.stays:
            return
        change = folder.lock("change")
        if not change.acquire():
            continue
        clients = folder.lock("clients")
        if clients.acquire():
            # The change lock is kept: whoever comes now waits until this process is
            # gone and starts a server of its own.
            clients.release()
            _KEPT.append(change)
            stop.set()
            return
        change.release()


_KEPT: list[object] = []
"""Locks that last as long as the process."""


def _raise_open_files() -> None:
    """Allow this process more open files; some systems start with 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _answer(answers: Connection, **fields: str) -> None:
    """Tell the starter, once: what is told later only stands in the log."""
    try:
        with answers:
            answers.send_bytes(json.dumps(fields).encode())
    except OSError as error:
        _log.info("The starter is not told: %s", error)


if __name__ == "__main__":
    main()
