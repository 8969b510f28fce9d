"""Readers take what they take, and refuse the rest with an error of ours."""

from __future__ import annotations

import json
import logging
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from knowtrail.retrieval.snapshot.files import FORMAT
from tests.fuzzing import TARGETS, attempt, inputs, seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTS = {
    "corpus": "a",
    "stamp": "b",
    "version": 1,
    "dimensions": 1,
    "documents": 1,
    "chunks": 1,
    "sentences": 1,
    "edges": 1,
    "checksums": {},
    "format": FORMAT,
    "sizes": {"a" * 300: 1},
}
FINDS = [
    ("rst", b"- " * 300),
    ("rst", b"A |d|.\n\n.. |d| replace:: b |c| e\n"),
    ("snapshot", b"snapshot.json\n" + json.dumps(FACTS).encode()),
    (
        "dump",
        b"<mediawiki><siteinfo><base>http://[</base></siteinfo><page><title>a"
        b"</title><ns>0</ns><id>1</id><revision><text>b</text></revision></page>"
        b"</mediawiki>",
    ),
    ("html", b"<meta charset=uu>\xcf"),
    ("rdf-xml", b'<?xml version="1.0" encoding="utf-9"?><a/>'),
    (
        "snapshot",
        b"chunk_scales.npy\n\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'shape': ("
        + b" " * 80,
    ),
    *(
        (
            "snapshot",
            b"chunk_vectors.npy\n\x93NUMPY\x01\x00v\x00"
            + header.ljust(117).encode()
            + b"\n" * 9,
        )
        for header in (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9" + "9" * 20 + ",)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-129, 12)}",
            "{'descr': ',<f4', 'fortran_order': False, 'shape': (23, 12)}",
        )
    ),
    ("judges", b"default = " + b"[" * 9_000),
]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Let readers say what they like of texts that nobody wrote."""
    logging.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("name", "data"), FINDS)
def test_what_was_found_stays_mended(name: str, data: bytes) -> None:
    """Each of these once raised something else."""
    attempt(name, data)


@pytest.mark.thorough
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", TARGETS)
def test_readers_refuse_with_an_error_of_ours(name: str) -> None:
    """Every seed is taken; whatever is edited in one is taken or refused in words."""
    for seed in seeds(name):
        TARGETS[name].read(seed)

    @given(inputs(name))
    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def check(data: bytes) -> None:
        attempt(name, data)

    check()
