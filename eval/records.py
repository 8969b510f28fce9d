"""What the result store keeps: runs, records, fields and metrics of an evaluation."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.statistics import Interval

__all__ = [
    "LONGEST_TEXT",
    "EvalRecord",
    "EvalRun",
    "Metric",
    "StoreLevel",
    "StoredField",
    "StoredRun",
    "sendable",
    "value_text",
]

StoreLevel = Literal["all", "failures", "none"]
"""Which fields are stored: all, those that are no match, or no run at all."""

LONGEST_TEXT = 10_000
"""Characters that are kept of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """An evaluation that is to be stored.

    Attributes:
        kind: What was evaluated: `fields`, `retrieval`, ...
        dataset: What it was evaluated on.
        configuration: How; nested values are stored as JSON.
        commit: Version of the code that was evaluated.
        key: What else tells this run from others, such as digests of its inputs; the
            same kind, dataset, configuration, commit and key are the same run.
        created: When it was made; not a part of the id.
    """

    kind: str
    dataset: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    commit: str = ""
    key: str = ""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def id(self) -> str:
        """Return the id of the run."""
        return content_key(
            "evalrun",
            self.kind,
            self.dataset,
            json.dumps(dict(self.configuration), sort_keys=True, default=str),
            self.commit,
            self.key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One measured number of a run or of a record.

    Attributes:
        name: Such as `f1`.
        value: The number.
        path: The field it is about; empty for the whole.
        low: Lower end of its interval, or None.
        high: Upper end, or None.
        n: How many records or fields it is made of.
        counts: Further numbers, stored as properties beside it.
    """

    name: str
    value: float
    path: str = ""
    low: float | None = None
    high: float | None = None
    n: int = 0
    counts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, interval: Interval, *, path: str = "") -> Metric:
        """Return the metric that an interval is about; NaN ends are left out."""
        low, high = interval.low, interval.high
        return cls(
            name=name,
            value=interval.value,
            path=path,
            low=low if low == low else None,
            high=high if high == high else None,
            n=interval.n,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredField:
    """The result of one field.

    Attributes:
        path: Where in the record.
        schema_path: The path without positions in arrays.
        status: Such as `match`, `mismatch`, `omission`, `hallucination`.
        score: From 0 to 1.
        gold: What is right, any JSON value.
        extracted: What was found, any JSON value.
        comparator: What compared them.
        reason: Why they differ.
    """

    path: str
    schema_path: str
    status: str
    score: float
    gold: Any = None
    extracted: Any = None
    comparator: str = ""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRecord:
    """The results of one record.

    Attributes:
        record_id: Its id in the data set.
        scores: Numbers of the whole record, and texts or lists of them that tell what
            it is about; stored as properties.
        fields: Results of its fields.
        metrics: Metrics of the record that are to be nodes of their own.
        judges: Ids of the Extractions or Traversals that it judges.
    """

    record_id: str | int
    scores: Mapping[str, float | str | Sequence[str]] = field(default_factory=dict)
    fields: Sequence[StoredField] = ()
    metrics: Sequence[Metric] = ()
    judges: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run that is in the database.

    Attributes:
        id: Its id.
        kind: What was evaluated.
        dataset: On what.
        status: `writing`, `complete`, `failed` or `deleting`.
        written: How many records are stored whole.
        created: When it was made.
    """

    id: str
    kind: str
    dataset: str
    status: str
    written: int
    created: datetime


def value_text(value: Any) -> str:
    """Return a value as it is stored: JSON, cut after `LONGEST_TEXT` characters.

    What JSON cannot say is written as text; nothing here raises.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        text = json.dumps(str(value), ensure_ascii=False)
    except RecursionError:
        text = '"(nested too deep to be shown)"'
    text = sendable(text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"


def sendable(text: str) -> str:
    """Return a text that UTF-8 can hold: half surrogate pairs are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
