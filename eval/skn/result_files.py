"""The result files of a benchmark, each written whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eval.records import sendable
from eval.skn.summary import summary_text
from graph.errors import StorageError
from retrieval.views.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eval.skn.model_run import ModelOutcome
    from eval.skn.samples import Sample
    from eval.skn.searching import Found

__all__ = ["ResultFiles"]


class ResultFiles:
    """Writes the files of one model's run.

    Attributes:
        folder: Where they go.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder where it is missing.

        Args:
            folder: Where the files go.

        Raises:
            StorageError: If it cannot be made.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"Cannot make the folder {folder}: {error.strerror}."
            raise StorageError(msg) from error

    def _write(self, name: str, value: Any) -> None:
        """Write a file of JSON."""
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
        write_file(self.folder / name, sendable(text) + "\n")

    def search_results(self, samples: Sequence[Sample], found: Sequence[Found]) -> None:
        """Write what was found; the file can be given to another run.

        Args:
            samples: The samples.
            found: Their search results.

        Raises:
            StorageError: If it cannot be written.
        """
        self._write(
            "search_results.json",
            [
                {
                    "id": sample.id,
                    "question": sample.question,
                    "raw_text": one.raw_text,
                    "raw_text_chars": len(one.raw_text),
                }
                for sample, one in zip(samples, found, strict=True)
            ],
        )

    def extractions(
        self, rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
    ) -> None:
        """Write the extractions; takes rows and formats.

        Args:
            rows: Rows with a context for each format.
            pipelines: The formats.

        Raises:
            StorageError: If it cannot be written.
        """
        entries = []
        for row in rows:
            entry: dict[str, Any] = {"id": row["id"]}
            for v in pipelines:
                entry[f"{v}_extraction"] = row[f"{v}_context"]
                entry[f"{v}_tokens_est"] = row[f"{v}_tokens_est"]
                entry[f"{v}_status"] = row[f"{v}_extraction_status"]
                entry[f"{v}_repairs"] = row[f"{v}_extraction_repairs"] or []
                if row[f"{v}_extraction_error"]:
                    entry[f"{v}_error"] = row[f"{v}_extraction_error"]
                    entry[f"{v}_raw"] = row[f"{v}_extraction_raw"]
            entries.append(entry)
        self._write("extractions.json", entries)

    def agent_responses(
        self, rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
    ) -> None:
        """Write the answers; takes rows and formats.

        Args:
            rows: Rows with an answer for each format.
            pipelines: The formats.

        Raises:
            StorageError: If it cannot be written.
        """
        fields = ("answer", "confidence", "reasoning")
        self._write(
            "agent_responses.json",
            [
                {"id": row["id"], "question": row["question"]}
                | {
                    f"{v}_response": {name: row[f"{v}_{name}"] for name in fields}
                    for v in pipelines
                }
                for row in rows
            ],
        )

    def evaluation(self, outcome: ModelOutcome) -> None:
        """Write detailed results, metrics, comparisons and the summary.

        Args:
            outcome: What the run gave.

        Raises:
            StorageError: If one cannot be written.
        """
        self._write("detailed_results.json", list(outcome.rows))
        self._write("metrics.json", outcome.metrics)
        self._write("comparisons.json", [one.as_dict() for one in outcome.differences])
        write_file(self.folder / "summary.txt", summary_text(outcome))
