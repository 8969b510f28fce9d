"""Public names of a package that are loaded at first use, so that it starts quickly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    It loads what the package imports for type checkers alone, from where that says.
    """

    @cache
    def homes() -> dict[str, str]:
        import ast

        loader: Any = sys.modules[package].__loader__
        source = loader.get_source(package)
        if source is None:
            raise ImportError(f"Package {package} is installed without its sources.")
        parts = ast.walk(ast.parse(source))
        found = (part for part in parts if isinstance(part, ast.ImportFrom))
        return {one.name: part.module or "" for part in found for one in part.names}

    def load(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes()[name]), name)

    return load
