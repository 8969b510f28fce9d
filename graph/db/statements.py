"""The Cypher statements of the product, loaded by name from the `cypher` package.

A statement file holds one statement below a header of `//` lines:

```
// purpose: store sentences of one batch
// params: rows
// since: 5.26
```

Files below `inspect/` are saved queries for people; they have a `// @title:` line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement file; `name` is its path below `cypher/` without the suffix.

    `since` is the first Neo4j version it runs on, `fallback` the name of the statement
    for older ones, `title` that of a saved query.
    """

    name: str
    text: str
    purpose: str
    params: tuple[str, ...]
    since: str
    fallback: str | None
    title: str | None


def statement(name: str) -> str:
    """Return the text of a statement, by its path below `cypher/` without suffix."""
    return statement_record(name).text


@cache
def statement_record(name: str) -> Statement:
    """Return a statement with its header."""
    path = resources.files("knowtrail.cypher").joinpath(*f"{name}.cypher".split("/"))
    if not path.is_file():
        raise KeyError(name)
    header: dict[str, str] = {}
    lines = path.read_text("utf-8").splitlines()
    while lines and lines[0].startswith("//"):
        key, _, value = lines.pop(0)[2:].strip().partition(":")
        header[key.strip().removeprefix("@")] = value.strip()
    params = header.get("params", "")
    return Statement(
        name=name,
        text="\n".join(lines).strip(),
        purpose=header.get("purpose", ""),
        params=tuple(p.strip() for p in params.split(",") if p.strip()),
        since=header.get("since", "5.26"),
        fallback=header.get("fallback"),
        title=header.get("title"),
    )


@cache
def statement_names() -> tuple[str, ...]:
    """Return the names of all statement files, sorted."""
    root = Path(str(resources.files("knowtrail.cypher")))
    paths = (path.relative_to(root) for path in root.rglob("*.cypher"))
    return tuple(sorted(path.with_suffix("").as_posix() for path in paths))
