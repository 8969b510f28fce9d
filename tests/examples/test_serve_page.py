"""The page about HTTP: its commands are run against `knowtrail serve`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.examples.conftest import blocks
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples.conftest import Reader
    from tests.serving import Serving

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

SHOWN = "http://127.0.0.1:7475"
LINES = [
    line
    for block in blocks("docs/how-to/serve.md", "console")
    for line in block.splitlines()
    if SHOWN in line or "--write" in line
]


@pytest.fixture
def served(reader: Reader) -> Iterator[Serving]:
    """Yield a server that was started as the page says."""
    home = os.environ["KNOWTRAIL_HOME"]
    with serving("serve", env={"KNOWTRAIL_HOME": home}) as served:
        assert reader.folder.exists()
        yield served


def _out(line: str, served: Serving, reader: Reader) -> str:
    """Return what a command of the page writes."""
    words = shlex.split(line.replace(SHOWN, served.url))
    if words[0] == "knowtrail":
        done = reader.type(shlex.join(words))
        assert (done.code, done.errors[1:]) == (0, [])
        return done.out
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    return ran.stdout


def test_commands_of_the_page_run(served: Serving, reader: Reader) -> None:
    """JSON has rows, CSV a header, and LOAD CSV finds the article about tides."""
    assert len(LINES) == 6

    search, walk, compare, load, _, stored = (
        _out(line, served, reader) for line in LINES
    )

    assert len(json.loads(search)["rows"]) == 3
    assert walk.startswith("step,hop,documentId,title,")
    assert {row["traversalId"] for row in json.loads(compare)["rows"]} == {None}
    assert "Tide" in load
    assert "Tide" in stored
