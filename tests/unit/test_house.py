"""The rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from graph.statements import statement_names, statement_record

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("graph", "ingest", "retrieval", "eval")
MODULE_LINES = 400
FUNCTION_LINES = 60

LONG_MODULES: dict[str, str] = {}
"""Module -> why it is longer than the limit."""

LONG_FUNCTIONS: dict[str, str] = {}
"""`module.py:function` -> why it is longer than the limit."""

TEST_CLASSES = {"retrieval/conformance.py"}
"""Modules with test classes for implementers, which are made of asserts."""

MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in (*LAYERS, "cypher")
    for path in (ROOT / package).rglob("*.py")
)
PACKAGES = [module for module in MODULES if module.endswith("/__init__.py")]
TEXTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        *(f"{package}/**/*.py" for package in (*LAYERS, "cypher")),
        "cypher/**/*.cypher",
        "docs/**/*.md",
        "examples/**/*.py",
        "*.md",
        "*.toml",
        "*.yml",
    )
    for path in ROOT.glob(pattern)
)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text("utf-8"))


def _imports(module: str) -> set[str]:
    """Return every module that is imported anywhere in a module."""
    found = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def _all_names(module: str) -> list[str] | None:
    """Return `__all__` of a module, None where it has none."""
    for node in _tree(module).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        ):
            return list(ast.literal_eval(node.value))
    return None


def _order(name: str) -> tuple[int, str]:
    """Sort constants, then classes, then the rest, as the linter does."""
    kind = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    return kind, name


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    """A layer imports itself and the layers below it, at any depth of the code."""
    own = module.split("/")[0]
    above = LAYERS[LAYERS.index(own) + 1 :] if own in LAYERS else LAYERS

    wrong = {name for name in _imports(module) if name.split(".")[0] in above}

    assert wrong == set()


@pytest.mark.parametrize("module", MODULES)
def test_imports_are_absolute_and_never_shadow_eval(module: str) -> None:
    """`import eval` would hide the builtin; relative imports would hide the layer."""
    wrong = {
        name for name in _imports(module) if name.startswith(".") or name == "eval"
    }
    bare = {
        alias.name
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == "eval"
    }

    assert wrong | bare == set()


@pytest.mark.parametrize("module", MODULES)
def test_imports_by_name_point_the_same_way(module: str) -> None:
    """Only the command root names modules of layers above its own."""
    own = module.split("/")[0]
    above = LAYERS[LAYERS.index(own) + 1 :] if own in LAYERS else LAYERS
    path = re.compile(rf"(?:{'|'.join(above) or '!'})\.[a-z_.]+(?::[a-z_]+)?")

    named = {
        node.value
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and path.fullmatch(node.value)
    }

    assert named == set() or module == "graph/cli.py"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module: str) -> None:
    """A module begins with its docstring."""
    assert ast.get_docstring(_tree(module))


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_listed_in_order(module: str) -> None:
    """`__all__` is sorted, has no name twice, and every name in it exists."""
    names = _all_names(module)
    if names is None:
        names = []
    loaded = importlib.import_module(
        module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )

    assert names == sorted(set(names), key=_order)
    assert [name for name in names if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_list_what_they_offer(package: str) -> None:
    """A package that imports or defines anything says what its callers may use."""
    statements = _tree(package).body[1:]

    assert statements == [] or _all_names(package)


@pytest.mark.parametrize("module", MODULES)
def test_only_settings_reads_the_environment(module: str) -> None:
    """One place decides which value wins."""
    readers = {
        node.attr
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Attribute)
        and node.attr in {"environ", "getenv", "environb", "getenvb"}
    }

    assert readers == set() or module == "graph/settings.py"


@pytest.mark.parametrize("module", MODULES)
def test_nothing_prints_or_asserts(module: str) -> None:
    """Commands write by click and report by errors of ours."""
    found = [
        node.lineno
        for node in ast.walk(_tree(module))
        if (isinstance(node, ast.Assert))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        )
    ]

    assert found == [] or module in TEST_CLASSES


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short(module: str) -> None:
    """A module that grows over the limit holds more than one concept."""
    lines = len((ROOT / module).read_text("utf-8").splitlines())

    assert lines <= MODULE_LINES or module in LONG_MODULES


@pytest.mark.parametrize("module", MODULES)
def test_functions_are_short(module: str) -> None:
    """A function that grows over the limit does more than one thing."""
    long = [
        f"{module}:{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES
        and f"{module}:{node.name}" not in LONG_FUNCTIONS
    ]

    assert long == []


@pytest.mark.parametrize("name", statement_names())
def test_statement_header_is_whole(name: str) -> None:
    """Every statement says what it is for, what it takes and where it runs."""
    record = statement_record(name)

    assert record.purpose
    assert re.fullmatch(r"5\.26|20\d\d\.\d\d", record.since)
    assert record.fallback is None or record.fallback in statement_names()
    assert record.since == "5.26" or record.fallback
    assert name.startswith("inspect/") == (record.title is not None)


@pytest.mark.parametrize("name", statement_names())
def test_statement_takes_the_parameters_it_names(name: str) -> None:
    """The header lists exactly the parameters of the text."""
    record = statement_record(name)
    code = re.sub(r"'(?:[^'\\]|\\.)*'|//[^\n]*|/\*.*?\*/", "", record.text)

    assert set(record.params) == set(re.findall(r"\$(\w+)", code))


@pytest.mark.parametrize("name", statement_names())
def test_statement_is_one_and_unterminated(name: str) -> None:
    """One statement a file, as the driver takes it."""
    assert ";" not in re.sub(r"'(?:[^'\\]|\\.)*'", "", statement_record(name).text)


@cache
def _named_statements() -> re.Pattern[str]:
    """Return a pattern of the names that the product's strings can make."""
    patterns = set()
    for module in MODULES:
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                patterns.add(re.escape(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+"
                    for part in node.values
                ]
                patterns.add("".join(parts))
    return re.compile(
        "|".join(sorted(p for p in patterns if "/" in p and " " not in p))
    )


@pytest.mark.parametrize(
    "name", [name for name in statement_names() if not name.startswith("inspect/")]
)
def test_statement_is_used(name: str) -> None:
    """A file that no code names is dead."""
    fallbacks = {statement_record(other).fallback for other in statement_names()}
    base = name.removesuffix("_lts")

    used = _named_statements().fullmatch(name) or (
        name != base and _named_statements().fullmatch(base)
    )

    assert used or name in fallbacks


@pytest.mark.parametrize("text", TEXTS)
def test_product_names_no_machine_and_no_registry(text: str) -> None:
    """The product runs anywhere: it has no path of a machine and no package host."""
    content = (ROOT / text).read_text("utf-8")
    machine = r"(?<![\w.~$}])/(?:work|tmp|root|home)/\w"
    hosts = r"(?:pypi|crates|npmjs|maven|golang|debian)\.(?:org|io|com|apache)"

    assert re.findall(f"{machine}|{hosts}", content) == []


def test_changelog_has_the_version() -> None:
    """What is being made is written down for its users."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert "## [Unreleased]" in changelog or f"## [{project['version']}]" in changelog


@pytest.mark.parametrize("package", LAYERS)
def test_packages_are_typed(package: str) -> None:
    """Callers' type checkers read our annotations."""
    assert (ROOT / package / "py.typed").is_file()
