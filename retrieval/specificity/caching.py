"""Scores kept for a while, so that a source that is slow is asked seldom."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrieval.specificity.lookup import ScoreSource

__all__ = ["CachedScores"]

SECONDS = 300.0


class CachedScores:
    """A source of scores that remembers them.

    Safe under threads: values are asked for outside the lock, and one that was asked
    for before an `invalidate` is not kept after it.
    """

    def __init__(
        self,
        source: ScoreSource,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a source.

        Args:
            source: What is asked where nothing fresh is known.
            seconds: How long scores are fresh; 0 keeps nothing.
            clock: Seconds that never go back.

        Raises:
            InputError: If `seconds` is below 0.
        """
        if not seconds >= 0:
            msg = f"seconds is {seconds}: give 0 or more."
            raise InputError(msg)
        self._source = source
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, float]]] = {}
        self._round = 0

    def get_all_scores(self, context_template: str = "general") -> dict[str, float]:
        """Return the score of every class, by name; the caller may change it."""
        with self._lock:
            kept = self._kept.get(context_template)
            begun = self._round
            if kept is not None and self._clock() - kept[0] < self._seconds:
                return dict(kept[1])
        scores = self._source.get_all_scores(context_template)
        with self._lock:
            if begun == self._round:
                self._kept[context_template] = (self._clock(), dict(scores))
        return dict(scores)

    def invalidate(self, context_template: str | None = None) -> None:
        """Forget the scores of a context template with their age; None forgets all."""
        with self._lock:
            self._round += 1
            if context_template is None:
                self._kept.clear()
            else:
                self._kept.pop(context_template, None)
