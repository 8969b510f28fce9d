"""Training of pointwise rerankers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from knowtrail.eval.zelo.training import _Rows, _Sums, held_out, train
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
    write_annotated,
)

if TYPE_CHECKING:
    from pathlib import Path

EMBEDDER = HashEmbedder(32)


def _items(queries: int = 30, *, seed: int = 0) -> list[AnnotatedQueryDocuments]:
    """Return queries of four words and documents that share up to three of them.

    The word `filler` makes a document worse, which neither cosine nor BM25 can know.
    """
    generator = np.random.default_rng(seed)
    vocabulary = [f"w{n}" for n in range(60)]
    items = []
    for number in range(queries):
        asked = generator.choice(vocabulary, 4, replace=False)
        documents = []
        for place in range(10):
            shared, fill = int(generator.integers(0, 4)), int(generator.integers(0, 2))
            text = [*generator.choice(vocabulary, 6), *asked[:shared]]
            text += ["filler"] * (4 * fill)
            documents.append(
                AnnotatedDocument(
                    id=f"d{place}", content=" ".join(text), score=shared - 3.0 * fill
                )
            )
        items.append(
            AnnotatedQueryDocuments(
                query=Query(id=f"q{number}", query=" ".join(asked)),
                documents=tuple(documents),
            )
        )
    return items


def _flat(item: AnnotatedQueryDocuments) -> AnnotatedQueryDocuments:
    """Return a query whose documents have equal scores."""
    return AnnotatedQueryDocuments(
        query=item.query,
        documents=tuple(
            AnnotatedDocument(id=d.id, content=d.content, score=1.5)
            for d in item.documents
        ),
    )


@pytest.mark.thorough
def test_what_the_features_tell_is_learned() -> None:
    """On queries it never saw the model beats what it was not trained for."""
    result = train(_items(80), EMBEDDER, share=0.3)

    assert result.ndcg.value == result.against["bm25"].second
    assert result.against["embedding"].difference.low > 0.01
    assert result.against["bm25"].difference.low > 0.01


def test_held_out_queries_are_not_trained_on() -> None:
    """The parts are disjoint and whole."""
    result = train(_items(), EMBEDDER, share=0.2)

    assert set(result.trained) & set(result.held_out) == set()
    assert (len(result.trained), len(result.held_out)) == (24, 6)
    assert result.model.trained["queries"] == 24
    assert result.documents == 300


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_model(tmp_path: Path) -> None:
    """From a file or from memory, in whatever order the queries come."""
    items = _items()
    write_annotated(tmp_path / "a.jsonl", items)

    models = [
        train(source, EMBEDDER, seed=3).model
        for source in (items, tmp_path / "a.jsonl", items)
    ]

    assert len({model.fingerprint for model in models}) == 1


def test_another_seed_holds_out_others() -> None:
    """The split is drawn, not the first so many."""
    names = [f"q{n}" for n in range(50)]

    parts = [held_out(names, share=0.2, seed=seed) for seed in (0, 1)]

    assert parts[0] != parts[1]
    assert [len(part) for part in parts] == [10, 10]


def test_a_constant_for_each_query_makes_no_difference() -> None:
    """Scores of different queries are not comparable, and are not compared."""
    items = _items()
    shifted = [
        AnnotatedQueryDocuments(
            query=item.query,
            documents=tuple(
                AnnotatedDocument(id=d.id, content=d.content, score=d.score + 50 * n)
                for d in item.documents
            ),
        )
        for n, item in enumerate(items)
    ]

    first, second = (train(i, EMBEDDER).model.weights for i in (items, shifted))

    np.testing.assert_allclose(first, second, atol=1e-9)


def test_the_fit_is_that_of_a_ridge_regression() -> None:
    """Weights from sums are those that scikit-learn finds from rows."""
    generator = np.random.default_rng(1)
    rows = [
        _Rows(
            query_id=str(n),
            features=generator.normal(size=(9, 6)).astype(np.float32),
            scores=generator.normal(size=9),
        )
        for n in range(4)
    ]
    design = np.vstack([row.centred[0] for row in rows])
    target = np.concatenate([row.centred[1] for row in rows])

    mean, scale, weights = _Sums.of(rows).fit(2.0)

    ridge = Ridge(alpha=2.0, fit_intercept=False).fit(design / scale, target)
    np.testing.assert_allclose(weights, ridge.coef_, rtol=1e-8)
    np.testing.assert_allclose(mean, np.vstack([r.exact for r in rows]).mean(axis=0))
    np.testing.assert_allclose(
        scale, design.std(axis=0) * [2**0.5, 2**0.5, 2**0.5, 2**0.5, 1, 1]
    )


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    """Something must be left on both sides."""
    with pytest.raises(InputError, match="held-out share"):
        train(_items(5), EMBEDDER, share=share)


def test_too_few_queries_are_refused() -> None:
    """Of two queries none can be held out."""
    with pytest.raises(InputError, match="There are 2 queries"):
        train(_items(2), EMBEDDER)


def test_equal_scores_teach_nothing() -> None:
    """All judges tied on everything."""
    with pytest.raises(InputError, match="nothing to learn"):
        train([_flat(item) for item in _items(5)], EMBEDDER)


def test_queries_with_one_document_or_none_are_left_out() -> None:
    """There is nothing to compare in them."""
    items = _items(6)
    lonely = [
        AnnotatedQueryDocuments(
            query=Query(id=f"x{n}", query="x"), documents=items[0].documents[:n]
        )
        for n in (0, 1)
    ]

    result = train([*items, *lonely], EMBEDDER)

    assert len(result.trained) + len(result.held_out) == 6
