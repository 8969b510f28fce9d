"""Paths of fields: how they are written, taken apart and made general.

A key follows a dot (`a.b`), an element's index stands in brackets (`a[0].b`; -1, -2,
... for elements that gold lacks), and a key that has a dot, a bracket, a quote or
nothing at all is written as a JSON string in brackets (`a["b.c"]`), so that two fields
never have the same path. A schema path has `[]` for every index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_SPECIAL = re.compile(r'[.\[\]"]')
_INDEX = re.compile(r'(\["(?:[^"\\]|\\.)*"\])|\[-?\d+\]')
_LAST = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[-?\d*\]|\.?[^.\[\]"]+')


def key_step(key: str) -> str:
    """Return how a key is written after a path: `.name`, or `["a.b"]`."""
    if key and not _SPECIAL.search(key):
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=False)}]"


def child_path(path: str, key: str) -> str:
    """Return the path of a key of the object at `path`."""
    return path + key_step(key) if path else key_step(key).removeprefix(".")


def _last_step(path: str) -> str:
    steps: list[str] = _LAST.findall(path)
    return steps[-1] if steps else ""


def last_key(path: str) -> str:
    """Return the key that a path ends with; empty for an element or the root."""
    step = _last_step(path)
    if step.startswith('["'):
        return str(json.loads(step[1:-1]))
    return "" if step.startswith("[") else step.removeprefix(".")


def parent_path(path: str) -> str:
    """Return the path of the object or array that holds the field."""
    return path[: len(path) - len(_last_step(path))]


def schema_path(path: str) -> str:
    """Return the schema path of an instance path: `a[0].b` becomes `a[].b`."""
    return _general(path) if "[" in path else path


@lru_cache(maxsize=65_536)
def _general(path: str) -> str:
    return _INDEX.sub(lambda found: found[1] or "[]", path)


def category(value: Any) -> str:
    """Return a value as a category: equal JSON is the same one."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def leaves(record: Any) -> Iterator[tuple[str, Any]]:
    """Yield schema path and value of everything that is no object and no array."""
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (child_path(path, str(key)), below)
                for key, below in reversed(value.items())
            ]
        elif isinstance(value, list):
            waiting += [(f"{path}[]", below) for below in reversed(value)]
        else:
            yield path, value
