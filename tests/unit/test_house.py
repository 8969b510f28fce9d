"""The rules of the house that no other tool checks."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import yaml

from knowtrail.graph.db.statements import statement_names, statement_record
from tests import house

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("graph", "ingest", "retrieval", "eval")
FUNCTION_LINES = 60

LONG_FUNCTIONS: dict[str, str] = {}
"""`module.py:function` -> why it is longer than the limit."""

MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in (*LAYERS, "cypher")
    for path in (ROOT / package).rglob("*.py")
)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text("utf-8"))


@cache
def _nodes(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(module)))


def _imports(module: str) -> set[str]:
    """Return every module that is imported anywhere in a module."""
    found = set()
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found


def _above(module: str) -> tuple[str, ...]:
    """Return the layers that a module knows nothing of, by their dotted names."""
    own = module.split("/")[0]
    above = LAYERS[LAYERS.index(own) + 1 :] if own in LAYERS else LAYERS
    return tuple(f"knowtrail.{layer}" for layer in above)


def _all_names(module: str) -> list[str]:
    """Return `__all__` of a module, nothing where it has none."""
    for node in _tree(module).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "__all__"
        ):
            return list(ast.literal_eval(node.value))
    return []


def _order(name: str) -> tuple[int, str]:
    """Sort constants, then classes, then the rest, as the linter does."""
    kind = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    return kind, name


def test_imports_point_one_way() -> None:
    """A layer imports itself and the layers below it, at any depth of the code."""
    wrong = [
        (module, name)
        for module in MODULES
        for name in _imports(module)
        if ".".join(name.split(".")[:2]) in _above(module)
    ]

    assert wrong == []


def test_imports_are_absolute() -> None:
    """Relative imports would hide the layer; the linter refuses the bare names."""
    assert [
        (module, name)
        for module in MODULES
        for name in _imports(module)
        if name.startswith(".")
    ] == []


def test_imports_by_name_point_the_same_way() -> None:
    """Only the command root names modules of layers above its own."""
    named = []
    for module in set(MODULES) - {"graph/cli/root.py"}:
        above = "|".join(_above(module)) or "!"
        path = re.compile(rf"(?:{above})\.[a-z_.]+(?::[a-z_]+)?")
        named += [
            (module, node.value)
            for node in _nodes(module)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and path.fullmatch(node.value)
        ]

    assert named == []


def test_modules_do_not_import_one_another() -> None:
    """Of two modules one is below the other, inside functions too."""
    assert house.cycles(house.modules()) == []


def test_every_module_says_what_it_is() -> None:
    """A module begins with its docstring."""
    assert [module for module in MODULES if not ast.get_docstring(_tree(module))] == []


def test_public_names_are_listed_in_order() -> None:
    """`__all__` is sorted and has no name twice."""
    listed = {module: _all_names(module) for module in MODULES}

    assert [
        module
        for module, names in listed.items()
        if names != sorted(set(names), key=_order)
    ] == []


def test_public_names_exist() -> None:
    """Every name in `__all__` is there."""
    missing = []
    for module in MODULES:
        dotted = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        loaded = importlib.import_module(f"knowtrail.{dotted}")
        missing += [
            (module, name) for name in _all_names(module) if not hasattr(loaded, name)
        ]

    assert missing == []


def test_packages_list_what_they_offer() -> None:
    """A package that imports or defines anything says what its callers may use."""
    packages = [module for module in MODULES if module.endswith("/__init__.py")]

    assert [p for p in packages if _tree(p).body[1:] and not _all_names(p)] == []


def test_only_settings_reads_the_environment() -> None:
    """One place decides which value wins."""
    readers = [
        (module, node.attr)
        for module in set(MODULES) - {"graph/settings.py"}
        for node in _nodes(module)
        if isinstance(node, ast.Attribute)
        and node.attr in {"environ", "getenv", "environb", "getenvb"}
    ]

    assert readers == []


def test_nothing_prints_or_asserts() -> None:
    """Commands write by click and report by errors of ours."""
    found = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in _nodes(module)
        if isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        )
    ]

    assert found == []


def test_functions_are_short() -> None:
    """A function that grows over the limit does more than one thing."""
    long = [
        f"{module}:{node.name} has {node.end_lineno - node.lineno + 1} lines"
        for module in MODULES
        for node in _nodes(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES
        and f"{module}:{node.name}" not in LONG_FUNCTIONS
    ]

    assert long == []


def test_statement_headers_are_whole() -> None:
    """Every statement says what it is for, what it takes and where it runs."""
    names = set(statement_names())
    records = {name: statement_record(name) for name in names}

    assert [
        name
        for name, record in records.items()
        if not record.purpose
        or not re.fullmatch(r"5\.26|20\d\d\.\d\d", record.since)
        or (record.since != "5.26" and not record.fallback)
        or (record.fallback and record.fallback not in names)
        or name.startswith("inspect/") != (record.title is not None)
    ] == []


def test_statements_take_the_parameters_they_name() -> None:
    """The header lists exactly the parameters of the text."""
    wrong = []
    for name in statement_names():
        record = statement_record(name)
        code = re.sub(r"'(?:[^'\\]|\\.)*'|//[^\n]*|/\*.*?\*/", "", record.text)
        if set(record.params) != set(re.findall(r"\$(\w+)\b(?!\()", code)):
            wrong.append(name)

    assert wrong == []


def test_a_file_has_one_statement_unterminated() -> None:
    """As the driver takes it."""
    assert [
        name
        for name in statement_names()
        if ";" in re.sub(r"'(?:[^'\\]|\\.)*'", "", statement_record(name).text)
    ] == []


def _named_statements() -> re.Pattern[str]:
    """Return a pattern of the names that the product's strings can make."""
    patterns = set()
    for module in MODULES:
        for node in _nodes(module):
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


def test_statements_are_used() -> None:
    """A file that no code names is dead."""
    named = _named_statements()
    fallbacks = {statement_record(name).fallback for name in statement_names()}

    assert [
        name
        for name in statement_names()
        if not name.startswith("inspect/")
        and name not in fallbacks
        and not named.fullmatch(name)
        and not named.fullmatch(name.removesuffix("_lts"))
    ] == []


def test_product_names_no_machine_and_no_registry() -> None:
    """The product runs anywhere: it has no path of a machine and no package host."""
    patterns = (
        *(f"{package}/**/*.py" for package in (*LAYERS, "cypher")),
        "cypher/**/*.cypher",
        "docs/**/*.md",
        "docs/**/*.py",
        "docs/**/*.ipynb",
        "deploy/*",
        "Dockerfile",
        ".github/**/*.yml",
        "*.md",
        "*.toml",
        "*.yml",
        "*.cff",
    )
    machine = r"(?<![\w.~$}])/(?:work|tmp|root|home)/\w"
    hosts = r"(?:pypi|crates|npmjs|maven|golang|debian)\.(?:org|io|com|apache)"
    either = re.compile(f"{machine}|{hosts}")

    assert [
        (path.relative_to(ROOT).as_posix(), found)
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if (found := either.findall(path.read_text("utf-8")))
    ] == []


def test_changelog_has_the_version() -> None:
    """What is being made is written down for its users."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert "## [Unreleased]" in changelog or f"## [{project['version']}]" in changelog


def test_only_tests_ask_how_much_they_try() -> None:
    """`--rest` knows by the text of a test whether it tries more with `--all`.

    Two others may ask: settings of generated tests, a helper of `thorough` tests.
    """
    told = {
        f"{path.name}: {getattr(part, 'name', ast.unparse(part).split(' = ')[0])}"
        for path in (ROOT / "tests").rglob("test_*.py")
        if "amount(" in (text := path.read_text("utf-8"))
        for part in ast.parse(text).body
        if "amount(" in ast.unparse(part)
    }
    assert {one for one in told if ": test_" not in one} == {
        "test_dump_ingest.py: _check_small_beside_large",
        "test_py2neo_matching.py: ONE_GRAPH",
    }


def test_yaml_is_read_alike_by_both_readers() -> None:
    """The product's YAML is the same to PyYAML with and without its C library."""
    paths = [p for package in house.PACKAGES for p in (ROOT / package).rglob("*.yaml")]
    assert paths
    for path in paths:
        text = path.read_text("utf-8")
        plain = list(yaml.load_all(text, yaml.SafeLoader))
        assert plain == list(yaml.load_all(text, yaml.CSafeLoader)), path
