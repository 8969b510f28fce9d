"""What a retriever's connections do without a database."""

from __future__ import annotations

import subprocess
import sys


def test_a_link_that_nobody_closed_is_closed_at_exit() -> None:
    """It is while modules are there, so that a server is left without a traceback."""
    kept_until_the_end = (
        "import builtins; from knowtrail.retrieval.link import Link; "
        "builtins.link = Link(); link._opened.callback(print, 'closed')"
    )

    run = subprocess.run(
        [sys.executable, "-c", kept_until_the_end],
        check=True,
        capture_output=True,
        text=True,
    )

    assert (run.stdout, run.stderr) == ("closed\n", "")
