"""A small model trained on scores of documents, such as zELO's.

What it knows of a query and a document: for vectors q and d of length 1, with n
dimensions, the products q_i d_i (n numbers), the distances |q_i - d_i| (n numbers), the
cosine, and log(1 + BM25). BM25 is taken among the documents that are scored together,
see `knowtrail.retrieval.rerank.bm25`.

Its file is one `.npz` of arrays and a JSON header, which says the format, its version,
the embedder, its dimensions and how the model was made. Nothing in the file is ever
run: arrays are read without pickle, and a file that is too large, cut, or of another
format or version is refused.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import InputError, ModelError, SourceError
from knowtrail.graph.files import whole_file
from knowtrail.graph.models.embedders import dimensions_of, embedder_name
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.corpora import loaded_embedder
from knowtrail.retrieval.rerank.base import LocalReranker
from knowtrail.retrieval.rerank.bm25 import bm25_scores
from knowtrail.retrieval.rerank.embedding import query_and_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.protocols import Vector

FEATURES = ("product", "distance", "cosine", "bm25")
"""The blocks of a row, in order."""

FORMAT = "knowtrail-pointwise"
VERSION = 1

_LARGEST = 64 * 2**20
"""Bytes of a file, packed or unpacked; one for 4,096 dimensions has 200 kB."""


def width(dimensions: int) -> int:
    """Return how many numbers a row has."""
    return 2 * dimensions + 2


def features(embedder: Embedder, query: str, documents: Sequence[str]) -> Vector:
    """Return a row of numbers a document, float64 of shape (documents, `width`)."""
    asked, found = query_and_documents(embedder, query, documents)
    asked = asked / np.linalg.norm(asked)
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    words = np.log1p(bm25_scores(query, documents))
    products = found * asked
    cosines = products.sum(axis=1, keepdims=True)
    return np.hstack([products, np.abs(found - asked), cosines, words[:, None]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointwiseModel:
    """A linear model of `features` by the named embedder.

    A document's score is the product of its row, less `mean` and divided by `scale`
    (all above 0), with `weights`: float64, one number a feature. `trained` tells how it
    was made, as JSON.
    """

    embedder: str
    dimensions: int
    mean: Vector
    scale: Vector
    weights: Vector
    trained: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the parts fit each other."""
        wanted = (width(self.dimensions),)
        for name in ("mean", "scale", "weights"):
            array = getattr(self, name)
            if array.shape != wanted or not np.isfinite(array).all():
                raise InputError(
                    f"A pointwise model of {self.dimensions} dimensions needs "
                    f"{wanted[0]} finite numbers in {name}: it has {array.shape}."
                )
        if not (self.scale > 0).all():
            raise InputError("A pointwise model's scale must be above 0 everywhere.")

    @property
    def fingerprint(self) -> str:
        """Return what tells this model from every other."""
        arrays = (self.mean, self.scale, self.weights)
        return content_key(self.embedder, *(a.tobytes().hex() for a in arrays))

    def scores(self, rows: Vector) -> Vector:
        """Return one number for each row of features."""
        scaled: Vector = (rows - self.mean) / self.scale
        numbers: Vector = np.vecdot(scaled, self.weights)
        return numbers


def write_model(path: str | Path, model: PointwiseModel) -> None:
    """Write a model, whole or not at all; the same model gives the same bytes."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "embedder": model.embedder,
        "dimensions": model.dimensions,
        "features": list(FEATURES),
        "trained": model.trained,
    }
    text = json.dumps(header, sort_keys=True).encode()
    with whole_file(path) as file:
        np.savez(
            file.buffer,
            header=np.frombuffer(text, dtype=np.uint8),
            mean=model.mean,
            scale=model.scale,
            weights=model.weights,
        )


def read_model(path: str | Path) -> PointwiseModel:
    """Read a model that `write_model` wrote, or say what is wrong with the file."""
    place = Path(path).expanduser()
    try:
        if place.stat().st_size > _LARGEST:
            raise SourceError(_refusal(path, "it is too large"))
        data = place.read_bytes()
    except OSError as error:
        msg = f"The model file {path} cannot be read: {error.strerror or error}."
        missing = isinstance(error, FileNotFoundError)
        raise (ModelError if missing else SourceError)(msg) from error
    try:
        arrays = _arrays(data)
        header = json.loads(arrays.pop("header").tobytes())
        _check_header(header)
        return PointwiseModel(
            embedder=header["embedder"],
            dimensions=header["dimensions"],
            trained=header["trained"],
            **{name: arrays[name].astype(np.float64) for name in arrays},
        )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise SourceError(_refusal(path, "it is cut or damaged")) from error
    except InputError as error:
        raise SourceError(_refusal(path, str(error))) from error
    except (ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise SourceError(_refusal(path, "it has another content")) from error


def _arrays(data: bytes) -> dict[str, Any]:
    """Return the four arrays of a file, unpacked within bounds."""
    with zipfile.ZipFile(BytesIO(data)) as packed:
        if sum(member.file_size for member in packed.infolist()) > _LARGEST:
            raise InputError("it unpacks to more than a model can have")
    with np.load(BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in ("header", "mean", "scale", "weights")}


def _check_header(header: Any) -> None:
    if header["format"] != FORMAT:
        raise InputError("it is no pointwise model")
    if header["version"] != VERSION:
        msg = f"it has version {header['version']!r:.20}, this program reads {VERSION}"
        raise InputError(msg)
    if header["features"] != list(FEATURES):
        msg = f"it knows {header['features']!r:.80}, this program {list(FEATURES)}"
        raise InputError(msg)
    dimensions = header["dimensions"]
    whole = isinstance(dimensions, int) and not isinstance(dimensions, bool)
    if not (whole and 1 <= dimensions < math.inf):
        raise InputError(f"its dimensions are {dimensions!r:.80}")
    if not isinstance(header["embedder"], str) or not isinstance(
        header["trained"], dict
    ):
        raise InputError("its header is damaged")


def _refusal(path: str | Path, why: str) -> str:
    return (
        f"The model file {path} cannot be used: {why.rstrip('.')}. Make it anew with "
        "knowtrail eval zelo train."
    )


class PointwiseReranker(LocalReranker):
    """Scores each document by a linear model of embedding and BM25 features.

    Another embedder is refused now, another number of dimensions when it first scores,
    as asking for it can load a model.
    """

    def __init__(
        self, model: PointwiseModel, embedder: Embedder, *, name: str = "pointwise"
    ) -> None:
        if embedder_name(embedder) != model.embedder:
            raise InputError(
                f"The model was trained with the embedder {model.embedder!r}, not with "
                f"{embedder_name(embedder)!r}: use that, or train a model anew."
            )
        self.name = name
        self._model = model
        self._embedder = embedder
        self._checked = False

    @property
    def fingerprint(self) -> str:
        """Return what tells this model from every other."""
        return f"pointwise {self._model.fingerprint}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the model's number for each document."""
        if not self._checked:
            found = dimensions_of(self._embedder)
            if found != self._model.dimensions:
                raise InputError(
                    f"The model was trained with vectors of {self._model.dimensions} "
                    f"dimensions, {self._model.embedder!r} gives {found}: train it "
                    "anew."
                )
            self._checked = True
        rows = features(self._embedder, query, documents)
        return [float(score) for score in self._model.scores(rows)]


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> PointwiseReranker:
    """Return the reranker of a file, see `retrieval.rerank.base.load_reranker`.

    The given embedder is taken where it is the one that the file names.
    """
    model = read_model(what)
    if embedder is None or embedder_name(embedder) != model.embedder:
        embedder = loaded_embedder(model.embedder, settings)
    return PointwiseReranker(model, embedder, name=f"pointwise:{what}")
