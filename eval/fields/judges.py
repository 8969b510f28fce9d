"""Fields whose meaning counts: equal ones at once, the rest by a language model."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from knowtrail.eval.fields.comparators import BatchItem, ComparatorResult, same
from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.models import TEXTS, as_model, parse_json_reply
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import private_folder
from knowtrail.graph.models.language_models import load_language_model
from knowtrail.graph.models.prompts import estimated_tokens, marked
from knowtrail.graph.models.requests import object_form
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.eval.models import ModelLike

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """One pair of values for a judge, after the transforms, with its path."""

    path: str
    gold: Any
    extracted: Any


class Judge(Protocol):
    """Says of pairs of values whether they mean the same."""

    def judge_batch(self, items: list[JudgeItem]) -> Sequence[float | None]:
        """Return 1, 0, or None for no verdict, one an item and in order."""
        ...


class SemanticBatchComparator:
    """Scores free text by meaning; register an instance, as "semantic" for example.

    Values that are equal and of one type cost no judgement. All others of a record go
    to the judge together. What the judge does not answer is a batch error of that field
    alone, never a score.
    """

    is_batch = True
    problem = ""
    """Why the last call has no verdict for some fields; empty where nobody knows."""

    def __init__(self, judge: Judge, name: str = "semantic") -> None:
        """Keep a judge, such as `ModelJudge`, and what results say made them."""
        self.judge = judge
        self.name = name

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Score the fields of one record."""
        self.problem = ""
        results: list[ComparatorResult | None] = [None] * len(items)
        open_places: list[int] = []
        for index, item in enumerate(items):
            if same(item.gold_compared, item.extracted_compared):
                results[index] = ComparatorResult(1.0, self.name, "exact")
            else:
                open_places.append(index)
        if not open_places:
            return results
        verdicts = self._verdicts([items[index] for index in open_places])
        for index, verdict in zip(open_places, verdicts, strict=False):
            results[index] = self._result(verdict)
        return results

    def _verdicts(self, items: list[BatchItem]) -> list[Any]:
        asked = [
            JudgeItem(item.path, item.gold_compared, item.extracted_compared)
            for item in items
        ]
        try:
            verdicts = self.judge.judge_batch(asked)
        except Exception as error:  # the equal ones of the record are kept
            _LOG.warning("The judge failed for %d fields: %s", len(asked), error)
            self.problem = f"the judge failed: {error}"
            return []
        if not isinstance(verdicts, list | tuple):
            _LOG.warning("The judge gave %s, no list.", type(verdicts).__name__)
            self.problem = f"the judge gave {type(verdicts).__name__}, no list"
            return []
        return list(verdicts)

    def _result(self, verdict: Any) -> ComparatorResult | None:
        if not isinstance(verdict, int | float) or not math.isfinite(verdict):
            return None
        reason = "judge match" if verdict >= 1 else "judge mismatch"
        return ComparatorResult(float(verdict), self.name, reason)


class FakeJudge:
    """A judge for tests and examples, which asks nobody."""

    def __init__(
        self,
        responses: Mapping[tuple[str, str], float | None] | None = None,
        default_score: float | None = None,
    ) -> None:
        """Keep the verdicts by the texts of gold and extracted value.

        Without a `default_score`, other pairs are compared without case and outer white
        space.
        """
        self.responses = dict(responses or {})
        self.default_score = default_score
        self.calls: list[list[JudgeItem]] = []

    def judge_batch(self, items: list[JudgeItem]) -> list[float | None]:
        """Return the verdicts that were given for such pairs."""
        self.calls.append(list(items))
        return [self._verdict(str(item.gold), str(item.extracted)) for item in items]

    def _verdict(self, gold: str, extracted: str) -> float | None:
        if (gold, extracted) in self.responses:
            return self.responses[gold, extracted]
        if self.default_score is not None:
            return self.default_score
        return float(gold.strip().lower() == extracted.strip().lower())


ITEMS_PER_CALL = 100
DEFAULT_PROMPT_TEMPLATE: str = TEXTS["fields"]["template"]
_VERDICTS = {"0": 0.0, "0.0": 0.0, "false": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0}


class JudgementFile:
    """Verdicts by what was asked, in one file that several processes may share.

    A file that cannot be read or written costs judgements, not results: it is warned
    about and done without.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, keys: list[str]) -> dict[str, float]:
        """Return the verdicts that are known."""
        if not self.path.exists():
            return {}
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as connection:
                rows = connection.execute(
                    "SELECT key, verdict FROM judgement "
                    "WHERE key IN (SELECT value FROM json_each(?))",
                    (json.dumps(keys),),
                )
                return {key: float(verdict) for key, verdict in rows}
        except sqlite3.Error as error:
            _LOG.warning("Judgements cannot be read from %s: %s.", self.path, error)
            return {}

    def write(self, verdicts: dict[str, float]) -> None:
        """Keep verdicts."""
        try:
            if not self.path.parent.exists():
                private_folder(self.path.parent)
            self.path.touch(mode=0o600)
            with (
                closing(sqlite3.connect(self.path, timeout=10)) as connection,
                connection,
            ):
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS judgement "
                    "(key TEXT PRIMARY KEY, verdict INTEGER NOT NULL)"
                )
                connection.executemany(
                    "INSERT OR REPLACE INTO judgement VALUES (?, ?)",
                    [(key, int(verdict)) for key, verdict in verdicts.items()],
                )
        except (sqlite3.Error, OSError) as error:
            _LOG.warning("Judgements cannot be kept in %s: %s.", self.path, error)


class ModelJudge:
    """Asks a language model about all pairs of a record in one call.

    A pair that was judged before, by the same model and prompt, is not asked again: the
    field's name counts without the indices of array elements. Only verdicts of 0 and 1
    are kept. A record that does not fit the model is asked about in parts. An answer
    that is late, no JSON, or has not one verdict a pair gives None for its pairs.
    """

    def __init__(
        self,
        model: ModelLike | None = None,
        *,
        prompt_template: str | None = None,
        cache_file: Path | None = None,
        cache: bool = True,
        seconds: float = 60.0,
    ) -> None:
        """Choose the model, None for that of the settings; it is asked nothing yet.

        The prompt has `{pairs}` where the pairs belong, and other braces doubled.
        Without `cache_file` verdicts are kept in the home folder.
        """
        self._template = prompt_template or DEFAULT_PROMPT_TEMPLATE
        _check_template(self._template)
        self.model = load_language_model() if model is None else as_model(model)
        self._seconds = seconds
        self._file: JudgementFile | None = None
        if cache:
            path = cache_file or Settings.from_env().home / "judgements.sqlite"
            self._file = JudgementFile(Path(path))

    def judge_batch(self, items: list[JudgeItem]) -> list[float | None]:
        """Return 1, 0 or None for every pair."""
        keys = [self._key(item) for item in items]
        known = self._file.read(list(dict.fromkeys(keys))) if self._file else {}
        asked = {
            key: item for key, item in zip(keys, items, strict=True) if key not in known
        }
        verdicts = self._asked(list(asked.values())) if asked else []
        new = {
            key: verdict
            for key, verdict in zip(asked, verdicts, strict=True)
            if verdict is not None
        }
        if new and self._file:
            self._file.write(new)
        known.update(new)
        return [known.get(key) for key in keys]

    def _key(self, item: JudgeItem) -> str:
        values = _rendered(item.gold), _rendered(item.extracted)
        parts = [self.model.name, self._template, schema_path(item.path), *values]
        text = json.dumps(parts).encode()
        return hashlib.blake2b(text, digest_size=20).hexdigest()

    def _asked(self, items: list[JudgeItem]) -> list[float | None]:
        """Return the model's verdicts, in parts where the pairs are too many."""
        prompt = self._prompt(items)
        limit = self.model.prompt_tokens
        too_long = limit is not None and estimated_tokens(prompt) > limit
        if len(items) > 1 and (too_long or len(items) > ITEMS_PER_CALL):
            half = len(items) // 2
            return self._asked(items[:half]) + self._asked(items[half:])
        reply = self.model.reply(
            prompt, schema=_reply_schema(len(items)), seconds=self._seconds
        )
        verdicts = None if reply.error else _verdicts(reply.text)
        if verdicts is None or len(verdicts) != len(items):
            problem = reply.error or f"it answered {reply.text[:200]!r}"
            _LOG.warning(
                "No verdict of %s on %d pairs: %s", self.model.name, len(items), problem
            )
            return [None] * len(items)
        return verdicts

    def _prompt(self, items: list[JudgeItem]) -> str:
        lines = [
            f"{number}. field: {schema_path(item.path) or 'value'}\n"
            f"   gold: {_rendered(item.gold)}\n"
            f"   extracted: {_rendered(item.extracted)}"
            for number, item in enumerate(items, start=1)
        ]
        _, pairs = marked("pairs", "\n".join(lines))
        return self._template.format(pairs=pairs)


def _check_template(template: str) -> None:
    try:
        if "\0" in template.format(pairs="\0"):
            return
        problem = "it has no {pairs}"
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        problem = f"{error!r}; double the braces that are not {{pairs}}"
    msg = f"The prompt template must have '{{pairs}}' and no other field: {problem}."
    raise InputError(msg)


def _rendered(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _reply_schema(count: int) -> dict[str, Any]:
    verdict = {"type": "integer", "enum": [0, 1]}
    sizes = {"minItems": count, "maxItems": count}
    return object_form(results={"type": "array", "items": verdict, **sizes})


def _verdicts(text: str) -> list[float | None] | None:
    """Return the verdicts of an answer; None where it is not of the form asked for."""
    try:
        answer = parse_json_reply(text)
    except InputError:
        return None
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        return None
    return [_VERDICTS.get(str(entry).strip().lower()) for entry in results]
