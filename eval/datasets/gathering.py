"""Passages and questions as a loader takes them out of files, for a data set.

Files are read whole, with their checksums. What one says is checked as it is taken out,
and every message, that of a `SourceError`, names the file and the place in it.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeAlias

from knowtrail.eval.retrieval.dataset import (
    DatasetProblem,
    Passage,
    RetrievalDataset,
    RetrievalQuestion,
    SourceFile,
)
from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import disk_errors, file_digest, read_json_lines
from knowtrail.ingest.prepare import clean_plain
from knowtrail.retrieval.questions import LONGEST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import ProblemKind

_LONGEST_FIELD = 50_000_000
JsonObject: TypeAlias = dict[str, Any]


def table_rows(path: Path, *, tabs: bool = False) -> Iterator[JsonObject]:
    """Yield the rows of a table with a header, by column."""
    csv.field_size_limit(_LONGEST_FIELD)
    form: dict[str, Any] = (
        {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {"strict": True}
    )
    number = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, restval="", **form)
            for row in reader:
                number = reader.line_num + 1
                yield {name: cell for name, cell in row.items() if name is not None}
    except (csv.Error, UnicodeDecodeError) as error:
        raise SourceError(
            f"{path} is no table at line {number}: {error}. A quoted cell that never "
            "ends means a truncated file."
        ) from error


def as_object(value: object, place: str) -> JsonObject:
    """Return a value as an object."""
    if isinstance(value, dict):
        return value
    raise SourceError(f"{place} is {shown(value)}: an object is wanted.")


def as_list(value: object, place: str) -> Sequence[Any]:
    """Return a value as a list."""
    if isinstance(value, list):
        return value
    raise SourceError(f"{place} is {shown(value)}: a list is wanted.")


def as_texts(value: object, place: str) -> Sequence[str]:
    """Return a value as a list of texts, each as `text_of` takes it."""
    listed = as_list(value, place)
    return [text_of({"text": each}, "text", place=place) for each in listed]


def text_of(
    row: JsonObject, *names: str, place: str, default: str | None = None
) -> str:
    """Return the text that an object has under the first of some names.

    Characters that no reader sees and no database takes are replaced; whole numbers
    are taken as their digits.
    """
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            return clean_plain(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise SourceError(f"{place} has {shown(value)} as {name!r}: a text is wanted.")
    if default is None:
        raise SourceError(f"{place} has no {' or '.join(map(repr, names))}.")
    return default


def shown(value: object) -> str:
    """Return a value as a message shows it: its kind, and not for long."""
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(value)[:60]


_RECENT = 100
"""Problems among which one that is told again is looked for."""


def folded(text: str) -> str:
    """Return a text as texts are compared: white space and its amount do not count."""
    return " ".join(text.split())


class Gathering:
    """What a loader finds: files, passages by id, and what is wrong, in its order.

    A passage without an id of its own gets its title as id, a second one of the same
    title `TITLE #2`, and so on. One that has title and text of another is left out.
    """

    def __init__(self) -> None:
        self.files: list[SourceFile] = []
        self.passages: dict[str, Passage] = {}
        self.problems: list[DatasetProblem] = []
        self._by_text: dict[tuple[str, str], str] = {}
        self._by_title: dict[str, list[str]] = {}

    def tell(self, kind: ProblemKind, where: str, message: str) -> None:
        """Take note of a problem."""
        self.problems.append(DatasetProblem(kind=kind, id=where, message=message))

    def file(self, path: Path) -> SourceFile:
        """Take note of a file of the data set, which must be there."""
        told = "{path} cannot be read: {reason}. Check the path."
        with disk_errors(SourceError, told, path=path):
            try:
                checksum, size = file_digest(path), path.stat().st_size
            except ValueError as error:
                raise SourceError(f"{str(path)!r:.200} is no path: {error}.") from error
        self.files.append(SourceFile(name=path.name, size=size, checksum=checksum))
        return self.files[-1]

    def objects(self, path: Path) -> list[tuple[str, JsonObject]]:
        """Return the objects of a file of JSON Lines, each with its place."""
        self.file(path)
        placed = ((f"{path.name}:{at}", row) for at, row in read_json_lines(path))
        return [(place, as_object(row, place)) for place, row in placed]

    def add(
        self,
        title: str,
        text: str,
        *,
        sentences: Sequence[str] | None = None,
        identity: str | None = None,
    ) -> str:
        """Add a passage and return its id."""
        ready = None
        if sentences is not None:
            ready = tuple(clean_plain(sentence) for sentence in sentences)
            text = " ".join(ready)
        title, text = folded(clean_plain(title)), clean_plain(text)
        key = (title, folded(text))
        if identity is None and key in self._by_text:
            known = self._by_text[key]
            message = f"Passage {known!r:.80} is there twice: one of them is kept."
            self.tell("duplicate", known, message)
            return known
        if identity is not None and identity in self.passages:
            message = f"Two passages have the id {identity!r:.80}: the first is kept."
            self.tell("duplicate", identity, message)
            return identity
        usual = title or f"passage {len(self.passages) + 1}"
        name = identity or _free(usual, self.passages)
        self.passages[name] = Passage(id=name, title=title, text=text, sentences=ready)
        self._by_text.setdefault(key, name)
        self._by_title.setdefault(title, []).append(name)
        return name

    def find(self, question: str, title: str, text: str | None = None) -> str:
        """Return the id of the passage that gold names.

        Where there is none, an id that no passage has is returned, so that the gold
        counts and is never found; that is told, and so is gold that names several.
        """
        title = folded(clean_plain(title))
        if text is not None:
            known = self._by_text.get((title, folded(clean_plain(text))))
            if known is not None:
                return known
        named = self._by_title.get(title, [])
        if not named:
            return self.missing(question, title)
        told = f"is the title of {len(named)} passages and its text is that of none: "
        told += "the first is taken."
        if len(named) == 1:
            told = "has another text than the only passage of that title, which is "
            told += "taken."
        if len(named) > 1 or text is not None:
            message = f"Gold {title!r:.80} of question {question} {told}"
            self.tell("gold_ambiguous", question, message)
        return named[0]

    def missing(self, question: str, name: str) -> str:
        """Tell of gold that points nowhere; return an id that no passage has."""
        message = (
            f"Gold {name!r:.80} of question {question} is no passage of the corpus: "
            "it counts as never found."
        )
        problem = DatasetProblem(kind="gold_missing", id=question, message=message)
        if problem not in self.problems[-_RECENT:]:  # gold may be named twice
            self.problems.append(problem)
        return _free(name, self.passages)

    def dataset(
        self,
        name: str,
        kind: str,
        questions: Iterable[RetrievalQuestion],
        *,
        notes: Sequence[str] = (),
    ) -> RetrievalDataset:
        """Return it as a data set, questions checked; its last file is the corpus.

        Raises:
            SourceError: If there are no passages, no question is left, or no gold
                points to a passage.
        """
        asked_in, corpus = self.files[0].name, self.files[-1].name
        if not self.passages:
            raise SourceError(f"{corpus} has no passages: name the corpus.")
        asked = tuple(self._askable(questions))
        if not asked:
            told = self.problems[0].message if self.problems else "the file has none."
            raise SourceError(f"{asked_in} has no question that can be asked: {told}")
        if not any(gold in self.passages for q in asked for gold in q.gold_documents):
            gold = asked[0].gold_documents[0]
            raise SourceError(
                f"No gold of {asked_in} is in the corpus, such as {gold!r:.80} of "
                f"question {asked[0].id}: name the corpus that these questions are of."
            )
        return RetrievalDataset(
            name=name,
            kind=kind,
            passages=tuple(self.passages.values()),
            questions=asked,
            files=tuple(self.files),
            problems=tuple(self.problems),
            notes=tuple(notes),
        )

    def _askable(
        self, questions: Iterable[RetrievalQuestion]
    ) -> Iterator[RetrievalQuestion]:
        """Yield questions with text and gold, each once, with ids of their own."""
        ids: set[str] = set()
        texts: dict[str, str] = {}
        for question in questions:
            name, text = question.id, folded(question.text)
            if problem := _unaskable(question, texts.get(text)):
                kind, message = problem
                self.tell(kind, name, f"Question {name} {message}: it is left out.")
                continue
            if (name := _free(question.id, ids)) != question.id:
                message = (
                    f"Another question has the id {question.id}: it is called {name}."
                )
                self.tell("duplicate", question.id, message)
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


def _free(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name} #{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)


def _unaskable(
    question: RetrievalQuestion, same: str | None
) -> tuple[ProblemKind, str] | None:
    """Return why a question cannot be asked, such as for one that asks the same."""
    if not folded(question.text):
        return "unreadable", "has no text"
    if (length := len(question.text)) > LONGEST_QUESTION:
        return "unreadable", f"has {length} characters, more than {LONGEST_QUESTION}"
    if same is not None:
        return "duplicate", f"asks what {same} asks"
    return None if question.gold_documents else ("no_gold", "has no gold")
