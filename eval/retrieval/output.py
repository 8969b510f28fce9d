"""What an evaluation says, as plain data and as lines for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eval.retrieval.evaluation import Evaluation, Part
    from eval.retrieval.summary import Difference, SystemSummary
    from eval.statistics import Interval

__all__ = [
    "TITLES",
    "as_dict",
    "facts_of",
    "lines",
    "main_k",
    "per_cent",
    "rankings_of",
    "table_facts",
]

_DIGITS = 6
_IDS = 20

TITLES = {
    "all": "All questions",
    "dev": "Development half",
    "test": "Test half",
}
"""Part of the questions -> what it is called."""


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON values; means are from 0 to 1.

    Args:
        evaluation: What came out.
    """
    whole, *rest = evaluation.parts
    dataset = evaluation.dataset
    return {
        "systems": _systems(whole),
        "n": whole.n,
        "seed": evaluation.options.seed,
        "corpus": evaluation.corpus,
        "embedder": evaluation.embedder,
        "commit": evaluation.commit,
        "unit": str(evaluation.options.unit),
        "dataset": {
            "name": dataset.name,
            "kind": dataset.kind,
            "passages": len(dataset.passages),
            "questions": len(dataset.questions),
            "checksum": dataset.checksum,
            "files": [
                {"name": file.name, "bytes": file.size, "checksum": file.checksum}
                for file in dataset.files
            ],
            "problems": [
                {"kind": each.kind, "id": each.id, "message": each.message}
                for each in dataset.problems
            ],
        },
        "differences": [_difference(each) for each in whole.differences],
        "halves": {
            part.name: {
                "n": part.n,
                "systems": _systems(part),
                "differences": [_difference(each) for each in part.differences],
            }
            for part in rest
        },
        "notes": list(evaluation.notes),
        "facts": dict(evaluation.facts),
        "runs": dict(evaluation.runs),
    }


def _systems(part: Part) -> dict[str, dict[str, Any]]:
    """Return the systems of a part by name."""
    return {system.name: _system(system) for system in part.systems}


def _system(system: SystemSummary) -> dict[str, Any]:
    """Return the means of a system."""
    found: dict[str, Any] = {
        name: _interval(each) | ({"n": each.n} if each.n != system.n else {})
        for name, each in system.measures.items()
    }
    found["milliseconds"] = {
        name: _interval(each, "value") for name, each in system.latency.items()
    }
    found |= {name: _interval(each) for name, each in system.quantities.items()}
    found |= {"n": system.n, "empty": system.empty, "filled": round(system.filled, 6)}
    return found


def _interval(found: Interval, name: str = "mean") -> dict[str, float | None]:
    """Return a mean with its interval; None where there is nothing to resample."""
    return {
        name: round(found.value, _DIGITS),
        "low": _finite(found.low),
        "high": _finite(found.high),
    }


def _finite(value: float) -> float | None:
    """Return a number, None for NaN."""
    return round(value, _DIGITS) if value == value else None


def _difference(each: Difference) -> dict[str, Any]:
    """Return a difference as plain data."""
    return {
        "system": each.name,
        "base": each.base,
        "measure": each.measure,
        **_interval(each.found.difference),
        "p": round(each.p_value, _DIGITS),
        "n": each.found.n,
    }


def rankings_of(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield what each system found for each question, as JSON values.

    Args:
        evaluation: What came out.
    """
    for result in evaluation.results:
        for question, ranking, values in zip(
            result.questions, result.rankings, result.values, strict=True
        ):
            yield {
                "system": result.name,
                "id": question.id,
                "gold": {
                    name: question.grade(name) for name in question.gold_documents
                },
                "documents": [
                    {"id": each.id, "score": each.score, "filled": each.filled}
                    for each in ranking.documents
                ],
                "measures": {name: round(values[name], _DIGITS) for name in values},
                "milliseconds": round(ranking.milliseconds, 3),
                "traversal": ranking.traversal_id,
                "answer": evaluation.answers.get(result.name, {}).get(question.id),
            }


def facts_of(evaluation: Evaluation) -> dict[str, str]:
    """Return what every table must say, by name."""
    dataset, options = evaluation.dataset, evaluation.options
    return {
        "data set": f"{dataset.name} ({dataset.kind})",
        "questions": str(len(dataset.questions)),
        "passages": str(len(dataset.passages)),
        "unit": str(options.unit),
        "embedder": evaluation.embedder,
        "corpus": evaluation.corpus,
        "reader": str(evaluation.facts.get("reader", options.reader)),
        "seed": str(options.seed),
        "commit": evaluation.commit,
        "checksum": dataset.checksum,
    }


def table_facts(evaluation: Evaluation, n: int) -> str:
    """Return what every table must say, as one sentence.

    Args:
        evaluation: What came out.
        n: How many questions the table is about.
    """
    options = evaluation.options
    return (
        f"n = {n} questions; a chunk is a {options.unit}; seed {options.seed}; "
        f"{evaluation.embedder}; corpus {evaluation.corpus}; commit "
        f"{evaluation.commit}."
    )


def lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield an evaluation for people."""
    for name, value in facts_of(evaluation).items():
        yield f"{name}: {value}"
    yield from _told(evaluation)
    for part in evaluation.parts:
        yield ""
        yield f"{TITLES[part.name]}, n = {part.n}, per cent with 95 % intervals"
        yield from _table(evaluation, part)
    yield ""
    yield "All measures, differences and walks: --report FILE.html, or --json."


def _told(evaluation: Evaluation) -> Iterator[str]:
    """Yield what is wrong with the data set, and notes."""
    problems = evaluation.dataset.problems
    for kind in sorted({problem.kind for problem in problems}):
        found = [problem for problem in problems if problem.kind == kind]
        ids = ", ".join(problem.id for problem in found[:_IDS])
        more = ", ..." if len(found) > _IDS else ""
        yield f"{kind}: {len(found)} ({ids}{more}), such as: {found[0].message}"
    yield from evaluation.notes


def _table(evaluation: Evaluation, part: Part) -> Iterator[str]:
    """Yield the table of a part: the main measures."""
    near = main_k(evaluation)
    shown = (
        *(f"recall@{k}" for k in evaluation.options.ks),
        f"all_recall@{near}",
        "sentence_f1",
        "f1",
        "passed",
    )
    measures = [name for name in shown if name in evaluation.measures]
    width = max(len(system.name) for system in part.systems)
    heads = (f"{_head(part, name):>{_CELL}}" for name in measures)
    yield " ".join([" " * width, *heads, " p50 ms"])
    for system in part.systems:
        cells = [_cell(system.measures, name) for name in measures]
        p50 = system.latency["p50"].value
        yield " ".join([f"{system.name:<{width}}", *cells, f"{p50:7.1f}"])


_CELL = 18


def _head(part: Part, measure: str) -> str:
    """Return a measure with its number of questions, where it has not all of them."""
    counts = {s.measures[measure].n for s in part.systems if measure in s.measures}
    fewer = max(counts, default=part.n)
    return measure if fewer == part.n else f"{measure} n={fewer}"


def main_k(evaluation: Evaluation) -> int:
    """Return the k that is nearest to 5, by which questions are told apart."""
    return min(evaluation.options.ks, key=lambda k: (abs(k - 5), k))


def per_cent(value: float, sign: str = "") -> str:
    """Return a share in per cent with one digit after the point, 5 rounded up.

    Args:
        value: The share; as a difference it may be below 0. NaN is written as `-`.
        sign: `+` writes the sign of a gain too.
    """
    if value != value:
        return "-"
    scaled = math.copysign(math.floor(abs(value) * 1000 + 0.5 + 1e-9) / 10, value)
    return f"{scaled:{sign}.1f}"


def _cell(found: Mapping[str, Interval], name: str) -> str:
    """Return a mean in per cent with its interval."""
    if name not in found:
        return f"{'-':>{_CELL}}"
    each = found[name]
    if each.low != each.low:
        return f"{per_cent(each.value):>{_CELL}}"
    ends = f"[{per_cent(each.low)}, {per_cent(each.high)}]"
    return f"{f'{per_cent(each.value)} {ends}':>{_CELL}}"
