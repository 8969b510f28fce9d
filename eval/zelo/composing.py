"""From judgements to scores: the annotated file, and what else a run leaves.

A document that no judge answered about has no score. As the annotated format demands
one, such a document is left out there; `fits.jsonl` has it with a null score, and the
run reports it. A document that is alone in its query needs no battle: it has score 0.
"""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from knowtrail.eval.zelo.asking import known_judgements, matchups, plan_key
from knowtrail.eval.zelo.fit import REGULARISATION, fit_many
from knowtrail.eval.zelo.judgements import battles_of
from knowtrail.eval.zelo.scored_pairs import (
    FITS,
    SCORES,
    PairFile,
    pair_row,
    scored_row,
)
from knowtrail.graph.files import whole_file
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    read_queries,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.eval.zelo.annotation import ZeloAnnotator
    from knowtrail.eval.zelo.battles import Battles
    from knowtrail.eval.zelo.fit import Fit, Method
    from knowtrail.eval.zelo.journal import Journal
    from knowtrail.eval.zelo.judgements import Judge, Judgement, Matchup
    from knowtrail.eval.zelo.pairs import PairSettings
    from knowtrail.retrieval.rerank.datasets import Document, Query, QueryDocuments

PAIRS = "pairs.json"
_FITTED_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How scores are found; see `knowtrail.eval.zelo.fit.fit_many`.

    Attributes:
        method: `maximum_likelihood` or `published`.
        magnitude: Whether a judge's score counts by its size.
    """

    method: Method = "maximum_likelihood"
    magnitude: bool = False
    regularisation: float = REGULARISATION


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredQuery:
    """A query with what its judgements come to.

    Attributes:
        documents: All its documents, in the order of the file.
        judged: How many of them, from the first, were to be judged.
        fit: Scores of the documents that were to be judged.
    """

    query: Query
    documents: tuple[Document, ...]
    judged: int
    pairs: tuple[Matchup, ...]
    judgements: tuple[tuple[Judgement, ...], ...]
    fit: Fit

    def score(self, number: int) -> float | None:
        """Return the score of a document, None where it was not judged."""
        if number >= self.judged:
            return None
        if self.judged == 1:
            return 0.0
        score = float(self.fit.scores[number])
        judged = self.fit.degree[number] > 0 and math.isfinite(score)
        return score if judged else None

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Return the ids of documents without a score."""
        return tuple(
            document.id
            for number, document in enumerate(self.documents)
            if self.score(number) is None
        )

    def annotated(self) -> AnnotatedQueryDocuments:
        """Return the query with the documents that have a score."""
        scored = ((self.score(n), one) for n, one in enumerate(self.documents))
        documents = tuple(
            AnnotatedDocument(
                id=one.id, content=one.content, metadata=one.metadata, score=score
            )
            for score, one in scored
            if score is not None
        )
        return AnnotatedQueryDocuments(query=self.query, documents=documents)

    def row(self) -> dict[str, Any]:
        """Return the line of `fits.jsonl`."""
        return {
            "query": {"id": self.query.id, "query": self.query.query},
            "method": self.fit.method,
            "components": self.fit.components,
            "converged": self.fit.converged,
            "documents": [
                self._document(number, document)
                for number, document in enumerate(self.documents)
            ],
        }

    def _document(self, number: int, document: Document) -> dict[str, Any]:
        """Return a document of `fits.jsonl`."""
        score = self.score(number)
        judged = number < self.judged and self.fit.degree[number] > 0
        error = float(self.fit.standard_errors[number]) if judged else math.nan
        return {
            "id": document.id,
            "score": score,
            "standard_error": error if math.isfinite(error) else None,
            "battles": int(self.fit.degree[number]) if number < self.judged else 0,
            "component": int(self.fit.component[number]) if judged else None,
        }


def pairs_of(
    journal: Journal | None,
    settings: PairSettings,
    judges: Sequence[Judge],
    query: Query,
    documents: Sequence[Document],
) -> Iterator[Matchup]:
    """Yield the pairs of a query, with the adaptive rounds that were chosen so far."""
    pairs = settings.begin(query.id, [document.id for document in documents])
    if journal is not None and settings.mode == "adaptive" and len(documents) > 1:
        plan = plan_key(settings, query, documents, judges)
        for chosen in journal.rounds(plan)[: settings.cycle_num - 1]:
            pairs += chosen
    yield from matchups(query, documents, pairs)


def scored_queries(of: ZeloAnnotator, journal: Journal) -> Iterator[ScoredQuery]:
    """Yield the queries of a file with their scores; write the files of the folder.

    These take their places at the end.
    """
    folder, items = journal.folder, read_queries(of.source)
    with ExitStack() as stack:
        asked = PairFile(stack.enter_context(whole_file(folder / PAIRS)), "pairs")
        file = stack.enter_context(whole_file(folder / SCORES))
        scores = PairFile(file, "scored_pairs")
        fits = stack.enter_context(whole_file(folder / FITS))
        while batch := [
            _known(of, journal, item) for item in islice(items, _FITTED_AT_ONCE)
        ]:
            fitted = fit_many([battles for _, battles in batch], **asdict(of.fit))
            for (known, _), found in zip(batch, fitted, strict=True):
                item = ScoredQuery(**known, fit=found)
                for pair, said in zip(item.pairs, item.judgements, strict=True):
                    asked.add(pair_row(pair))
                    if said:
                        scores.add(scored_row(pair, said))
                fits.write(json.dumps(item.row()) + "\n")
                yield item
        asked.end()
        scores.end()


def _known(
    of: ZeloAnnotator, journal: Journal, item: QueryDocuments
) -> tuple[dict[str, Any], Battles]:
    """Return what is known of a query, the fit apart, and its battles."""
    taken = of.pairs.considered(item.documents)
    pairs = tuple(pairs_of(journal, of.pairs, of.judges, item.query, taken))
    said = tuple(tuple(known_judgements(journal, pair, of.judges)) for pair in pairs)
    battles = battles_of(
        [document.id for document in taken],
        (one for each in said for one in each),
        [judge.name for judge in of.judges],
        failed=0.0 if of.fit.method == "published" else math.nan,
    )
    known = {
        "query": item.query,
        "documents": item.documents,
        "judged": battles.n,
        "pairs": pairs,
        "judgements": said,
    }
    return known, battles
