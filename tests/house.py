"""How large the product is, printed by `python -m tests.house`.

Lines are those of code and docstrings, without blank lines and comments.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("graph", "ingest", "retrieval", "eval")
LEFT_OUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT)


def modules() -> dict[str, str]:
    """Return the text of every module of the product by its dotted name."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted(paths)
    }


def lines(text: str) -> int:
    """Return how many lines of a module have something that is no comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({
        number
        for token in tokens
        if token.type not in LEFT_OUT and token.string
        for number, line in enumerate(token.string.split("\n"), token.start[0])
        if line.strip()
    })


def function_lines(text: str) -> list[int]:
    """Return the lengths of a module's functions."""
    return [
        node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
    ]


def _imported(node: ast.AST) -> set[str]:
    """Return what a module imports when it runs, in functions too, not for types."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return set()
    found = set()
    if isinstance(node, ast.ImportFrom):
        found = {f"{node.module}.{alias.name}" for alias in node.names}
    elif isinstance(node, ast.Import):
        found = {alias.name for alias in node.names}
    return found.union(*map(_imported, ast.iter_child_nodes(node)))


def cycles(texts: dict[str, str]) -> list[list[str]]:
    """Return the groups of modules that import one another, directly or not."""
    names = {name.removesuffix(".__init__"): name for name in texts}
    targets: dict[str, set[str]] = {}
    for own, name in names.items():
        found = {
            one.removeprefix("knowtrail.") for one in _imported(ast.parse(texts[name]))
        }
        homes = {one if one in names else one.rpartition(".")[0] for one in found}
        targets[own] = {home for home in homes if home in names and home != own}
    reached = {name: _reached(name, targets) for name in targets}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in targets
        if name in reached[name]
    }
    return sorted(map(list, groups))


def _reached(name: str, targets: dict[str, set[str]]) -> set[str]:
    """Return everything that can be come to from a module."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for target in targets[waiting.pop()] - found:
            found.add(target)
            waiting.append(target)
    return found


def main() -> None:
    """Print the figures."""
    texts = modules()
    lengths = [length for text in texts.values() for length in function_lines(text)]
    tenths = statistics.quantiles(lengths, n=10)
    figures = {
        "lines of code": sum(map(lines, texts.values())),
        "modules": len(texts),
        "functions": len(lengths),
        "lines of a function, median": statistics.median(lengths),
        "lines of a function, nine of ten at most": tenths[-1],
        "lines of a function, most": max(lengths),
        "groups of modules that import one another": len(cycles(texts)),
    }
    for name, value in figures.items():
        sys.stdout.write(f"{value:>8g}  {name}\n")


if __name__ == "__main__":
    main()
