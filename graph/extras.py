"""Optional packages: what an import says without them, and what installs them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from knowtrail.graph.errors import MissingExtraError

_ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def extra(name: str, need: str, *, otherwise: str = "") -> Iterator[None]:
    """Import what an extra brings; `MissingExtraError` says what installs it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "knowtrail":
            raise  # a mistake of our own, which no installation mends
        how = installing(f"knowtrail[{name}]")
        msg = f"{need} needs the extra `{name}`: {how}{otherwise}."
        raise MissingExtraError(msg) from error


def installing(wanted: str) -> str:
    """Return the command that installs a package or `knowtrail[EXTRA]` here.

    No index has to know Knowtrail where it runs from a checkout: there its own folder
    is installed, by the tool that made the environment.
    """
    name, _, extras = wanted.partition("[")
    uv = "uv " if _made_by_uv(Path(sys.prefix)) else ""
    if name != "knowtrail" or not (_ROOT / "pyproject.toml").is_file():
        return f"{uv}pip install {shlex.quote(wanted)}"
    if not uv:
        place = f"{_ROOT}[{extras}" if extras else str(_ROOT)
        return f"pip install -e {shlex.quote(place)}"
    words = ["uv", "sync", "--inexact"]
    if not Path.cwd().is_relative_to(_ROOT):
        words += ["--project", str(_ROOT)]
    words += ["--extra", extras.rstrip("]")] if extras else ["--reinstall"]
    return shlex.join(words)


def _made_by_uv(environment: Path) -> bool:
    try:
        made = (environment / "pyvenv.cfg").read_text("utf-8")
    except OSError:
        return False
    return any(line.startswith("uv =") for line in made.splitlines())
