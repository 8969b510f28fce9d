"""The graph of research, made of steps that can be taken apart.

    plan -> approve -> walk -> note -> (walk ... | draft) -> check

Each step stores what it made before it returns, and `route` finds from the state alone
what comes next, so that a run goes on wherever it was left. Needs the extra `research`.
Without a model, sub-questions are clauses of the question, and names in it or found.
"""

from __future__ import annotations

import math
import re
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime  # noqa: TC002  (LangGraph reads the annotations)
from langgraph.types import interrupt

from knowtrail.ingest.extraction.stored_knowledge import SUPPORT
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.names import words_of
from knowtrail.ingest.terms import TermFinder
from knowtrail.retrieval.algorithms.auto_words import (
    as_written,
    possible_names,
    question_names,
)
from knowtrail.retrieval.algorithms.hybrid import diverse
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.research.desk import Desk
from knowtrail.retrieval.research.prompts import (
    check_request,
    draft_request,
    notes_request,
    parse_notes,
    parse_numbered,
    parse_texts,
    parse_verdict,
    plan_request,
)
from knowtrail.retrieval.research.records import (
    Claim,
    Cost,
    Finding,
    Reason,
    ResearchState,
    SubQuestion,
    Verdict,
    Walked,
    open_questions,
    sub_question,
)
from knowtrail.retrieval.traverse import traverse
from knowtrail.retrieval.walk import RankedChunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.research.records import Judge, VerdictWord

Steps: TypeAlias = Literal[
    "plan", "approve", "walk", "note", "draft", "check", "__end__"
]

NEAR = 0.5
"""Least cosine of a finding without a model, in that of the walk's best sentence."""
BALANCE = 0.7
"""How much nearness counts beside being unlike what was taken before."""
MOST_FINDINGS, MOST_CLAIMS = 4, 12


def research_graph() -> StateGraph[ResearchState, Desk]:
    """Return the graph, not compiled, so that steps can be added or replaced.

    Its state is a `ResearchState`, its context a `Desk`.
    """
    graph = StateGraph(ResearchState, context_schema=Desk)
    for step in (plan, approve, walk, note, draft, check):
        graph.add_node(step.__name__, step)
    graph.add_conditional_edges(START, route)
    graph.add_edge("plan", "approve")
    graph.add_conditional_edges("approve", route)
    graph.add_edge("walk", "note")
    graph.add_conditional_edges("note", route)
    graph.add_conditional_edges("draft", route)
    graph.add_edge("check", END)
    return graph


def route(state: ResearchState, runtime: Runtime[Desk]) -> Steps:
    """Return the step that comes next."""
    if not state["questions"]:
        return "plan"
    if not state["approved"]:
        return "__end__" if state["stop"] == "refused" else "approve"
    if state["claims"]:
        return "check"
    if any(q["walked"] and not q["noted"] for q in state["questions"]):
        return "note"
    waiting = open_questions(state["questions"])
    if waiting and runtime.context.may_walk(state["cost"]):
        return "walk"
    return "draft" if state["findings"] else "check"


def plan(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Part the question: by the model, or by its clauses and names."""
    desk = runtime.context
    given, cost = desk.asked(
        state["cost"],
        plan_request(desk.question),
        lambda said: parse_texts(said, "questions"),
    )
    texts: list[tuple[str, Reason]] = [(desk.question, "question")]
    if given:
        texts += [(text, "model") for text in given if text != desk.question][:5]
    else:
        texts = _planned(desk.connection, desk.corpus.name, desk.question)
    questions = [
        sub_question(desk.run, text, reason, place=place)
        for place, (text, reason) in enumerate(texts)
    ]
    return {"questions": questions, "cost": cost}


def approve(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Wait for a person, who answers with the questions to ask, or none to stop.

    The plan is stored once it stands; of a run that goes on, it is what is still open.
    """
    desk = runtime.context
    questions, dropped = state["questions"], []
    if desk.approval:
        waiting = {question["text"]: question for question in open_questions(questions)}
        kept = interrupt({"plan": list(waiting)})["questions"]
        if not kept:
            return {"stop": "refused"}
        for text in kept:
            check_question(text)
        walked = {q["text"]: q for q in questions if q["walked"]}
        taken = [
            waiting.get(text) or sub_question(desk.run, text, "person", place=0)
            for text in dict.fromkeys(kept)
            if text not in walked
        ]
        dropped = [q["id"] for text, q in waiting.items() if text not in kept]
        questions = [
            {**question, "place": place}
            for place, question in enumerate([*walked.values(), *taken])
        ]
    changed: ResearchState = {"approved": True, "questions": questions}
    desk.store(state | changed, questions=questions, dropped=dropped)
    return changed


def walk(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Walk for the next question, and keep the sentences that are new."""
    desk = runtime.context
    question = open_questions(state["questions"])[0]
    walked, traversal = _walked(desk, question, state["findings"], record=True)
    done: SubQuestion = {
        **question,
        "walked": True,
        "traversal": traversal,
        "chunks": walked["chunks"],
    }
    cost: Cost = {**state["cost"], "walks": state["cost"]["walks"] + 1}
    changed: ResearchState = {
        "walked": walked,
        "questions": [done if q["id"] == done["id"] else q for q in state["questions"]],
        "cost": cost,
    }
    desk.store(state | changed, questions=[done])
    return changed


def _walked(
    desk: Desk, question: SubQuestion, findings: list[Finding], *, record: bool
) -> tuple[Walked, str | None]:
    """Return what a walk finds that no finding has, and the id of its Traversal."""
    found = traverse(
        desk.connection,
        question["text"],
        embedder=desk.embedder,
        corpus=desk.corpus.name,
        record=record,
        settings=desk.settings,
    )
    known = {s for finding in findings for s in finding["sentences"]}
    steps = found.walk.steps
    walked = Walked(
        question=question["id"],
        chunks=[step.chunk.id for step in steps],
        documents=list(dict.fromkeys(step.chunk.document_id for step in steps)),
        sentences=[
            (s.id, s.text, s.score) for s in found.walk.sentences if s.id not in known
        ],
    )
    return walked, found.traversal_id


def note(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Note what the walk says to its question, and what that leads to.

    A run that was left in between finds the sentences again; that walk is not counted.
    """
    desk, walked = runtime.context, state.get("walked")
    question = next(q for q in state["questions"] if q["walked"] and not q["noted"])
    if walked is None or walked["question"] != question["id"]:
        walked, _ = _walked(desk, question, state["findings"], record=False)
    sentences = walked["sentences"]
    said, missing, cost = _read(desk, question, sentences, state["cost"])
    first = len(state["findings"])
    findings = [
        Finding(
            id=content_key(
                "finding", desk.run, text, *(sentences[at][0] for at in numbers)
            ),
            place=place,
            question=question["id"],
            text=text,
            sentences=[sentences[at][0] for at in numbers],
            score=max(sentences[at][2] for at in numbers),
        )
        for place, (text, numbers) in enumerate(said, start=first)
    ]
    led: list[tuple[str, Reason]] = [(text, "model") for text in missing or ()]
    if missing is None:
        led = _led(desk, state["questions"], walked, findings)
    known = {q["text"] for q in state["questions"]}
    led = [(text, reason) for text, reason in led if text not in known]
    further = [
        sub_question(desk.run, text, reason, place=place, parent=question)
        for place, (text, reason) in enumerate(led, start=len(state["questions"]))
    ]
    done: SubQuestion = {**question, "noted": True}
    questions = [done if q["id"] == done["id"] else q for q in state["questions"]]
    changed: ResearchState = {
        "findings": state["findings"] + findings,
        "questions": questions + further,
        "cost": cost,
    }
    desk.store(state | changed, questions=[done, *further], findings=findings)
    return changed


def _read(
    desk: Desk,
    question: SubQuestion,
    sentences: list[tuple[str, str, float]],
    cost: Cost,
) -> tuple[list[tuple[str, list[int]]], list[str] | None, Cost]:
    """Return notes with the places of their sentences, what is missing, and costs."""
    # Without an answer of the model a note is a sentence, and what is missing None.
    said, missing = None, None
    if sentences:
        texts = [text for _, text, _ in sentences]
        prompt, form, shown = notes_request(question["text"], texts, desk.prompt_tokens)
        answer, cost = desk.asked(
            cost, (prompt, form), lambda reply: parse_notes(reply, shown)
        )
        said, missing = answer or (None, None)
    if said is None:
        said = [(sentences[at][1], [at]) for at in _best(desk, sentences)]
    return said, missing, cost


def _best(desk: Desk, sentences: list[tuple[str, str, float]]) -> list[int]:
    """Return places of sentences that are near the question and unlike each other."""
    least = NEAR * max((score for _, _, score in sentences), default=0.0)
    near = [
        RankedChunk(id=i, score=score) for i, _, score in sentences if score >= least
    ]
    rows = desk.stored([one.id for one in near])
    near = sorted((one for one in near if one.id in rows), key=lambda one: -one.score)
    vectors = desk.vectors_of(rows.values())
    places = {i: at for at, (i, _, _) in enumerate(sentences)}
    return [places[one.id] for one in diverse(near, vectors, BALANCE)[:MOST_FINDINGS]]


def _led(
    desk: Desk, questions: list[SubQuestion], walked: Walked, findings: list[Finding]
) -> list[tuple[str, Reason]]:
    """Return what findings lead to: names in them, the nearest gap of extractions."""
    if not findings:
        return []
    names = _followed(
        desk.connection,
        desk.corpus.name,
        desk.question,
        chunks=walked["chunks"],
        findings=[(finding["text"], finding["score"]) for finding in findings],
        asked=[question["text"] for question in questions],
    )
    led: list[tuple[str, Reason]] = [(text, "follow") for text in names]
    rows = desk.connection.read("research/gaps", ids=walked["documents"])
    gaps = [row["text"] for row in rows]
    if gaps:
        vectors = desk.vectors([desk.question, *gaps])
        scores = cosines(vectors[0], vectors[1:])
        if scores.max() >= NEAR:
            led.append((gaps[int(scores.argmax())], "gap"))
    return led


def draft(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Draw claims from the findings: in the model's words, or as they are."""
    desk = runtime.context
    findings = sorted(state["findings"], key=lambda finding: -finding["score"])
    prompt, form, shown = draft_request(
        desk.question, [finding["text"] for finding in findings], desk.prompt_tokens
    )
    said, cost = desk.asked(
        state["cost"],
        (prompt, form),
        lambda text: parse_numbered(text, "claims", shown),
    )
    unread = len(findings) - shown if said else 0
    if not said:
        chosen = _chosen(desk, state["questions"], findings)
        said = [(findings[at]["text"], [at]) for at in chosen]
    claims = [
        Claim(
            id=content_key("claim", desk.run, place, text),
            place=place,
            text=text,
            findings=[findings[at]["id"] for at in places],
            verdict=None,
        )
        for place, (text, places) in enumerate(said)
    ]
    waiting = open_questions(state["questions"])
    stop = "budget" if waiting else "nothing_new"
    changed: ResearchState = {
        "claims": claims,
        "cost": cost,
        "stop": stop,
        "unread": unread,
    }
    desk.store(state | changed, claims=claims)
    return changed


def _chosen(
    desk: Desk, questions: list[SubQuestion], findings: list[Finding]
) -> list[int]:
    """Return places of findings that are near the question and unlike each other."""
    # A finding is as near as the mean of its cosines to its own and the whole question.
    # The nearest of each question of the plan is among them.
    texts = desk.vectors([finding["text"] for finding in findings])
    query = np.asarray(desk.embedder.embed_query(desk.question), dtype=np.float64)
    near = [
        RankedChunk(id=finding["id"], score=(finding["score"] + float(cosine)) / 2)
        for finding, cosine in zip(findings, cosines(query, texts), strict=True)
    ]
    near.sort(key=lambda one: -one.score)
    vectors = {finding["id"]: v for finding, v in zip(findings, texts, strict=True)}
    places = {finding["id"]: at for at, finding in enumerate(findings)}
    first: dict[str, int] = {}
    for at, finding in enumerate(findings):  # best first
        first.setdefault(finding["question"], at)
    chosen = [first[q["id"]] for q in questions if not q["depth"] and q["id"] in first]
    chosen += [places[one.id] for one in diverse(near, vectors, BALANCE)]
    return list(dict.fromkeys(chosen))[:MOST_CLAIMS]


def check(state: ResearchState, runtime: Runtime[Desk]) -> ResearchState:
    """Hold each claim against its sentences as they are stored now."""
    desk = runtime.context
    cost, claims = state["cost"], []
    of = {finding["id"]: finding["sentences"] for finding in state["findings"]}
    cited = {
        claim["id"]: dict.fromkeys(s for f in claim["findings"] for s in of[f])
        for claim in state["claims"]
        if claim["verdict"] is None
    }
    stored = desk.stored(dict.fromkeys(chain.from_iterable(cited.values())))
    for claim in state["claims"]:
        claims.append(claim)
        if claim["id"] not in cited:
            continue
        texts = [stored[s]["text"] for s in cited[claim["id"]] if s in stored]
        verdict, cost = _verdict(desk, claim, texts, cost)
        claims[-1] = {**claim, "verdict": verdict}
        desk.store(state | {"cost": cost}, claims=claims[-1:])
    waiting = open_questions(state["questions"])
    stop = state["stop"] or ("budget" if waiting else "nothing_found")
    changed: ResearchState = {"claims": claims, "cost": cost, "stop": stop}
    desk.store(state | changed, status="complete")
    return changed


def _verdict(
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


MOST_PLANNED = 6
MOST_FOLLOWED = 2
"""Names that a walk may lead to."""
_ASKING = r"(?:how|what|when|where|which|who|whom|whose|why)\b"
_CLAUSES = re.compile(
    rf"[;?!\n]+|,?\s+(?:and|but|or)\s+(?={_ASKING})|,\s+(?={_ASKING})", re.IGNORECASE
)
_LEAST_WORDS = 3


def _planned(
    connection: Connection, corpus: str, question: str
) -> list[tuple[str, Reason]]:
    """Return the question, its clauses, and the rarest names in it, at most six."""
    found: list[tuple[str, Reason]] = [(question, "question")]
    clauses = [clause.strip(" ,.") for clause in _CLAUSES.split(question)]
    clauses = [clause for clause in clauses if len(words_of(clause)) >= _LEAST_WORDS]
    if len(clauses) > 1:
        found += [(clause, "clause") for clause in clauses]
    counts = _terms(connection, corpus, [], possible_names(question))
    names = question_names(question, counts)
    rarest = sorted(names, key=lambda name: (counts[name], name))
    found += [(as_written(name, question), "name") for name in rarest]
    return list({text: (text, why) for text, why in reversed(found)}.values())[::-1][
        :MOST_PLANNED
    ]


def _followed(
    connection: Connection,
    corpus: str,
    question: str,
    *,
    chunks: Sequence[str],
    findings: Sequence[tuple[str, float]],
    asked: Iterable[str],
) -> list[str]:
    """Return questions for names in findings that were not asked about, best first.

    A name counts by the score of the best finding (text and score) that has it, and by
    its rarity; one that a single chunk names leads nowhere.
    """
    counts = _terms(connection, corpus, chunks, ())
    known = {name for name, count in counts.items() if count > 1}
    finder = TermFinder(known)
    old = {name for text in asked for name in finder.find(text)}
    most = max(counts.values(), default=1)
    best: dict[str, tuple[float, str]] = {}
    for text, score in findings:
        for name in finder.find(text):
            worth = score * (1 + math.log(1 + most / counts[name]))
            if name not in old and worth > best.get(name, (0.0, ""))[0]:
                best[name] = (worth, as_written(name, text))
    order = sorted(best, key=lambda name: (-best[name][0], name))
    return [f"{best[name][1]}: {question}" for name in order[:MOST_FOLLOWED]]


def _terms(
    connection: Connection, corpus: str, chunks: Sequence[str], names: Sequence[str]
) -> dict[str, int]:
    """Return terms that chunks name, or of names, with how many chunks name each."""
    (row,) = connection.read(
        "retrieval/terms", corpus=corpus, ids=list(chunks), names=list(names)
    )
    return {name: count for name, count, _ in row["terms"]}
