"""The Prometheus metrics of filtering by specificity."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from graph.errors import MissingExtraError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["SpecificityMetrics", "metrics", "metrics_text"]

BUCKETS = (0, 1, 2, 5, 10, 15, 20, 30, 40, 60, 100, 200)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class SpecificityMetrics:
    """Counts what was classified and how many classes a filter left."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Make the metrics.

        Args:
            registry: Where they are registered; None makes a registry for them.

        Raises:
            MissingExtraError: If the extra `templates` is not installed.
        """
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError as error:
            msg = "Metrics need an extra: pip install 'knowtrail[templates]'."
            raise MissingExtraError(msg) from error
        self.registry = CollectorRegistry() if registry is None else registry
        self._classified = Counter(
            "specificity_template_classifications_total",
            "Questions classified, by template",
            ["template_id"],
            registry=self.registry,
        )
        self._before = Histogram(
            "specificity_classes_before_filter",
            "Classes before filtering by specificity",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._after = Histogram(
            "specificity_classes_after_filter",
            "Classes after filtering by specificity",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._threshold = Gauge(
            "specificity_threshold",
            "Threshold of the last filter, by context template",
            ["template_id"],
            registry=self.registry,
        )

    def classified(self, template_id: str) -> None:
        """Count a question of a template."""
        self._classified.labels(template_id=template_id).inc()

    def filtered(
        self, context_template: str, *, before: int, after: int, threshold: float
    ) -> None:
        """Note a filter: how many classes there were, how many it left."""
        self._before.observe(before)
        self._after.observe(after)
        self._threshold.labels(template_id=context_template).set(threshold)


@lru_cache(maxsize=1)
def metrics() -> SpecificityMetrics:
    """Return the metrics of this process."""
    return SpecificityMetrics()


def metrics_text() -> bytes:
    """Return the metrics of this process in the text format of Prometheus."""
    from prometheus_client import generate_latest

    return generate_latest(metrics().registry)
