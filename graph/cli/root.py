"""The `knowtrail` command: options that hold for all, sub-commands loaded by name.

`commands.toml` names sub-commands by module and attribute; none is imported before it
is called, so that `--help` costs little more than the interpreter.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any

import click

from knowtrail.graph.cli.groups import LazyGroup
from knowtrail.graph.cli.options import told_options
from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.errors import (
    CorpusDriftError,
    InputError,
    KnowtrailError,
    SettingsError,
)
from knowtrail.graph.files.packaged import packaged

if TYPE_CHECKING:
    from pathlib import Path

_TABLE = packaged(__package__, "commands.toml")
_COMMANDS, _UNDER, _ADDED = (_TABLE[name] for name in ("commands", "under", "added"))

_MENDABLE = (InputError, SettingsError, CorpusDriftError)
"""What the user can mend by calling differently."""

USER_MISTAKE = 2
FAILURE = 1


@click.group(
    cls=LazyGroup,
    commands_at={
        name: (f"knowtrail.{place}", line) for name, (place, line) in _COMMANDS.items()
    },
    under=_UNDER,
    added=_ADDED,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@told_options("knowtrail.graph", "knowtrail")
@click.version_option(package_name="knowtrail", prog_name="knowtrail")
@click.pass_context
def knowtrail(
    ctx: click.Context,
    /,
    *,
    password_file: Path | None,
    config: Path | None,
    verbose: int,
    debug: bool,
    **explicit: Any,
) -> None:
    """Put text corpora into Neo4j and answer questions by walking the graph.

    Without an address, commands use a local Neo4j server that Knowtrail starts and
    stops by itself. Start with: knowtrail quickstart
    """
    from knowtrail.graph.settings import Settings

    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    told = logging.Formatter("%(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(told if verbose else _Plain())
    logging.basicConfig(level=level, handlers=[handler])
    if verbose < 2:
        # The driver logs what it then raises; an error is told once.
        logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    _show_loading(verbose)
    password = None if password_file is None else _read_password(password_file)
    homes = [] if ctx.obj is None else ctx.obj
    ctx.obj = Settings.from_env(config=config, password=password, **explicit)
    homes.append(ctx.obj.home)


class _Plain(logging.Formatter):
    """Writes messages as people read them: only what is wrong says so."""

    def format(self, record: logging.LogRecord) -> str:
        told = super().format(record)
        return f"Warning: {told}" if record.levelno >= logging.WARNING else told


class _Notices(logging.Handler):
    """Writes messages as stages without a terminal are written, one on a line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one to what stderr is now: a progress bar may have taken it over."""
        click.echo(f"{record.getMessage()} ...", err=True)


def _show_loading(verbose: int) -> None:
    """Say when a model is loaded, which takes long; with a log, the log says it."""
    log = logging.getLogger("knowtrail.graph.models.embedders.loading")
    log.handlers = [] if verbose else [_Notices()]
    log.propagate = bool(verbose)
    log.setLevel(logging.INFO)


def _read_password(path: Path) -> str:
    try:
        return path.read_text("utf-8").splitlines()[0].strip()
    except (OSError, UnicodeDecodeError, IndexError) as error:
        msg = f"Cannot read a password from {path}: write it on the first line."
        raise SettingsError(msg) from error


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exits 0 on success, 2 for mistakes of the user, 1 for failures, 130 on Ctrl-C and
    143 on SIGTERM.
    """
    arguments = sys.argv[1:] if argv is None else argv
    interrupts: list[int] = []
    homes: list[Path] = []
    try:
        with _noting(interrupts), _driver_without_pandas():
            result = knowtrail.main(
                arguments, prog_name="knowtrail", standalone_mode=False, obj=homes
            )
    except BaseException as error:
        # What Ctrl-C breaks off need not say so: an import that it ends may raise
        # an error of its own, and so may a library that tidies up after it.
        if isinstance(error, click.exceptions.Abort) and error.__cause__:
            error = error.__cause__
        if interrupts or isinstance(error, KeyboardInterrupt):
            click.echo("Interrupted.", err=True)
            sys.exit(128 + (interrupts or [signal.SIGINT])[0])
        if isinstance(error, click.exceptions.Abort):
            click.echo("Nothing was done: answer y, or give --yes.", err=True)
            sys.exit(USER_MISTAKE)
        sys.exit(_told(error, homes, debug="--debug" in arguments))
    sys.exit(result if isinstance(result, int) else 0)


class _NoPandas(MetaPathFinder):
    """Keeps pandas from the driver while that is imported, and from nothing else."""

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> None:
        """Refuse pandas where the driver is not whole yet."""
        driver = sys.modules.get("neo4j")
        if name == "pandas" and driver and not hasattr(driver, "GraphDatabase"):
            raise ModuleNotFoundError("The driver does without pandas.", name=name)


@contextmanager
def _driver_without_pandas() -> Iterator[None]:
    """Keep the driver from importing pandas, for types that no command has."""
    # Where it is installed that takes a third of a question's CPU time.
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextmanager
def _noting(interrupts: list[int]) -> Iterator[None]:
    """Add to a list at each Ctrl-C, which goes on as usual, and let SIGTERM be one."""

    def note(number: int, _: Any) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    # Whoever runs us in a program of their own may have taken them, or ignore them.
    noted = [n for n, how in usual.items() if mine and signal.getsignal(n) is how]
    for number in noted:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in noted:
            signal.signal(number, usual[number])


def _told(error: BaseException, homes: list[Path], *, debug: bool) -> int:
    """Say in one line what went wrong; return the exit status."""
    if isinstance(error, click.ClickException):
        if isinstance(error, click.NoSuchOption) and error.option_name in {
            name for param in knowtrail.params for name in param.opts
        }:
            name, error.possibilities = error.option_name, None
            error.message = (
                f"{name} stands before the command: knowtrail {name} ... COMMAND"
            )
        error.show()
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone; Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    if debug or not isinstance(error, Exception):
        raise error
    if isinstance(error, KnowtrailError):
        from knowtrail.graph.settings import as_typed

        told = as_typed(str(error), homes[0]) if homes else error
        click.echo(plain_text(f"Error: {told}", lines=True), err=True)
        mendable = isinstance(error, _MENDABLE) and not isinstance(error, OSError)
        return USER_MISTAKE if mendable else FAILURE
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        said = f"{error.strerror or error}{where}."
    elif isinstance(error, MemoryError):
        said = "Out of memory: ask for less, or give it more."
    else:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        said = f"unexpected {what}. This is a defect: --debug shows where it is."
    click.echo(f"Error: {said}", err=True)
    return FAILURE


if __name__ == "__main__":
    main()
