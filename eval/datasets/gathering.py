"""Passages and questions as a loader takes them out of files, for a data set.

Files are read whole, with their checksums. What one says is checked as it is taken out,
and every message names the file and the place in it.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from knowtrail.eval.retrieval.dataset import (
    DatasetProblem,
    Passage,
    RetrievalDataset,
    RetrievalQuestion,
    SourceFile,
)
from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import file_digest, read_json_lines
from knowtrail.ingest.parsing import clean_plain
from knowtrail.retrieval.questions import LONGEST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import ProblemKind

_LONGEST_FIELD = 50_000_000
JsonObject: TypeAlias = dict[str, Any]


def source_file(path: Path) -> SourceFile:
    """Return what a file is.

    Raises:
        SourceError: If it cannot be read.
    """
    try:
        checksum = file_digest(path)
        return SourceFile(name=path.name, size=path.stat().st_size, checksum=checksum)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}. Check the path."
        raise SourceError(msg) from error
    except ValueError as error:
        raise SourceError(f"{str(path)!r:.200} is no path: {error}.") from error


def json_objects(path: Path) -> tuple[list[tuple[str, JsonObject]], SourceFile]:
    """Return the objects of a JSON Lines file, each with its place, and the file.

    Raises:
        SourceError: If a line is no object; the message says which.
    """
    file = source_file(path)
    rows = []
    for number, value in read_json_lines(path):
        place = f"{path.name}:{number}"
        rows.append((place, as_object(value, place)))
    return rows, file


def read_table(
    path: Path, *, tabs: bool = False
) -> tuple[Iterator[JsonObject], SourceFile]:
    """Return the rows of a table with a header by column, and what the file is.

    Raises:
        SourceError: If it cannot be read; while reading, if a quoted cell never ends.
    """
    return _rows(path, tabs), source_file(path)


def _rows(path: Path, tabs: bool) -> Iterator[JsonObject]:
    """Yield the rows of a table."""
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
        msg = (
            f"{path} is no table at line {number}: {error}. A quoted cell that never "
            "ends means a truncated file."
        )
        raise SourceError(msg) from error


def as_object(value: object, place: str) -> JsonObject:
    """Return a value as an object.

    Raises:
        SourceError: If it is something else.
    """
    if isinstance(value, dict):
        return value
    raise SourceError(f"{place} is {shown(value)}: an object is wanted.")


def as_list(value: object, place: str) -> Sequence[Any]:
    """Return a value as a list.

    Raises:
        SourceError: If it is something else.
    """
    if isinstance(value, list):
        return value
    raise SourceError(f"{place} is {shown(value)}: a list is wanted.")


def as_texts(value: object, place: str) -> Sequence[str]:
    """Return a value as a list of texts, each as `text_of` takes it.

    Raises:
        SourceError: If it is something else.
    """
    listed = as_list(value, place)
    return [text_of({"text": each}, "text", place=place) for each in listed]


def text_of(
    row: JsonObject, *names: str, place: str, default: str | None = None
) -> str:
    """Return the text that an object has under the first of some names.

    Characters that no reader sees and no database takes are replaced; whole numbers
    are taken as their digits.

    Raises:
        SourceError: If there is none and no default, or it is no text.
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
        """Take note of a problem."""
        self.found.append(DatasetProblem(kind=kind, id=where, message=message))

    def tell_once(self, kind: ProblemKind, where: str, message: str) -> None:
        """Take note of a problem that may come up again, such as gold named twice."""
        problem = DatasetProblem(kind=kind, id=where, message=message)
        if problem not in self.found[-_RECENT:]:
            self.found.append(problem)


class PassageIndex:
    """The passages of a data set, to be found by id, by title or by text.

    A passage without an id of its own gets its title as id, a second one of the same
    title `TITLE #2`, and so on. One that has title and text of another is left out.
    """

    def __init__(self, problems: Problems) -> None:
        """Begin without passages."""
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
        """Tell of gold that points nowhere; return an id that no passage has."""
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
        raise SourceError(
            f"No gold of {files[0].name} is in the corpus, such as {gold!r:.80} of "
            f"question {asked[0].id}: name the corpus that belongs to the questions."
        )
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
