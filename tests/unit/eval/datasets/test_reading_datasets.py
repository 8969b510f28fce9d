"""Data sets in the formats of others: corpus, gold, and what is wrong with them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.datasets import DATASET_KINDS, load_dataset, read_specification
from knowtrail.eval.datasets.gathering import Gathering
from knowtrail.graph.errors import InputError, SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import RetrievalDataset


def _json(path: Path, value: Any) -> Path:
    """Write JSON and return where."""
    path.write_text(json.dumps(value), "utf-8")
    return path


def _lines(path: Path, *rows: Any) -> Path:
    """Write JSON lines and return where."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _kinds(dataset: RetrievalDataset) -> list[tuple[str, str]]:
    """Return kinds and ids of a data set's problems."""
    return [(problem.kind, problem.id) for problem in dataset.problems]


def _musique(folder: Path, *questions: dict[str, Any]) -> RetrievalDataset:
    """Load questions over two passages called Ohio and one called Iowa."""
    corpus = [
        {"title": "Ohio", "text": "A river."},
        {"title": "Ohio", "text": "A state."},
        {"title": "Iowa", "text": "Another state."},
    ]
    return load_dataset(
        "musique",
        [
            _json(folder / "asked.json", list(questions)),
            _json(folder / "corpus.json", corpus),
        ],
    )


def _asked(name: str, *gold: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Return a question of MuSiQue."""
    paragraphs = [
        {"title": title, "paragraph_text": text, "is_supporting": True}
        for title, text in gold
    ]
    question = {"id": name, "question": f"What is {name}?", "paragraphs": paragraphs}
    return {**question, **more}


def test_musique_is_read_whole(shared: Path) -> None:
    """The sample has 1,890 passages and 100 questions whose gold is all there."""
    folder = shared / "musique" if (shared / "musique").is_dir() else shared / "data"
    folder = folder if folder.name == "musique" else folder / "musique"

    dataset = load_dataset(
        "musique",
        [folder / "musique_train.json", folder / "musique_train_corpus.json"],
    )

    ids = {passage.id for passage in dataset.passages}
    gold = {name for q in dataset.questions for name in q.gold_documents}
    assert (len(ids), len(dataset.questions), dataset.problems) == (1890, 100, ())
    assert gold <= ids
    assert dataset.files[0].size == 1_179_088


def test_2wiki_is_read_whole(shared: Path) -> None:
    """The sample has 6,119 passages and 100 questions whose gold is all there."""
    folder = shared / "data" / "2wiki"

    dataset = load_dataset(
        "2wiki", [folder / "2wiki_dev.json", folder / "2wiki_dev_corpus.json"]
    )

    ids = {passage.id for passage in dataset.passages}
    gold = {name for q in dataset.questions for name in q.gold_documents}
    assert (len(ids), len(dataset.questions), dataset.problems) == (6119, 100, ())
    assert gold <= ids
    assert dataset.has_sentences


def test_equal_titles_are_told_apart(tmp_path: Path) -> None:
    """Gold of an ambiguous title is the passage that has its text."""
    dataset = _musique(tmp_path, _asked("q", ("Ohio", "A  state.")))

    assert [passage.id for passage in dataset.passages] == ["Ohio", "Ohio #2", "Iowa"]
    assert dataset.questions[0].gold_documents == ("Ohio #2",)


def test_gold_that_points_nowhere_is_told_and_counts(tmp_path: Path) -> None:
    """The question stays, with an id that no passage has."""
    dataset = _musique(tmp_path, _asked("q", ("Iowa", "Another state."), ("Utah", "")))

    assert _kinds(dataset) == [("gold_missing", "q")]
    assert dataset.questions[0].gold_documents == ("Iowa", "Utah")


def test_gold_named_twice_that_points_nowhere_is_told_once(tmp_path: Path) -> None:
    """One message for one thing that is wrong."""
    dataset = _musique(
        tmp_path, _asked("q", ("Rome", "Far."), ("Rome", "Far."), ("Iowa", "Another."))
    )

    assert _kinds(dataset).count(("gold_missing", "q")) == 1


@pytest.mark.parametrize(
    ("kind", "question", "hint"),
    [
        ("musique", {"supporting_facts": [["Iowa", 0]]}, "like hotpotqa or 2wiki"),
        ("hotpotqa", {"paragraphs": []}, "'supporting_facts', its gold; it looks"),
        ("2wiki", {"gold": ["Iowa"]}, "'supporting_facts', its gold."),
    ],
)
def test_questions_of_another_kind_are_refused(
    tmp_path: Path, kind: str, question: dict[str, Any], hint: str
) -> None:
    """What is missing is named, and what the file looks like."""
    asked = _json(tmp_path / "asked.json", [{"id": "q", "question": "?", **question}])
    corpus = _json(tmp_path / "corpus.json", [{"title": "Iowa", "text": "A state."}])

    with pytest.raises(SourceError, match=r"No question of asked.json has") as refused:
        load_dataset(kind, [asked, corpus])

    assert hint in str(refused.value)


def test_gold_of_an_unknown_text_is_told(tmp_path: Path) -> None:
    """Where several passages have the title and none the text, the first is taken."""
    dataset = _musique(tmp_path, _asked("q", ("Ohio", "Something else.")))

    assert _kinds(dataset) == [("gold_ambiguous", "q")]
    assert dataset.questions[0].gold_documents == ("Ohio",)


def test_gold_of_another_text_under_a_title_of_one_passage_is_told(
    tmp_path: Path,
) -> None:
    """The passage of that title is taken, but not in silence."""
    dataset = _musique(tmp_path, _asked("q", ("Iowa", "Something else.")))

    assert _kinds(dataset) == [("gold_ambiguous", "q")]
    assert dataset.questions[0].gold_documents == ("Iowa",)


def test_questions_that_cannot_be_asked_are_left_out_by_id(tmp_path: Path) -> None:
    """Duplicates, and questions without gold or text; the rest is kept."""
    gold = ("Iowa", "Another state.")

    dataset = _musique(
        tmp_path,
        _asked("a", gold),
        _asked("b", gold, question="What  is a?"),
        _asked("c"),
        _asked("d", gold, question=" "),
        _asked("a", gold, question="What else?"),
    )

    assert [question.id for question in dataset.questions] == ["a", "a #2"]
    assert _kinds(dataset) == [
        ("duplicate", "b"),
        ("no_gold", "c"),
        ("unreadable", "d"),
        ("duplicate", "a"),
    ]


def test_a_question_longer_than_any_system_takes_is_left_out(tmp_path: Path) -> None:
    """It is told by id, and does not end an evaluation half-way."""
    gold = ("Iowa", "Another state.")
    long = {**_asked("long", gold), "question": "why " * 3000}

    dataset = _musique(tmp_path, _asked("q", gold), long)

    assert _kinds(dataset) == [("unreadable", "long")]
    assert [question.id for question in dataset.questions] == ["q"]


def test_a_corpus_of_other_questions_is_refused(tmp_path: Path) -> None:
    """Nothing could be found in it."""
    with pytest.raises(SourceError, match=r"No gold of asked\.json is in the corpus"):
        _musique(tmp_path, _asked("q", ("Utah", "Nothing.")))


@pytest.mark.parametrize("cut", [1, 40, 100])
def test_a_file_that_breaks_off_is_refused(tmp_path: Path, cut: int) -> None:
    """The message says which file and where."""
    _musique(tmp_path, _asked("q", ("Iowa", "Another state.")))
    path = tmp_path / "asked.json"
    path.write_text(path.read_text("utf-8")[:cut], "utf-8")

    with pytest.raises(SourceError, match=r"asked.json is no JSON: .*breaks off"):
        load_dataset("musique", [path, tmp_path / "corpus.json"])


def _supporting(folder: Path, facts: list[Any], corpus: Any) -> RetrievalDataset:
    """Load one question of HotpotQA."""
    question = {
        "_id": "h",
        "question": "Who?",
        "answer": "x",
        "supporting_facts": facts,
    }
    return load_dataset(
        "hotpotqa",
        [
            _json(folder / "asked.json", [question]),
            _json(folder / "corpus.json", corpus),
        ],
    )


def test_hotpotqa_has_gold_sentences(tmp_path: Path) -> None:
    """The corpus is an object of titles; a title that is there twice is kept twice."""
    corpus = '{"A": ["One.", " Two."], "B": ["Three."], "B": ["Four."]}'
    (tmp_path / "corpus.json").write_text(corpus, "utf-8")
    asked = [{"_id": "h", "question": "Who?", "supporting_facts": [["A", 1]]}]

    dataset = load_dataset(
        "hotpotqa", [_json(tmp_path / "asked.json", asked), tmp_path / "corpus.json"]
    )

    (question,) = dataset.questions
    assert [passage.id for passage in dataset.passages] == ["A", "B", "B #2"]
    assert dataset.passages[0].sentences == ("One.", " Two.")
    assert [(g.document, g.sentence) for g in question.gold_sentences] == [("A", 1)]


def test_a_gold_sentence_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Its passage still counts."""
    dataset = _supporting(tmp_path, [["A", 7]], {"A": ["One."]})

    assert _kinds(dataset) == [("gold_missing", "h")]
    assert dataset.questions[0].gold_documents == ("A",)


@pytest.mark.parametrize("fact", ["A", ["A"], ["A", "1"], [1, 1]])
def test_facts_of_another_form_are_refused(tmp_path: Path, fact: Any) -> None:
    """The message says what is wanted."""
    with pytest.raises(SourceError, match=r"\[title, number\] is wanted"):
        _supporting(tmp_path, [fact], {"A": ["One."]})


def _beir(folder: Path, judged: str) -> RetrievalDataset:
    """Load a folder in the form of BEIR."""
    _lines(
        folder / "corpus.jsonl",
        {"_id": "1", "title": "", "text": "One."},
        {"_id": "2", "title": "Two", "text": "Two."},
    )
    _lines(
        folder / "queries.jsonl",
        {"_id": "q", "text": "Which?"},
        {"_id": "r", "text": "Other?"},
    )
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(judged, "utf-8")
    return load_dataset("beir", [folder])


def test_beir_has_graded_gold(tmp_path: Path) -> None:
    """A grade of 0 is no gold; queries without judgements are counted, not asked."""
    head = "query-id\tcorpus-id\tscore\n"

    dataset = _beir(tmp_path, head + "q\t1\t0\nq\t2\t3\nq\t9\t1\nz\t1\t1\n")

    (question,) = dataset.questions
    assert dict(question.grades) == {"2": 3, "9": 1}
    assert _kinds(dataset) == [("gold_missing", "q"), ("unreadable", "z")]
    assert dataset.notes[0].startswith("1 queries have no judgement")


@pytest.mark.parametrize(
    "judged", ["q\t1\t1\nq\t2\t1\n", "query-id\tcorpus-id\tscore\nq\t1"]
)
def test_judgements_of_another_form_are_refused(tmp_path: Path, judged: str) -> None:
    """A missing header, or a row that breaks off."""
    with pytest.raises(SourceError, match=r"test.tsv:2 is no judgement"):
        _beir(tmp_path, judged)


def test_queries_of_one_id_are_told(tmp_path: Path) -> None:
    """The first is asked, and the other one is not dropped in silence."""
    _beir(tmp_path, "query-id\tcorpus-id\tscore\nq\t1\t2\n")
    with (tmp_path / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "q", "text": "Another?"}\n')

    dataset = load_dataset("beir", [tmp_path])

    assert _kinds(dataset) == [("duplicate", "q")]
    assert dataset.questions[0].text == "Which?"


@pytest.mark.parametrize(
    ("contexts", "passages", "gold"), [("groups", 2, 1), ("items", 3, 2)]
)
def test_the_corpus_of_deepeval_is_its_contexts(
    tmp_path: Path, contexts: Any, passages: int, gold: int
) -> None:
    """A passage is a group of texts, or a text; each is there once."""
    rows = [
        {"input": "Why?", "expected_output": "So.", "context": ["One. Two.", "Three."]},
        {"input": "How?", "expected_output": "So.", "context": ["Three.", "Four."]},
    ]

    dataset = load_dataset(
        "deepeval", [_json(tmp_path / "g.json", rows)], contexts=contexts
    )

    first = dataset.questions[0]
    assert (len(dataset.passages), len(first.gold_documents)) == (passages, gold)
    assert (len(first.gold_sentences), len(first.gold_chunks)) == (3, 2)
    assert "cannot be reproduced" in dataset.notes[0]


@pytest.mark.parametrize("context", ['["One.", "Two."]', "One. | Two."])
def test_contexts_of_a_table_are_read_in_both_forms(
    tmp_path: Path, context: str
) -> None:
    """A JSON list, or texts with a line between them."""
    path = tmp_path / "g.csv"
    cell = context.replace('"', '""')
    path.write_text(f'input,context\nWhy?,"{cell}"\n', "utf-8")

    dataset = load_dataset("deepeval", [path])

    assert dataset.passages[0].sentences == ("One.", "Two.")


def test_a_text_may_begin_with_a_bracket(tmp_path: Path) -> None:
    """A note's number is no list, and a list that breaks off is no text."""
    path = tmp_path / "g.csv"
    path.write_text('input,context\nWhy?,"[1] One.|Two."\n', "utf-8")

    dataset = load_dataset("deepeval", [path])

    assert dataset.passages[0].sentences == ("[1] One.", "Two.")
    path.write_text('input,context\nWhy?,"[""One."\n', "utf-8")
    with pytest.raises(SourceError, match=r"g.csv:2 is no JSON: .*breaks off"):
        load_dataset("deepeval", [path])


def test_a_text_that_is_there_twice_is_one_stretch(tmp_path: Path) -> None:
    """A context of two equal texts has one gold chunk, not two that count double."""
    rows = [{"input": "Why?", "context": ["One.", "One.", "Two."]}]

    dataset = load_dataset(
        "deepeval", [_json(tmp_path / "g.json", rows)], contexts="items"
    )

    assert len(dataset.questions[0].gold_chunks) == 2


def test_a_table_that_breaks_off_is_refused(tmp_path: Path) -> None:
    """A quoted cell that never ends."""
    path = tmp_path / "g.csv"
    path.write_text('input,context\nWhy?,"One.', "utf-8")

    with pytest.raises(SourceError, match="never ends means a truncated file"):
        load_dataset("deepeval", [path])


def _own(folder: Path, question: dict[str, Any]) -> RetrievalDataset:
    """Load a question in our own form."""
    return load_dataset(
        "jsonl",
        [
            _lines(folder / "q.jsonl", {"question": "Who?", **question}),
            _lines(
                folder / "p.jsonl",
                {"id": "a", "title": "A", "text": "One is here. Two is there."},
                {"title": "B", "sentences": ["Three.", "Four."]},
            ),
        ],
    )


@pytest.mark.parametrize(
    ("sentence", "number"), [(1, 1), ("Two is  there.", 1), (0, 0)]
)
def test_gold_sentences_are_numbers_or_texts(
    tmp_path: Path, sentence: Any, number: int
) -> None:
    """Their passages are gold documents by themselves."""
    gold = {"gold_sentences": [{"document": "a", "sentence": sentence}]}

    dataset = _own(tmp_path, gold)

    (question,) = dataset.questions
    assert question.gold_documents == ("a",)
    assert [g.sentence for g in question.gold_sentences] == [number]
    assert dataset.problems == ()


@pytest.mark.parametrize("sentence", [7, "Nothing like it."])
def test_gold_sentences_that_are_not_there_are_told(
    tmp_path: Path, sentence: Any
) -> None:
    """They count and are never found."""
    dataset = _own(
        tmp_path, {"gold_sentences": [{"document": "B", "sentence": sentence}]}
    )

    assert _kinds(dataset) == [("gold_missing", "q.jsonl:1")]
    assert dataset.questions[0].gold_sentences[0].sentence == -1


def test_a_line_that_breaks_off_is_refused(tmp_path: Path) -> None:
    """The message has file and line."""
    _own(tmp_path, {"gold_documents": ["a"]})
    path = tmp_path / "p.jsonl"
    path.write_text(path.read_text("utf-8")[:-10], "utf-8")

    with pytest.raises(SourceError, match=r"p.jsonl, line 2 is no JSON"):
        load_dataset("jsonl", [tmp_path / "q.jsonl", path])


@pytest.mark.parametrize(
    "text", ["musique", "musique:", "musique:a.json", "jsonl:a,,b"]
)
def test_specifications_of_another_form_are_refused(text: str) -> None:
    """The message says how a data set is written."""
    with pytest.raises(InputError, match="writ"):
        read_specification(text)


@pytest.mark.parametrize("kind", ["musique", "jsonl"])
def test_numbers_of_too_many_digits_are_refused(tmp_path: Path, kind: str) -> None:
    """They are a mistake of the file, not of ours."""
    path = tmp_path / "big.json"
    path.write_text('[{"id": ' + "1" * 5000 + "}]", "utf-8")

    with pytest.raises(SourceError, match=r"limit .4300 digits"):
        load_dataset(kind, [path, path])


def test_a_context_nested_without_end_is_refused(tmp_path: Path) -> None:
    """The message has its place."""
    path = tmp_path / "g.csv"
    path.write_text('input,context\nWhy?,"[""a"",' + "[" * 100_000 + '"\n', "utf-8")

    with pytest.raises(SourceError, match=r"g.csv:2: nested too deep"):
        load_dataset("deepeval", [path])


@pytest.mark.parametrize(
    ("name", "reason"), [("none.jsonl", "No such file"), ("", "Is a directory")]
)
def test_files_that_cannot_be_read_are_told(
    name: str, reason: str, tmp_path: Path
) -> None:
    """Once, with what to do."""
    path = tmp_path / name
    said = rf"^{re.escape(str(path))} cannot be read: {reason}[^.]*\. Check the path\.$"

    with pytest.raises(SourceError, match=said):
        Gathering().file(path)


def test_paths_that_no_file_can_have_are_refused() -> None:
    """A NUL in a path is a mistake of the user."""
    with pytest.raises(SourceError, match="is no path"):
        read_specification("jsonl:a\0b,c")


def test_gold_may_be_a_title_with_many_spaces(tmp_path: Path) -> None:
    """A passage without an id is known by its title, whatever its white space."""
    dataset = load_dataset(
        "jsonl",
        [
            _lines(tmp_path / "q.jsonl", {"question": "?", "gold_documents": ["B  C"]}),
            _lines(tmp_path / "p.jsonl", {"title": "B  C", "text": "One."}),
        ],
    )

    assert dataset.questions[0].gold_documents == ("B C",)


def test_unknown_kinds_are_refused() -> None:
    """The message names those that there are."""
    with pytest.raises(InputError, match=", ".join(DATASET_KINDS)):
        read_specification("squad:a,b")


def test_a_missing_file_is_named() -> None:
    """The message has the path."""
    with pytest.raises(SourceError, match=r"nowhere\.json"):
        read_specification("musique:nowhere.json,nowhere.json")
