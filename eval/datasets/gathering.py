"""Passages and questions as a loader finds them, until they are a data set."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eval.retrieval.dataset import (
    DatasetProblem,
    Passage,
    RetrievalDataset,
    RetrievalQuestion,
)
from graph.errors import SourceError
from ingest.parsing import clean_plain
from retrieval.questions import LONGEST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eval.retrieval.dataset import ProblemKind, SourceFile

__all__ = ["PassageIndex", "Problems", "dataset_of", "folded"]

_SPACES = re.compile(r"\s+")
_RECENT = 100
"""Problems among which one that is told again is looked for."""


def folded(text: str) -> str:
    """Return a text as texts are compared: white space and its amount do not count."""
    return _SPACES.sub(" ", text).strip()


@dataclass(slots=True)
class Problems:
    """What a loader finds wrong, in its order.

    Attributes:
        found: The problems.
    """

    found: list[DatasetProblem] = field(default_factory=list)

    def tell(self, kind: ProblemKind, where: str, message: str) -> None:
        """Take note of a problem.

        Args:
            kind: What is wrong.
            where: Id of the question or passage.
            message: What was found, and what becomes of it.
        """
        self.found.append(DatasetProblem(kind=kind, id=where, message=message))

    def tell_once(self, kind: ProblemKind, where: str, message: str) -> None:
        """Take note of a problem that may come up again, such as gold named twice.

        Args:
            kind: What is wrong.
            where: Id of the question or passage.
            message: What was found, and what becomes of it.
        """
        problem = DatasetProblem(kind=kind, id=where, message=message)
        if problem not in self.found[-_RECENT:]:
            self.found.append(problem)


class PassageIndex:
    """The passages of a data set, to be found by id, by title or by text.

    A passage without an id of its own gets its title as id, a second one of the same
    title `TITLE #2`, and so on. One that has title and text of another is left out.
    """

    def __init__(self, problems: Problems) -> None:
        """Begin without passages.

        Args:
            problems: Told of passages that are there twice.
        """
        self.passages: list[Passage] = []
        self._problems = problems
        self._ids: dict[str, Passage] = {}
        self._by_text: dict[tuple[str, str], str] = {}
        self._by_title: dict[str, list[str]] = {}

    def __contains__(self, passage_id: str) -> bool:
        """Return whether there is a passage of that id."""
        return passage_id in self._ids

    def __getitem__(self, passage_id: str) -> Passage:
        """Return the passage of an id."""
        return self._ids[passage_id]

    def add(
        self,
        title: str,
        text: str,
        *,
        sentences: Sequence[str] | None = None,
        identity: str | None = None,
    ) -> str:
        """Add a passage and return its id.

        Args:
            title: Its title, may be empty.
            text: Its text; of ready-made sentences it is ignored.
            sentences: Ready-made sentences.
            identity: Its id in the data set; None makes one of the title.
        """
        ready = None
        if sentences is not None:
            ready = tuple(clean_plain(sentence) for sentence in sentences)
            text = " ".join(ready)
        title, text = folded(clean_plain(title)), clean_plain(text)
        key = (title, folded(text))
        if identity is None and key in self._by_text:
            known = self._by_text[key]
            message = f"Passage {known!r:.80} is there twice: one of them is kept."
            self._problems.tell("duplicate", known, message)
            return known
        if identity is not None and identity in self._ids:
            message = f"Two passages have the id {identity!r:.80}: the first is kept."
            self._problems.tell("duplicate", identity, message)
            return identity
        name = identity or self._free(title or f"passage {len(self.passages) + 1}")
        passage = Passage(id=name, title=title, text=text, sentences=ready)
        self.passages.append(passage)
        self._ids[name] = passage
        self._by_text.setdefault(key, name)
        self._by_title.setdefault(title, []).append(name)
        return name

    def _free(self, name: str) -> str:
        """Return a name that no passage has, made of this one."""
        found, number = name, 1
        while found in self._ids:
            number += 1
            found = f"{name} #{number}"
        return found

    def find(self, question: str, title: str, text: str | None = None) -> str:
        """Return the id of the passage that gold names.

        Where there is none, an id that no passage has is returned, so that the gold
        counts and is never found; that is told, and so is gold that names several.

        Args:
            question: Id of the question.
            title: Title of the passage.
            text: Its text, where the question has it.
        """
        title = folded(clean_plain(title))
        if text is not None:
            known = self._by_text.get((title, folded(clean_plain(text))))
            if known is not None:
                return known
        named = self._by_title.get(title, [])
        if len(named) == 1:
            if text is not None:
                message = (
                    f"Gold {title!r:.80} of question {question} has another text than "
                    "the only passage of that title, which is taken."
                )
                self._problems.tell("gold_ambiguous", question, message)
            return named[0]
        if named:
            message = (
                f"Gold {title!r:.80} of question {question} is the title of "
                f"{len(named)} passages and its text is that of none: the first is "
                "taken."
            )
            self._problems.tell("gold_ambiguous", question, message)
            return named[0]
        return self.missing(question, title)

    def missing(self, question: str, name: str) -> str:
        """Tell of gold that points nowhere; return an id that no passage has.

        Args:
            question: Id of the question.
            name: What its gold says.
        """
        message = (
            f"Gold {name!r:.80} of question {question} is no passage of the corpus: "
            "it counts as never found."
        )
        self._problems.tell_once("gold_missing", question, message)
        return self._free(name)


def dataset_of(
    name: str,
    kind: str,
    *,
    index: PassageIndex,
    questions: Iterable[RetrievalQuestion],
    files: Sequence[SourceFile],
    problems: Problems,
    notes: Sequence[str] = (),
) -> RetrievalDataset:
    """Return passages and questions as a data set, questions checked.

    Args:
        name: What the data set is called.
        kind: Format that it was read from.
        index: Its passages.
        questions: Its questions as they were found.
        files: What it was read from.
        problems: What the loader found wrong; questions that cannot be asked are added.
        notes: What a reader of figures must know.

    Raises:
        SourceError: If there are no passages, no question is left, or no gold points
            to a passage.
    """
    if not index.passages:
        raise SourceError(f"{files[-1].name} has no passages: name the corpus.")
    asked = tuple(_askable(questions, problems))
    if not asked:
        first = problems.found[0].message if problems.found else "the file has none."
        raise SourceError(f"{files[0].name} has no question that can be asked: {first}")
    if not any(gold in index for q in asked for gold in q.gold_documents):
        gold = asked[0].gold_documents[0]
        msg = (
            f"No gold of {files[0].name} is in the corpus, such as {gold!r:.80} of "
            f"question {asked[0].id}: name the corpus that belongs to the questions."
        )
        raise SourceError(msg)
    return RetrievalDataset(
        name=name,
        kind=kind,
        passages=tuple(index.passages),
        questions=asked,
        files=tuple(files),
        problems=tuple(problems.found),
        notes=tuple(notes),
    )


def _askable(
    questions: Iterable[RetrievalQuestion], problems: Problems
) -> Iterable[RetrievalQuestion]:
    """Yield questions with text and gold, each once, with ids of their own."""
    ids: set[str] = set()
    texts: dict[str, str] = {}
    for question in questions:
        name, text = question.id, folded(question.text)
        if not text:
            message = f"Question {name} has no text: it is left out."
            problems.tell("unreadable", name, message)
        elif len(question.text) > LONGEST_QUESTION:
            message = (
                f"Question {name} has {len(question.text)} characters, more than "
                f"{LONGEST_QUESTION}: it is left out."
            )
            problems.tell("unreadable", name, message)
        elif text in texts:
            message = f"Question {name} asks what {texts[text]} asks: it is left out."
            problems.tell("duplicate", name, message)
        elif not question.gold_documents:
            message = f"Question {name} has no gold: it is left out."
            problems.tell("no_gold", name, message)
        else:
            number = 1
            while name in ids:
                number += 1
                name = f"{question.id} #{number}"
            if number > 1:
                message = (
                    f"Another question has the id {question.id}: it is called {name}."
                )
                problems.tell("duplicate", question.id, message)
            ids.add(name)
            texts[text] = name
            yield replace(
                question,
                id=name,
                text=clean_plain(question.text).strip(),
                gold_documents=tuple(dict.fromkeys(question.gold_documents)),
                gold_sentences=tuple(dict.fromkeys(question.gold_sentences)),
                gold_chunks=tuple(dict.fromkeys(question.gold_chunks)),
            )
