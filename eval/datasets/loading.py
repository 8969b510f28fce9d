"""Data sets by kind: `musique:questions.json,corpus.json` and the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eval.datasets.multihop import load_musique, load_supporting
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eval.retrieval.dataset import RetrievalDataset

__all__ = ["DATASET_KINDS", "load_dataset", "read_specification"]

_LOADERS: dict[str, tuple[Callable[..., RetrievalDataset], int, int, str]] = {
    "musique": (load_musique, 2, 2, "QUESTIONS.json,CORPUS.json"),
    "hotpotqa": (
        lambda q, c: load_supporting(q, c, kind="hotpotqa"),
        2,
        2,
        "QUESTIONS.json,CORPUS.json",
    ),
    "2wiki": (
        lambda q, c: load_supporting(q, c, kind="2wiki"),
        2,
        2,
        "QUESTIONS.json,CORPUS.json",
    ),
}
"""Kind -> what loads it, the fewest and most paths, how they are written."""

DATASET_KINDS = tuple(_LOADERS)
"""Kinds of data sets."""


def load_dataset(kind: str, paths: Sequence[Path | str]) -> RetrievalDataset:
    """Return a data set with its corpus and gold, checked.

    Args:
        kind: One of `DATASET_KINDS`.
        paths: Its files, in the order in which the kind has them.

    Raises:
        InputError: If the kind is unknown or paths are missing.
        SourceError: If a file is no good.
    """
    if kind not in _LOADERS:
        msg = f"No data sets of kind {kind!r:.40}: use {', '.join(DATASET_KINDS)}."
        raise InputError(msg)
    loader, fewest, most, form = _LOADERS[kind]
    if not fewest <= len(paths) <= most:
        msg = f"Data sets of kind {kind} are written {kind}:{form}."
        raise InputError(msg)
    return loader(*(Path(path) for path in paths))


def read_specification(text: str) -> RetrievalDataset:
    """Return the data set of a specification, `KIND:PATH[,PATH]`.

    Args:
        text: Such as `musique:questions.json,corpus.json`.

    Raises:
        InputError: If it is no specification.
        SourceError: If a file is no good.
    """
    kind, colon, rest = text.partition(":")
    if not colon or not rest:
        msg = (
            f"{text!r:.80} names no data set: write KIND:QUESTIONS,CORPUS with a kind "
            f"of {', '.join(DATASET_KINDS)}."
        )
        raise InputError(msg)
    return load_dataset(kind, rest.split(","))
