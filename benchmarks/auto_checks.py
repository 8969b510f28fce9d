"""Questions and settings that `auto` was not chosen on.

Two sets of questions are made by rule from MuSiQue's files: the single questions that
its multi-hop questions were made of, and questions that join two of the triples which a
language model extracted from passages that answer no question of the set. The second
are no good English ("Blue Lines, released by something that founded in: what?"), and
the name that joins the two passages is in both by construction.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowtrail.eval.retrieval.dataset import RetrievalQuestion
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.names import is_nameable, name_key, words_of
from knowtrail.retrieval.algorithms import auto, auto_chain, auto_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    from knowtrail.eval.retrieval.dataset import RetrievalDataset

__all__ = [
    "CONSTANTS",
    "changed",
    "entities",
    "joined_questions",
    "key_of",
    "single_questions",
]

CONSTANTS: tuple[tuple[ModuleType, str], ...] = (
    (auto, "ANCHORS"),
    (auto, "SPREAD"),
    (auto, "WRITTEN"),
    (auto_graph, "RESTART"),
    (auto_graph, "POWER"),
    (auto_graph, "TITLED"),
    (auto_graph, "ROUNDS"),
    (auto_graph, "MENTIONS"),
    (auto_chain, "FIRSTS"),
    (auto_chain, "READ"),
    (auto_chain, "SHARED"),
    (auto_chain, "WORTH"),
)
"""Where the numbers of `auto` are."""
_JOINED, _FEW = 200, 5


@contextmanager
def changed(module: ModuleType, name: str, factor: float) -> Iterator[str]:
    """Multiply a constant for a while.

    Args:
        module: Where it is.
        name: Its name.
        factor: What it is multiplied by; whole numbers stay whole.

    Yields:
        Its value, as it is printed.
    """
    before = getattr(module, name)
    value = type(before)(before * factor)
    setattr(module, name, value)
    try:
        yield f"{value:g}"
    finally:
        setattr(module, name, before)


def key_of(title: str, text: str) -> str:
    """Return a key of a passage: its words, whatever is between them."""
    return " ".join(re.findall(r"\w+", f"{title} {text}"))


def single_questions(path: Path, dataset: RetrievalDataset) -> list[RetrievalQuestion]:
    """Return the steps of multi-hop questions, with earlier answers in their places.

    Args:
        path: Questions of MuSiQue with their decompositions.
        dataset: The passages.
    """
    passages = _by_key(dataset)
    found: dict[str, RetrievalQuestion] = {}
    for row in json.loads(path.read_text("utf-8")):
        answers: list[str] = []
        by_place = {p["idx"]: p for p in row["paragraphs"]}
        for step in row["question_decomposition"]:
            text = step["question"]
            for place, answer in reversed(list(enumerate(answers, start=1))):
                text = text.replace(f"#{place}", answer)
            answers.append(step["answer"])
            gold = by_place[step["paragraph_support_idx"]]
            body = gold.get("paragraph_text") or gold["text"]
            found.setdefault(
                text,
                RetrievalQuestion(
                    id=f"single-{len(found)}",
                    text=text.replace(" >> ", ": "),
                    gold_documents=(passages[key_of(gold["title"], body)],),
                ),
            )
    return list(found.values())


def joined_questions(path: Path, dataset: RetrievalDataset) -> list[RetrievalQuestion]:
    """Return questions over two triples of two passages that answer nothing else.

    A triple's subject and relation must be of one passage only, and few passages may
    have what joins the two, so that there is hardly more than one answer.

    Args:
        path: Triples of the passages.
        dataset: The passages, and the questions whose gold is left out.
    """
    passages = _by_key(dataset)
    used = {gold for q in dataset.questions for gold in q.gold_documents}
    about = _facts(path, passages)
    counts = Counter(name for names in entities(path).values() for name in names)
    found = []
    for relations in about.values():
        for relation, facts in relations.items():
            if len(facts) != 1:
                continue
            ((first, subject, middle),) = facts
            if not 2 <= counts[_key(middle)] <= _FEW:
                continue
            for further, ends in about.get(_key(middle), {}).items():
                if len(ends) != 1 or not (_is_name(subject) and _is_name(middle)):
                    continue
                ((second, _, end),) = ends
                if first == second or {first, second} & used:
                    continue
                if _key(end) == _key(subject) or _key(middle) in _key(subject):
                    continue
                text = f"{subject}, {relation} something that {further}: what?"
                found.append((content_key(text), text, first, second))
    return [
        RetrievalQuestion(id=key, text=text, gold_documents=(first, second))
        for key, text, first, second in sorted(found)[:_JOINED]
    ]


def entities(path: Path) -> dict[str, set[str]]:
    """Return the extracted entities of each passage, by its key, as terms are written.

    Args:
        path: Triples of the passages.
    """
    found: dict[str, set[str]] = {}
    for row in json.loads(path.read_text("utf-8"))["docs"]:
        names = {_key(entity) for entity in row["extracted_entities"]}
        found.setdefault(key_of(row["title"], row["text"]), set()).update(names - {""})
    return found


def _facts(
    path: Path, passages: Mapping[str, str]
) -> defaultdict[str, dict[str, set[tuple[str, str, str]]]]:
    """Return subject -> relation -> (passage, subject, object), of triples of names."""
    about: defaultdict[str, dict[str, set[tuple[str, str, str]]]] = defaultdict(dict)
    for row in json.loads(path.read_text("utf-8"))["docs"]:
        passage = passages[key_of(row["title"], row["text"])]
        for triple in row["extracted_triples"]:
            if len(triple) == 3 and _key(triple[0]) and _key(triple[2]):
                subject, relation, end = triple
                facts = about[_key(subject)].setdefault(relation, set())
                facts.add((passage, subject, end))
    return about


def _by_key(dataset: RetrievalDataset) -> dict[str, str]:
    """Return key of a passage -> its id."""
    return {key_of(p.title, p.text): p.id for p in dataset.passages}


def _key(text: str) -> str:
    """Return a text as a term is written; nothing where it could be none."""
    found = words_of(text)
    return name_key(found) if is_nameable(found) else ""


def _is_name(text: str) -> bool:
    """Return whether a text could be a name: it has a capital or a digit."""
    return bool(_key(text)) and any(c.isupper() or c.isdigit() for c in text)
