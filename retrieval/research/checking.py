"""Claims held against the sentences that they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.ingest.extraction.stored_knowledge import SUPPORT
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.research.prompts import check_request, parse_verdict
from knowtrail.retrieval.research.records import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.research.desk import Desk
    from knowtrail.retrieval.research.records import Claim, Cost, Judge, VerdictWord


def verdict_on(
    desk: Desk, claim: Claim, texts: Sequence[str], cost: Cost
) -> tuple[Verdict, Cost]:
    """Return what the texts of its sentences say to a claim, and the cost after it.

    A claim that is one of them word for word is a quotation. The model judges others;
    where it cannot, the best cosine does, with the least one of a supported fact.
    """
    word: VerdictWord | None
    by: Judge = "text"
    score = None
    if not texts:
        word = "gone"
    elif claim["text"] in texts:
        word = "quoted"
    else:
        request = check_request(claim["text"], texts, desk.prompt_tokens)
        word, cost = desk.asked(cost, request, parse_verdict)
        by = "model"
    if word is None:
        vectors = desk.vectors([claim["text"], *texts])
        score = float(cosines(vectors[0], vectors[1:]).max())
        word, by = ("supported" if score >= SUPPORT else "unsupported"), "cosine"
    key = content_key("verdict", claim["id"])
    return Verdict(id=key, verdict=word, by=by, score=score), cost
