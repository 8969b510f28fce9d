"""Tables and texts that come with the package, in TOML beside its modules."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["packaged"]


@cache
def packaged(package: str, name: str) -> dict[str, Any]:
    """Return what a file of TOML beside the modules of a package holds, read once.

    It is the same object each time: do not change it.
    """
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))
