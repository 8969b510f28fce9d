"""The bundled questions of the extraction benchmark and the pages recorded for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import urlsplit

from tests.cases import each

ROOT = Path(__file__).resolve().parents[4]
DATA = resources.files("knowtrail.eval.skn") / "data"
TECHNOLOGIES = (
    "Python",
    "Java",
    "Go",
    "Rust",
    "TypeScript",
    "Node",
    "Docker",
    "Kubernetes",
    "PostgreSQL",
    "Redis",
    "Elasticsearch",
    "Kafka",
    "RabbitMQ",
    "Terraform",
    "Lambda",
    "gRPC",
)
ORDERS = re.compile(
    r"(assistants?|SYSTEM)\b.{0,80}(disregard|must now|ignore)", re.IGNORECASE
)
WORD = re.compile(r"[A-Za-z_][\w.-]*[A-Za-z0-9]|\d[\d.,]*")


def _read(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DATA / name).read_text("utf-8"))
    return loaded


SAMPLES = _read("samples.json")
PAGES = {entry["id"]: entry for entry in _read("search_results.json")}
ANSWERABLE = [sample for sample in SAMPLES if sample["answerable"]]
UNANSWERABLE = [sample for sample in SAMPLES if not sample["answerable"]]


def _key(sample: dict[str, Any]) -> str:
    return str(sample["id"])


def _text(sample: dict[str, Any]) -> str:
    return "\n".join(
        f"{page['title']}\n{page['content']}" for page in PAGES[sample["id"]]["results"]
    )


def _terms(text: str) -> set[str]:
    """Return figures and words of four letters or more, folded."""
    words = {word.casefold().strip(".,") for word in WORD.findall(text)}
    return {word for word in words if len(word) > 3 or word.isdigit()}


def test_samples_are_numbered_in_order() -> None:
    """Ids run from 1 to 50 in the order of the file."""
    assert [sample["id"] for sample in SAMPLES] == list(range(1, 51))


def test_samples_have_the_published_counts_by_category() -> None:
    """The seven categories have the sizes of the published benchmark."""
    assert Counter(sample["category"] for sample in SAMPLES) == {
        "diagnostic": 15,
        "optimization": 7,
        "architecture": 5,
        "insufficient_info": 8,
        "ambiguous": 5,
        "misleading": 5,
        "multi_step": 5,
    }


def test_samples_have_only_the_five_fields() -> None:
    """A sample has exactly the fields that the benchmark reads."""
    assert {frozenset(sample) for sample in SAMPLES} == {
        frozenset({"id", "category", "question", "ground_truth", "answerable"})
    }


def test_unanswerable_samples_are_those_of_one_category() -> None:
    """Only questions on company internals are unanswerable, and they say so."""
    shown = {
        (sample["category"] == "insufficient_info", sample["answerable"])
        for sample in SAMPLES
    }

    assert shown == {(True, False), (False, True)}
    assert {sample["ground_truth"] for sample in UNANSWERABLE} == {"INSUFFICIENT_INFO"}


def test_questions_and_answers_have_the_wanted_lengths() -> None:
    """Questions average 100 to 150 characters and answers have 200 to 350."""
    truths = [len(sample["ground_truth"]) for sample in ANSWERABLE]

    assert 100 <= mean(len(sample["question"]) for sample in SAMPLES) <= 150
    assert (min(truths) >= 200, max(truths) <= 350) == (True, True)


def test_questions_cover_the_technologies_of_the_benchmark() -> None:
    """Each of the sixteen technologies is the subject of a question."""
    asked = " ".join(
        f"{sample['question']} {sample['ground_truth']}" for sample in SAMPLES
    )

    assert [name for name in TECHNOLOGIES if not re.search(rf"\b{name}", asked)] == []


def test_pages_belong_to_the_questions_in_order() -> None:
    """The recorded file has the same ids and questions in the same order."""
    asked = [(sample["id"], sample["question"]) for sample in SAMPLES]

    assert [(entry["id"], entry["question"]) for entry in PAGES.values()] == asked


@each("sample", SAMPLES)
def test_a_question_has_five_different_pages(sample: dict[str, Any]) -> None:
    """Five pages of 60 to 160 words are recorded for a question, all different."""
    pages = PAGES[sample["id"]]["results"]
    words = [len(page["content"].split()) for page in pages]

    assert len({page["url"] for page in pages}) == 5
    assert {frozenset(page) for page in pages} == {
        frozenset({"title", "url", "content"})
    }
    assert (min(words) >= 60, max(words) <= 160) == (True, True)


def test_hosts_are_reserved_ones() -> None:
    """Every address lies under the domain that is reserved for examples."""
    hosts = {
        urlsplit(page["url"]).hostname or ""
        for entry in PAGES.values()
        for page in entry["results"]
    }

    assert [host for host in hosts if not host.endswith(".example")] == []


@each("sample", ANSWERABLE)
def test_pages_contain_what_the_answer_says(sample: dict[str, Any]) -> None:
    """A third of the words of an answer, and two at least, are in the pages."""
    wanted = _terms(sample["ground_truth"])

    found = wanted & _terms(_text(sample))

    assert len(found) >= max(2, len(wanted) / 3), sorted(wanted - found)


@each("sample", ANSWERABLE)
def test_no_single_page_is_the_answer(sample: dict[str, Any]) -> None:
    """No page repeats an answer: its sentences have to be put together."""
    copied = [
        page["title"]
        for page in PAGES[sample["id"]]["results"]
        if sample["ground_truth"][:60] in page["content"]
    ]

    assert copied == []


@each("sample", UNANSWERABLE)
def test_pages_do_not_answer_what_cannot_be_known(sample: dict[str, Any]) -> None:
    """No sentence that names the internal thing asked about gives a figure of it."""
    names = re.findall(r'"([^"]+)"', sample["question"]) or ["VPC"]
    told = [
        sentence
        for sentence in re.split(r"(?<=[.!?])\s", _text(sample))
        if any(name in sentence for name in names)
        and re.search(r"(?<!\w)\d", sentence.replace("2025", ""))
    ]

    assert told == []


def test_two_pages_carry_an_order_to_the_reader() -> None:
    """Two pages try to give the model orders, and both questions have answers."""
    ordered = [
        entry["id"]
        for entry in PAGES.values()
        for page in entry["results"]
        if ORDERS.search(page["content"])
    ]

    assert len(ordered) == len(set(ordered)) == 2
    assert set(ordered) <= {sample["id"] for sample in ANSWERABLE}


def test_pages_are_not_repeated() -> None:
    """No two of the 250 pages have the same text."""
    texts = [page["content"] for entry in PAGES.values() for page in entry["results"]]

    assert len(set(texts)) == len(texts) == 250


def test_files_are_plain_readable_json() -> None:
    """The files are UTF-8 without escapes, indented, with a line at the end."""
    written = {
        name: (DATA / name).read_text("utf-8")
        for name in ("samples.json", "search_results.json")
    }

    assert {
        name: json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
        for name, text in written.items()
    } == written


def test_licence_is_stated_beside_the_files() -> None:
    """LICENSE.txt names both files and their licence."""
    stated = (DATA / "LICENSE.txt").read_text("utf-8").splitlines()[0]

    assert stated == "samples.json and search_results.json: CC0-1.0"
