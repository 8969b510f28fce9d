"""Data sets by kind: `musique:questions.json,corpus.json` and the others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.eval.datasets.beir import load_beir
from knowtrail.eval.datasets.goldens import load_goldens
from knowtrail.eval.datasets.multihop import load_musique, load_supporting
from knowtrail.eval.datasets.own import load_own
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowtrail.eval.datasets.goldens import Contexts
    from knowtrail.eval.retrieval.dataset import RetrievalDataset

_PAIR = "QUESTIONS.json,CORPUS.json"

_LOADERS: dict[str, tuple[Callable[..., RetrievalDataset], int, int, str]] = {
    "musique": (load_musique, 2, 2, _PAIR),
    "hotpotqa": (partial(load_supporting, kind="hotpotqa"), 2, 2, _PAIR),
    "2wiki": (partial(load_supporting, kind="2wiki"), 2, 2, _PAIR),
    "beir": (load_beir, 1, 2, "FOLDER[,SPLIT]"),
    "deepeval": (load_goldens, 1, 1, "QUESTIONS.csv (or .json)"),
    "jsonl": (load_own, 2, 2, "QUESTIONS.jsonl,PASSAGES.jsonl"),
}
"""Kind -> what loads it, the fewest and most paths, how they are written."""

DATASET_KINDS = tuple(_LOADERS)
"""Kinds of data sets."""


def load_dataset(
    kind: str, paths: Sequence[Path | str], *, contexts: Contexts = "groups"
) -> RetrievalDataset:
    """Return a data set with its corpus and gold, checked.

    Args:
        kind: One of `DATASET_KINDS`.
        paths: Its files, in the order in which the kind has them.
        contexts: What a passage of the kind `deepeval` is, see `load_goldens`.

    Raises:
        InputError: If the kind is unknown or paths are missing.
        SourceError: If a file is no good.
    """
    if kind not in _LOADERS:
        msg = f"No data sets of kind {kind!r:.40}: use {', '.join(DATASET_KINDS)}."
        raise InputError(msg)
    loader, fewest, most, form = _LOADERS[kind]
    if not fewest <= len(paths) <= most or not all(map(str, paths)):
        raise InputError(f"Data sets of kind {kind} are written {kind}:{form}.")
    given = tuple(Path(path) for path in paths)
    return loader(*given, contexts=contexts) if kind == "deepeval" else loader(*given)


def read_specification(text: str, *, contexts: Contexts = "groups") -> RetrievalDataset:
    """Return the data set of a specification, `KIND:PATH[,PATH]`.

    Args:
        text: Such as `musique:questions.json,corpus.json`.
        contexts: As for `load_dataset`.

    Raises:
        InputError: If it is no specification.
        SourceError: If a file is no good.
    """
    kind, colon, rest = text.partition(":")
    if not colon or not rest:
        raise InputError(
            f"{text!r:.80} names no data set: write KIND:QUESTIONS,CORPUS with a kind "
            f"of {', '.join(DATASET_KINDS)}."
        )
    return load_dataset(kind, rest.split(","), contexts=contexts)
