"""What the product tells a person to type, it understands."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import click

from knowtrail.graph.cli.root import knowtrail
from tests.house import PACKAGES, ROOT, modules

if TYPE_CHECKING:
    from collections.abc import Iterator

ELSEWHERE = {
    "graph.server._train",
    "graph.server.install",
    "graph.server.loading",
    "ingest.bulk.columns",
    "ingest.bulk.export",
}
"""Modules that give options to Java or Neo4j's tools, not to a person."""

OF_OTHERS = {"--force-reinstall", "--inexact", "--project", "--extra", "--reinstall"}
"""Options of other programs, here of pip and uv."""


def _options() -> dict[str, set[str]]:
    """Return the options of every command by its words, those of the root by none."""
    found: dict[str, set[str]] = {}

    def gather(command: click.Command, *words: str) -> None:
        found[" ".join(words)] = {"--help"} | {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
            if name.startswith("--")
        }
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                if child := command.get_command(context, name):
                    gather(child, *words, name)

    gather(knowtrail)
    return found


def _texts(text: str) -> Iterator[str]:
    """Yield the texts of a module; what calls the program itself is its name."""
    tree = ast.parse(text)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in joined:
        yield "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else "knowtrail"
            if ast.unparse(part.value).startswith("own")
            else "X"
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in parts:
            yield str(node.value)


def _told() -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the modules with their texts, and the templates and tables beside them."""
    for module, source in modules().items():
        if module not in ELSEWHERE:
            yield module, _texts(source)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.t*"):
            if path.suffix in {".txt", ".toml"}:
                text = re.sub(r"{{ own }}", "knowtrail", path.read_text("utf-8"))
                told = re.sub(r"{{.*?}}|{%.*?%}", "X", text)
                yield path.relative_to(ROOT).as_posix(), iter(told.splitlines())


def test_hints_name_options_that_there_are() -> None:
    """Each option in a text is one of the command that it names, or of any."""
    options = _options()
    every = set().union(*options.values())
    wrong, seen = set(), 0
    for module, texts in _told():
        for text in texts:
            told = set(re.findall(r"(?<![\w-])--[a-z][\w-]*\w", text))
            wrong |= {
                f"{module}: no command has {name}" for name in told - every - OF_OTHERS
            }
            for line in re.findall(r"\bknowtrail ([^,;:()\n]*)", text):
                words = line.split()
                name = next(
                    (w for n in (3, 2, 1) if (w := " ".join(words[:n])) in options), ""
                )
                named = {word for word in words if re.fullmatch(r"--[a-z][\w-]*", word)}
                seen += len(named)
                wrong |= {
                    f"{module}: {name or 'knowtrail'} has no {word}"
                    for word in named - options[name] - options[""]
                }

    assert seen > 20
    assert sorted(wrong) == []
