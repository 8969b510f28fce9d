"""What judges said, read back, looked at and drawn."""

from __future__ import annotations

import json
import math
import re
import sys
import tracemalloc
from base64 import b64decode
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

from knowtrail.eval.zelo.annotation import annotate
from knowtrail.eval.zelo.inspection import inspected
from knowtrail.eval.zelo.judges import FunctionJudge
from knowtrail.eval.zelo.metrics import Benchmark
from knowtrail.eval.zelo.pages import (
    battles_page,
    battles_picture,
    bin_counts,
    histogram_picture,
)
from knowtrail.eval.zelo.pairs import PairSettings
from knowtrail.eval.zelo.scored_pairs import PairFile, one_judged, read_judged
from knowtrail.graph.cli.root import main
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.retrieval.rerank.datasets import (
    Document,
    Query,
    QueryDocuments,
    write_queries,
)

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.zelo.scored_pairs import JudgedQuery

HOSTILE = "</title><script>alert(1)</script> & <b>bold</b> \x00 $\\frac{1}{0}$"
WORTH = {"d0": 1.0, "d1": 3.0, "d2": 0.0, "d3": 2.0}


def _pair(left: str, right: str, **said: Any) -> dict[str, Any]:
    """Return a scored pair of a query."""
    pair: dict[str, Any] = {
        "pair_id": f"q-{left}-{right}",
        "query_id": "q",
        "query": f"Why? {HOSTILE}",
        "document_a": {"document_id": left, "content": left * 3, "metadata": {}},
        "document_b": {"document_id": right, "content": HOSTILE, "metadata": {}},
    }
    return {"pair": pair, **said}


def _said(score: float | None, thought: str = "because") -> dict[str, Any]:
    """Return what a judge said."""
    return {"thought": thought, "score": score}


PAIRS = [
    _pair("a", "b", one_score=_said(-0.5), two_score=_said(0.5, "(SWAPPED)\nno")),
    _pair("b", "c", one_score=_said(-1.0, HOSTILE), two_score=_said(None)),
    _pair("a", "b", one_score=_said(-0.25)),
    _pair("c", "a", one_score=_said(0.75), two_score=_said(7.0)),
]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Return a file of scored pairs, as other programs write it."""
    path = tmp_path / "ai_scores.json"
    path.write_text(json.dumps({"scored_pairs": PAIRS}, indent=4), "utf-8")
    return path


@pytest.fixture
def annotation(tmp_path: Path) -> Path:
    """Return an annotated file of two queries, beside its working folder."""
    documents = tuple(Document(id=name, content=f"Text of {name}.") for name in WORTH)
    queries = [
        QueryDocuments(query=Query(id=name, query=f"Query {name}"), documents=documents)
        for name in ("q0", "q1")
    ]
    write_queries(tmp_path / "queries.jsonl", queries)
    judges = [
        FunctionJudge(name, lambda _, a, b: math.tanh(WORTH[b.id] - WORTH[a.id]))
        for name in ("one", "two")
    ]
    target = tmp_path / "annotated.jsonl"
    pairs = PairSettings(mode="dense", document_threshold=3)
    annotate(tmp_path / "queries.jsonl", target, judges=judges, pairs=pairs)
    return target


def _judged(scored: Path) -> JudgedQuery:
    """Return the one judged query of the file."""
    return one_judged(scored, None, None)


def test_scored_pairs_become_battles(scored: Path) -> None:
    """A pair that comes again is another battle; what is out of range is missing."""
    judged = _judged(scored)

    battles = judged.battles()

    assert judged.judges == ("one", "two")
    assert [document.id for document in judged.documents] == ["a", "b", "c"]
    assert battles.left.tolist() == [0, 0, 1, 2]
    assert np.array_equal(
        battles.score,
        [[-0.5, 0.5], [-0.25, np.nan], [-1.0, np.nan], [0.75, np.nan]],
        equal_nan=True,
    )
    assert [one.swapped for one in judged.judgements[:2]] == [False, True]


def test_documents_come_in_the_order_of_their_file(
    scored: Path, tmp_path: Path
) -> None:
    """With those that were not judged."""
    documents = tuple(Document(id=name, content=name) for name in "dcba")
    query = QueryDocuments(query=Query(id="q", query="?"), documents=documents)
    write_queries(tmp_path / "queries.jsonl", [query])

    judged = one_judged(scored, "q", tmp_path / "queries.jsonl")

    assert [document.id for document in judged.documents] == ["d", "c", "b", "a"]
    assert inspected(judged).fit.degree.tolist() == [0, 2, 3, 3]


def test_an_annotation_is_read_by_each_of_its_names(annotation: Path) -> None:
    """The annotated file, its working folder, the file in it."""
    folder = annotation.with_name("annotated.jsonl.zelo")

    found = [
        read_judged(path, query_id="q1")
        for path in (annotation, folder, folder / "ai_scores.json")
    ]

    assert found[0] == found[1] == found[2]
    assert [document.id for document in found[0][0].documents] == list(WORTH)


def test_scores_are_those_of_the_annotation(annotation: Path) -> None:
    """The document that was not judged has none."""
    one = inspected(one_judged(annotation, "q0", None))

    written = json.loads(annotation.read_text("utf-8").splitlines()[0])["documents"]
    assert one.scores[:3].tolist() == [row["score"] for row in written]
    assert np.isnan(one.scores[3])
    assert [one.document(number).id for number in one.order()] == [
        "d1", "d0", "d2", "d3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "no JSON"),
        (
            '{"scored_pairs": [\n{"pair": "\udcff"}\n]}\n',
            "is not UTF-8 text: invalid start",
        ),
        (
            '{"scored_pairs": [\n{"pair": "\udced\udca0\udc80"}\n]}\n',
            "is not UTF-8 text: invalid continuation",
        ),
        ("[]", "scored_pairs"),
        ('{"scored_pairs": [3]}', "json has no list scored_pairs"),
        ('{"scored_pairs": [\n3\n]}\n', "json has no list scored_pairs"),
        ('{"scored_pairs": [\n', "no JSON: it ends before its list does"),
        ('{"scored_pairs": [\n{"pair":', "no JSON"),
        ('{"scored_pairs": [{"pair": {"query_id": 1}}]}', "scored pair 0"),
    ],
)
def test_a_bad_file_is_refused(content: str, said: str, tmp_path: Path) -> None:
    """The message says what is wrong and where."""
    path = tmp_path / "ai_scores.json"
    path.write_text(content, "utf-8", errors="surrogateescape")

    with pytest.raises(SourceError, match=said):
        read_judged(path)


def test_one_query_of_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    """Only its own pairs are kept, and no more than one other at a time."""
    path = tmp_path / "ai_scores.json"
    with path.open("w", encoding="utf-8") as file:
        written = PairFile(file, "scored_pairs")
        for number in range(200):
            row = _pair("a", "b" * 50_000, one_score=_said(0.5))
            row["pair"]["query_id"] = f"q{number}"
            written.add(row)
        written.end()

    tracemalloc.start()
    (found,) = read_judged(path, query_id="q7")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found.judgements) == 1
    assert peak < path.stat().st_size / 4


def test_a_query_must_be_named_where_there_are_several(annotation: Path) -> None:
    """And it must be there."""
    with pytest.raises(InputError, match=r"2 queries: name one of 'q0', 'q1'"):
        one_judged(annotation, None, None)
    with pytest.raises(InputError, match="No query 'q9'"):
        one_judged(annotation, "q9", None)


def test_battles_are_told_from_the_side_of_a_document(scored: Path) -> None:
    """Scores are turned round where it stood on the left, best opponents first."""
    one = inspected(_judged(scored))

    fought = one.fought(0)

    assert [(one.document(f.other).id, f.share) for f in fought] == [
        ("b", pytest.approx(2 / 3)),
        ("c", 1.0),
    ]
    assert [(s.judge, s.score) for s in fought[0].said] == [
        ("one", 0.5),
        ("two", -0.5),
        ("one", 0.25),
    ]


def test_a_share_is_of_all_votes(scored: Path) -> None:
    """Of the row against the column; NaN where they did not meet, and for itself."""
    shares = inspected(_judged(scored)).shares()

    assert shares[0, 1] == pytest.approx(2 / 3)
    assert shares[1, 0] == pytest.approx(1 / 3)
    assert np.isnan(np.diag(shares)).all()


def test_a_cell_is_coloured_as_its_battle_is_told(tmp_path: Path) -> None:
    """A sure judge and an unsure one that disagree leave two documents even."""
    path = tmp_path / "ai_scores.json"
    rows = [_pair("a", "b", one_score=_said(-0.9), two_score=_said(0.1))]
    path.write_text(json.dumps({"scored_pairs": rows}), "utf-8")
    one = inspected(_judged(path))

    shares = one.shares()

    assert shares[0, 1] == shares[1, 0] == one.fought(0)[0].share == 0.5
    assert [battle.verdict for battle in one.fought(0)] == ["even with"]


def test_names_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    """In both matrices and beside scores."""
    path = tmp_path / "ai_scores.json"
    names = [f"https://example.org/documents/{number}" for number in (1, 2)]
    rows = [_pair(*names, one_score=_said(-0.9))]
    path.write_text(json.dumps({"scored_pairs": rows}), "utf-8")

    drawn = battles_picture(inspected(_judged(path)), ".svg").decode()

    labels = re.findall(r">([^<>]*/[12])</text>", drawn)
    assert len(set(labels)) == 2
    assert len(labels) == 2 * (2 + 2 + 1)


def test_a_judge_that_prefers_what_it_sees_first_is_found(tmp_path: Path) -> None:
    """Swaps tell it from one that prefers the left document."""
    documents = tuple(Document(id=f"d{n}", content=f"Text {n}.") for n in range(12))
    query = QueryDocuments(query=Query(id="q", query="?"), documents=documents)
    write_queries(tmp_path / "queries.jsonl", [query])
    judge = FunctionJudge("first", lambda *_: -1.0)
    annotate(tmp_path / "queries.jsonl", tmp_path / "a.jsonl", judges=[judge])

    one = inspected(one_judged(tmp_path / "a.jsonl", None, None))

    assert one.first == (1.0,)
    assert 0.2 < one.judges[0].left < 0.8


def test_the_page_is_whole_and_cannot_be_broken_out_of(scored: Path) -> None:
    """Every battle and reasoning is there, escaped; nothing is loaded."""
    page = battles_page(inspected(_judged(scored)))

    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4
    assert "default-src 'none'" in page
    drawn = re.findall(
        r'<img alt="[^"]+" src="data:image/svg\+xml;base64,(.+?)">', page
    )
    assert len(drawn) == len(re.findall(r"(?:src|href|url)\s*[=(]", page)) == 1
    assert b64decode(drawn[0]) == battles_picture(inspected(_judged(scored)), ".svg")
    assert len(re.findall(r"(?:won over|lost to|even with)</b>", page)) == 6


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_picture_has_the_same_bytes_again(scored: Path, suffix: str) -> None:
    """No time, no random names."""
    one = inspected(_judged(scored))

    first, second = battles_picture(one, suffix), battles_picture(one, suffix)

    assert first == second


def test_the_svg_is_xml_with_the_names_of_the_documents(annotation: Path) -> None:
    """Text stays text, also that of the document without a score."""
    one = inspected(one_judged(annotation, "q0", None))

    root = ElementTree.fromstring(battles_picture(one, ".svg"))  # noqa: S314 - ours

    texts = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"d0", "d1", "d2", "d3", "not judged", "zELO order"} <= texts


def test_a_page_without_matplotlib_says_what_to_install(
    scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The battles and the tables are there all the same."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    page = battles_page(inspected(_judged(scored)))

    assert "needs the extra `view`" in page
    assert "<img" not in page
    assert len(re.findall(r"(?:won over|lost to|even with)</b>", page)) == 6


def test_a_histogram_counts_what_is_defined() -> None:
    """NaN is left out, 1 is in the last bin."""
    counts = bin_counts([1.0, 1.0, 0.0, float("nan")])

    assert counts == [1, *[0] * 28, 2]


def test_histograms_side_by_side_share_an_axis() -> None:
    """A bar of one query is as high in each."""
    found = [
        Benchmark(
            name=name,
            queries=("q",) * count,
            values={"ndcg": (1.0,) * count},
            means={"ndcg": None},
        )
        for name, count in (("one", 1), ("four", 4))
    ]

    drawn = histogram_picture("truth", found, ".svg").decode()

    _, one, four = re.split(r'<g id="axes_\d+">', drawn)
    ticks = [re.findall(r">(\d)</text>", side) for side in (one, four)]
    assert ticks[0] == ticks[1] != []


def _run(*words: str | Path) -> int:
    """Run a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_inspect_lists_queries(
    annotation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there are several and none is named."""
    code = _run("eval", "zelo", "inspect", annotation)

    out = capsys.readouterr().out
    assert code == 0
    assert "q0" in out
    assert "q1" in out


def test_inspect_shows_a_query(
    annotation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents, judges, and how they agree."""
    code = _run("eval", "zelo", "inspect", annotation, "--query", "q0")

    out = capsys.readouterr().out
    assert code == 0
    assert "4 documents, 3 battles, 2 judges; all judged documents are" in out
    assert "1 not judged" in out
    assert "Kendall's W 1.00" in out


def test_inspect_shows_the_battles_of_a_document(
    annotation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON, from its side."""
    code = _run(
        "eval", "zelo", "inspect", annotation, "--query", "q0", "--document", "d1",
        "--json",
    )  # fmt: skip

    (document,) = json.loads(capsys.readouterr().out)["ranking"]
    assert code == 0
    assert document["document"] == "d1"
    assert [battle["share"] for battle in document["battles"]] == [1.0, 1.0]


def test_inspect_refuses_a_document_that_is_not_there(
    annotation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names some that are."""
    code = _run(
        "eval", "zelo", "inspect", annotation, "--query", "q0", "--document", "x"
    )

    assert code == 2
    assert "'d0'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg"])
def test_view_battles_writes_a_file(
    annotation: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the kind that its name says; the path is told."""
    output = annotation.with_name(f"battles{suffix}")

    code = _run("view", "battles", annotation, "--query", "q0", "-o", output)

    assert code == 0
    assert capsys.readouterr().out.strip() == str(output)
    assert output.stat().st_size > 2_000
