"""YAML that knows on which line each of its values stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError
from knowtrail.graph.extras import extra

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).with_name("data")
"""Where the files of this package are."""

Place = tuple[str | int, ...]
LONGEST = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What a YAML file says, and the line of each value by its place in it."""

    name: str
    value: Any
    lines: Mapping[Place, int]

    def error(self, place: Place, text: str) -> InputError:
        """Return an error that names file and line of a place, or the nearest."""
        while place and place not in self.lines:
            place = place[:-1]
        return InputError(f"{self.name}, line {self.lines.get(place, 1)}: {text}")


_DEEPEST = 50


def read_lines(path: Path) -> Lines:
    """Read a YAML file of one document; errors name the line.

    Anchors and aliases, which can make a small file grow without end, are refused, and
    so are keys that occur twice.
    """
    with extra("templates", "A template file"):
        import yaml
    name = path.name
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read {path}: {error}. Give a YAML file in UTF-8."
        raise InputError(msg) from error
    if len(text) > LONGEST:
        raise InputError(f"{name} has {len(text)} characters: the most is {LONGEST}.")
    # That of libyaml, where it is there, is ten times faster.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                why = f"nested more than {_DEEPEST} deep"
                raise _wrong(name, event.start_mark, why)
            if getattr(event, "anchor", None) is not None:
                why = "anchors and aliases are not taken"
                raise _wrong(name, event.start_mark, why)
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        mark = getattr(error, "problem_mark", None)
        raise _wrong(name, mark, f"no YAML: {problem}") from error
    lines: dict[Place, int] = {}
    value = None if root is None else _value(root, (), lines, name)
    return Lines(name=name, value=value, lines=lines)


def _wrong(name: str, mark: Any, text: str) -> InputError:
    return InputError(f"{name}, line {mark.line + 1 if mark else 1}: {text}.")


def _value(node: Any, place: Place, lines: dict[Place, int], name: str) -> Any:
    """Return the value of a node; note its line and those below it."""
    import yaml
    from yaml.constructor import SafeConstructor

    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_value(n, (*place, i), lines, name) for i, n in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in found:
                raise _wrong(name, key_node.start_mark, f"the key {key!r} occurs twice")
            found[key] = _value(value_node, (*place, key), lines, name)
            lines[(*place, key)] = key_node.start_mark.line + 1
        return found
    try:
        return SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        raise _wrong(name, node.start_mark, f"{node.value!r} cannot be read") from error
