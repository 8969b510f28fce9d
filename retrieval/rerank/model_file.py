"""The file of a pointwise model: arrays and a JSON header in one `.npz`.

The header says the format, its version, the embedder, its dimensions and how the model
was made. Nothing in the file is ever run: arrays are read without pickle, and a file
that is too large, cut, or of another format or version is refused.
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

from graph.errors import InputError, SourceError, StorageError
from ingest.keys import content_key
from retrieval.rerank.features import FEATURES, width

if TYPE_CHECKING:
    from retrieval.protocols import Vector

__all__ = ["PointwiseModel", "read_model", "write_model"]

FORMAT = "knowtrail-pointwise"
VERSION = 1
_LARGEST = 64 * 2**20
"""Bytes of a file, packed or unpacked; one for 4,096 dimensions has 200 kB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointwiseModel:
    """A linear model of `retrieval.rerank.features`.

    A document's score is the product of its row, less `mean` and divided by `scale`,
    with `weights`.

    Attributes:
        embedder: Name of the embedder whose vectors it knows.
        dimensions: Length of these vectors.
        mean: Float64 array, one number a feature.
        scale: The same; every number above 0.
        weights: The same.
        trained: How it was made, as JSON.
    """

    embedder: str
    dimensions: int
    mean: Vector
    scale: Vector
    weights: Vector
    trained: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the parts fit each other.

        Raises:
            InputError: If they do not.
        """
        wanted = (width(self.dimensions),)
        for name in ("mean", "scale", "weights"):
            array = getattr(self, name)
            if array.shape != wanted or not np.isfinite(array).all():
                msg = (
                    f"A pointwise model of {self.dimensions} dimensions needs "
                    f"{wanted[0]} finite numbers in {name}: it has {array.shape}."
                )
                raise InputError(msg)
        if not (self.scale > 0).all():
            msg = "A pointwise model's scale must be above 0 everywhere."
            raise InputError(msg)

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
    """Write a model, whole or not at all; the same model gives the same bytes.

    Args:
        path: Where the file goes; what is there is replaced.
        model: The model.

    Raises:
        StorageError: If it cannot be written.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "embedder": model.embedder,
        "dimensions": model.dimensions,
        "features": list(FEATURES),
        "trained": model.trained,
    }
    data = BytesIO()
    text = json.dumps(header, sort_keys=True).encode()
    np.savez(
        data,
        header=np.frombuffer(text, dtype=np.uint8),
        mean=model.mean,
        scale=model.scale,
        weights=model.weights,
    )
    place = Path(path)
    draft = place.with_name(f".{place.name[:200]}.part")
    try:
        draft.write_bytes(data.getvalue())
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        msg = f"{path} cannot be written: {error.strerror or error}."
        raise StorageError(msg) from error


def read_model(path: str | Path) -> PointwiseModel:
    """Read a model that `write_model` wrote.

    Args:
        path: The file.

    Raises:
        SourceError: If it cannot be read, is cut, or is no such file; the message says
            which.
    """
    place = Path(path).expanduser()
    try:
        if place.stat().st_size > _LARGEST:
            raise SourceError(_refusal(path, "it is too large"))
        data = place.read_bytes()
    except OSError as error:
        msg = f"The model file {path} cannot be read: {error.strerror or error}."
        raise SourceError(msg) from error
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
            msg = "it unpacks to more than a model can have"
            raise InputError(msg)
    with np.load(BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in ("header", "mean", "scale", "weights")}


def _check_header(header: Any) -> None:
    """Refuse a header of another format or version.

    Raises:
        InputError: If it is one.
    """
    if header["format"] != FORMAT:
        msg = "it is no pointwise model"
        raise InputError(msg)
    if header["version"] != VERSION:
        msg = f"it has version {header['version']!r:.20}, this program reads {VERSION}"
        raise InputError(msg)
    if header["features"] != list(FEATURES):
        msg = f"it knows {header['features']!r:.80}, this program {list(FEATURES)}"
        raise InputError(msg)
    dimensions = header["dimensions"]
    whole = isinstance(dimensions, int) and not isinstance(dimensions, bool)
    if not (whole and 1 <= dimensions < math.inf):
        msg = f"its dimensions are {dimensions!r:.80}"
        raise InputError(msg)
    if not isinstance(header["embedder"], str) or not isinstance(
        header["trained"], dict
    ):
        msg = "its header is damaged"
        raise InputError(msg)


def _refusal(path: str | Path, why: str) -> str:
    """Return the message about a file that is no good."""
    return (
        f"The model file {path} cannot be used: {why.rstrip('.')}. Make it anew with "
        "knowtrail eval zelo train."
    )
