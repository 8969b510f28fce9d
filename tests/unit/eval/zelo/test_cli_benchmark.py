"""`knowtrail eval zelo benchmark` without a database."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.eval.zelo.metrics import (
    RankingSettings,
    as_metrics,
    as_records,
    as_run,
    benchmark_files,
    differences,
)
from knowtrail.eval.zelo.pages import benchmark_tables
from knowtrail.graph.cli.root import main
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
    write_annotated,
)

if TYPE_CHECKING:
    from pathlib import Path


def _write(path: Path, noise: float, *, queries: int = 20, more: int = 0) -> Path:
    """Write a ranking of made-up documents whose true scores are blurred."""
    generator = np.random.default_rng(1)
    blur = np.random.default_rng(2)

    def made() -> Any:
        for number in range(queries):
            scores = generator.normal(size=12) + noise * blur.normal(size=12)
            names = [f"d{place}" for place in range(12 - 2 + more)]
            yield AnnotatedQueryDocuments(
                query=Query(id=f"q{number}", query="?"),
                documents=tuple(
                    AnnotatedDocument(id=name, content="text", score=float(score))
                    for name, score in zip(names, scores, strict=False)
                ),
            )

    write_annotated(path, made())
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    """Return the file of the truth."""
    return _write(tmp_path / "truth.jsonl", 0.0)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Return a ranking that is near to it."""
    return _write(tmp_path / "good.jsonl", 0.3)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Return a ranking that is far from it, of fewer queries."""
    return _write(tmp_path / "bad.jsonl", 5.0, queries=15)


def _run(*words: str | Path) -> int:
    """Run the command."""
    with pytest.raises(SystemExit) as ended:
        main(["eval", "zelo", "benchmark", *map(str, words)])
    return int(ended.value.code or 0)


def test_a_ranking_by_the_truth_is_perfect(truth: Path) -> None:
    """Every metric is 1, and its interval the exact one of twenty of twenty."""
    (found,) = benchmark_files(truth, [truth], settings=RankingSettings(k=3))

    ends = [
        end
        for name in ("ndcg", "accuracy", "recall@3", "nDCG@3")
        if (mean := found.means[name]) is not None
        for end in (mean.low, mean.high)
    ]
    assert ends == pytest.approx([0.025 ** (1 / 20), 1.0] * 4)


def test_rankings_are_compared_on_common_queries(
    truth: Path, good: Path, bad: Path
) -> None:
    """The worse one is told from the first, with an interval below 0."""
    found = benchmark_files(truth, [good, bad])

    apart = {one.metric: one for one in differences(found)}

    assert found[1].absent == 5
    assert apart["ndcg"].found.n == 15
    assert apart["ndcg"].found.difference.high < 0
    assert apart["ndcg"].p_value < 0.01


def test_a_ranking_without_a_metric_has_a_dash(truth: Path, good: Path) -> None:
    """Whatever other rankings have is a column of all."""
    one, two = benchmark_files(truth, [truth, good])

    (found, *_) = benchmark_tables([one, replace(two, means={})], [])

    assert "-" not in found.rows[0]
    assert set(found.rows[1][2:]) == {"-"}


def test_more_rankings_make_a_difference_less_sure(
    truth: Path, good: Path, bad: Path, tmp_path: Path
) -> None:
    """Holm's correction counts those that are compared."""
    third = _write(tmp_path / "third.jsonl", 2.0)
    fewer = differences(benchmark_files(truth, [good, bad]))
    more = differences(benchmark_files(truth, [good, bad, third]))

    one = next(d for d in fewer if (d.name, d.metric) == ("bad", "accuracy"))
    same = next(d for d in more if (d.name, d.metric) == ("bad", "accuracy"))

    assert same.found == one.found
    assert same.p_value >= one.p_value


def test_equal_files_are_one_run(truth: Path, good: Path) -> None:
    """Its kind is zelo; other settings are another run."""
    (found,) = benchmark_files(truth, [good])
    settings = RankingSettings()

    one, same = (as_run(found, truth, good, settings) for _ in range(2))
    other = as_run(found, truth, good, RankingSettings(k=3))

    assert one.kind == "zelo"
    assert one.id == same.id != other.id


def test_a_run_has_a_record_for_each_query(truth: Path, good: Path) -> None:
    """With its numbers as properties, and the means as metrics."""
    (found,) = benchmark_files(truth, [good])

    records, metrics = list(as_records(found)), list(as_metrics(found))

    assert len(records) == 20
    assert records[0].scores["recall_10"] == found.values["recall@10"][0]
    assert {metric.name for metric in metrics} == set(found.values)
    assert all(metric.n == 20 for metric in metrics)


def test_what_is_not_defined_is_left_out(tmp_path: Path) -> None:
    """One document has no pairs, so no accuracy; the mean is of none."""
    item = AnnotatedQueryDocuments(
        query=Query(id="q", query="?"),
        documents=(AnnotatedDocument(id="d", content="text", score=0.0),),
    )
    write_annotated(tmp_path / "one.jsonl", [item])

    (found,) = benchmark_files(tmp_path / "one.jsonl", [tmp_path / "one.jsonl"])

    assert found.means["accuracy"] is None
    assert found.means["RR"] is None
    assert "accuracy" not in next(as_records(found)).scores


def test_the_same_file_twice_is_refused(truth: Path, good: Path) -> None:
    """Files of one name in two folders are not the same."""
    with pytest.raises(InputError, match="twice"):
        benchmark_files(truth, [good, good])


def test_the_command_shows_tables(
    truth: Path, good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both rankings, and the difference of the second."""
    code = _run(truth, good, bad)

    out = capsys.readouterr().out
    assert code == 0
    assert "Less good" in out
    assert "5 of the truth missing" in out
    assert "true scores above 0" in " ".join(out.split())


def test_the_command_writes_json(
    truth: Path, good: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers of every query are there."""
    code = _run(truth, good, bad, "--json", "--k", "3")

    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(data["rankings"][0]["queries"]["q0"]) == {
        "ndcg", "accuracy", "recall@3", "nDCG@3", "RR", "R@3",
    }  # fmt: skip
    assert {row["name"] for row in data["differences"]} == {"bad"}


def test_the_command_writes_a_report_and_a_histogram(
    truth: Path, good: Path, bad: Path, tmp_path: Path
) -> None:
    """One page without script or address, one picture."""
    report, picture = tmp_path / "report.html", tmp_path / "ndcg.png"

    code = _run(truth, good, bad, "--report", report, "--histogram", picture)

    page = report.read_text("utf-8")
    assert code == 0
    assert page.count('src="data:image/svg+xml;base64,') == 1
    assert "true scores above 0" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--k", "0"), "'--k': 0 is not"),
        (("--document-limit", "-1"), "'--document-limit': -1 is not"),
        (("--report", "report.txt"), ".html"),
        (("nowhere.jsonl",), "nowhere.jsonl"),
    ],
)
def test_mistakes_are_the_users(
    truth: Path,
    good: Path,
    words: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line says what is wrong."""
    code = _run(truth, good, *words)

    assert code == 2
    assert said in capsys.readouterr().err


def test_unjudged_documents_are_an_error_or_passed_over(
    truth: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the document; the option counts what it passes over."""
    wide = _write(tmp_path / "wide.jsonl", 0.1, more=2)

    refused = _run(truth, wide)
    error = capsys.readouterr().err
    passed = _run(truth, wide, "--skip-unjudged")

    assert (refused, passed) == (2, 0)
    assert "Document 'd10' of query 'q0'" in error
    assert "40 documents not judged" in capsys.readouterr().out
