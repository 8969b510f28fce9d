"""Pointwise models and their files."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.errors import InputError, ModelError, SourceError, StorageError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.retrieval.rerank import checked_scores, load_reranker
from knowtrail.retrieval.rerank.bm25 import bm25_scores
from knowtrail.retrieval.rerank.pointwise import (
    PointwiseModel,
    PointwiseReranker,
    features,
    read_model,
    width,
    write_model,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EMBEDDER = HashEmbedder(8)
DOCUMENTS = ["a red fox", "blue owl", "", "red red"]


def _model(dimensions: int = 8) -> PointwiseModel:
    generator = np.random.default_rng(3)
    return PointwiseModel(
        embedder=f"hash:{dimensions}",
        dimensions=dimensions,
        mean=generator.normal(size=width(dimensions)),
        scale=generator.uniform(0.5, 2, size=width(dimensions)),
        weights=generator.normal(size=width(dimensions)),
        trained={"queries": 3},
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a model file."""
    write_model(tmp_path / "model.npz", _model())
    return tmp_path / "model.npz"


def _with_header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a model file."""
    with np.load(path) as old:
        arrays = dict(old)
    header = json.loads(arrays["header"].tobytes())
    change(header)
    text = json.dumps(header).encode()
    np.savez(path, **{**arrays, "header": np.frombuffer(text, dtype=np.uint8)})


def test_features_are_products_distances_cosine_and_bm25() -> None:
    """In this order, for vectors of length 1."""
    q, d = np.array(EMBEDDER.embed_documents(["red", "a red fox"]))
    q, d = q / np.linalg.norm(q), d / np.linalg.norm(d)
    words = np.log1p(bm25_scores("red", DOCUMENTS)[0])

    row = features(EMBEDDER, "red", DOCUMENTS)[0]

    expected = [*(q * d), *np.abs(q - d), q @ d, words]
    np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-7)


def test_a_score_is_the_weighted_sum_of_scaled_features() -> None:
    """Nothing but the model's own arithmetic."""
    model = _model()
    rows = features(EMBEDDER, "red", DOCUMENTS)

    scores = checked_scores(PointwiseReranker(model, EMBEDDER), "red", DOCUMENTS)

    expected = ((rows - model.mean) / model.scale) @ model.weights
    assert scores == pytest.approx(expected.tolist())


def test_a_file_gives_back_the_model(file: Path) -> None:
    """Numbers to the last bit, and how it was made."""
    found, model = read_model(file), _model()

    assert found.fingerprint == model.fingerprint
    assert (found.embedder, found.dimensions) == ("hash:8", 8)
    assert found.trained == {"queries": 3}


def test_the_same_model_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    """No time and no name is in the file."""
    write_model(tmp_path / "again", _model())

    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_a_reranker_is_loaded_from_a_file(file: Path) -> None:
    """The embedder is the one that the file names."""
    reranker = load_reranker(f"pointwise:{file}")

    scores = checked_scores(reranker, "red", DOCUMENTS)

    assert scores == checked_scores(
        PointwiseReranker(_model(), EMBEDDER), "red", DOCUMENTS
    )


def test_a_given_embedder_is_taken_where_it_is_the_same(file: Path) -> None:
    """Another one is passed over for that of the file."""
    same, other = HashEmbedder(8), HashEmbedder(16)

    rerankers = [load_reranker(f"pointwise:{file}", embedder=e) for e in (same, other)]

    first, second = (checked_scores(r, "red", DOCUMENTS) for r in rerankers)
    assert first == second


def test_another_embedder_is_refused() -> None:
    """Its vectors would mean something else."""
    with pytest.raises(InputError, match="trained with the embedder 'hash:8'"):
        PointwiseReranker(_model(), HashEmbedder(16))


def test_vectors_of_another_length_are_refused() -> None:
    """A model of the same name may have been changed."""
    reranker = PointwiseReranker(replace(_model(16), embedder="hash:8"), EMBEDDER)

    with pytest.raises(InputError, match="vectors of 16 dimensions, 'hash:8' gives 8"):
        checked_scores(reranker, "red", DOCUMENTS)


@pytest.mark.parametrize("size", [0, 1, 30, 200, -1])
def test_a_cut_file_is_refused(file: Path, size: int) -> None:
    """A copy that broke off is no model."""
    file.write_bytes(file.read_bytes()[:size])

    with pytest.raises(SourceError, match=r"cannot be used: .* knowtrail eval zelo"):
        read_model(file)


def test_a_damaged_byte_is_found(file: Path) -> None:
    """The archive has checksums."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)

    with pytest.raises(SourceError, match="cannot be used"):
        read_model(file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h: h.update(version=2), "has version 2, this program reads 1"),
        (lambda h: h.update(format="x"), "is no pointwise model"),
        (lambda h: h.update(features=["cosine"]), "it knows"),
        (lambda h: h.update(dimensions=9), "needs 20 finite numbers"),
        (lambda h: h.update(dimensions="8"), "its dimensions are '8'"),
        (lambda h: h.update(dimensions=True), "its dimensions are True"),
        (lambda h: h.update(embedder=None), "header is damaged"),
        (lambda h: h.pop("format"), "another content"),
        (lambda h: h.update(trained=[]), "header is damaged"),
    ],
)
def test_another_header_is_refused(
    file: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """Version, format, features and dimensions must be what this program knows."""
    _with_header(file, change)

    with pytest.raises(SourceError, match=said):
        read_model(file)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(file: Path, bad: float) -> None:
    """A broken training makes no ranking."""
    with np.load(file) as old:
        arrays = dict(old)
    arrays["weights"][2] = bad
    np.savez(file, **arrays)

    with pytest.raises(SourceError, match="finite numbers in weights"):
        read_model(file)


def test_a_scale_of_zero_is_refused() -> None:
    """Nothing is divided by it."""
    with pytest.raises(InputError, match="must be above 0"):
        replace(_model(), scale=np.zeros(width(8)))


def test_pickled_objects_are_never_loaded(file: Path) -> None:
    """A model file is data, whoever sent it."""
    with np.load(file) as old:
        arrays = dict(old)
    np.savez(file, **{**arrays, "weights": np.array([print], dtype=object)})

    with pytest.raises(SourceError, match="another content"):
        read_model(file)


def test_a_file_that_unpacks_to_too_much_is_refused(file: Path) -> None:
    """A few bytes can unpack to gigabytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.npy", b"\0" * (65 * 2**20))

    with pytest.raises(SourceError, match="unpacks to more"):
        read_model(file)


def test_an_array_that_says_it_is_huge_is_refused(file: Path) -> None:
    """The header of an array can ask for more memory than there is."""
    shape = np.lib.format.header_data_from_array_1_0(np.zeros(1))
    huge = BytesIO()
    np.lib.format.write_array_header_1_0(huge, {**shape, "shape": (10**15,)})
    with zipfile.ZipFile(file) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(file, "w") as new:
        for name, data in members.items():
            new.writestr(name, huge.getvalue() if name == "weights.npy" else data)

    with pytest.raises(SourceError, match="another content"):
        read_model(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The message has the path."""
    with pytest.raises(ModelError, match=r"no-model\.npz cannot be read"):
        load_reranker(f"pointwise:{tmp_path / 'no-model.npz'}")


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A folder of that name is in the way."""
    (tmp_path / "model").mkdir()

    with pytest.raises(StorageError, match="cannot be written"):
        write_model(tmp_path / "model", _model())

    assert [path.name for path in tmp_path.iterdir()] == ["model"]
