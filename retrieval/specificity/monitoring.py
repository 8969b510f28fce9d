"""Filtering by specificity, watched: groups of an experiment, Prometheus metrics."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.graph.errors import check_ranges
from knowtrail.graph.extras import extra

if TYPE_CHECKING:
    from knowtrail.retrieval.specificity.class_scores import FilteredClasses

Group: TypeAlias = Literal["control", "treatment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecificityExperiment:
    """An experiment: `treatment` heeds classes, `control` neither filters nor ranks.

    The traffic split is the share of sessions that are treated, from 0 to 1. For
    another name, sessions are dealt anew.
    """

    traffic_split: float = 0.5
    name: str = "specificity"

    def __post_init__(self) -> None:
        """Check the share."""
        check_ranges(traffic_split=(self.traffic_split, 0, 1))

    def group(self, session_id: str) -> Group:
        """Return the group of a session.

        The first 53 bits of a SHA-256 of name and session are a number from 0 up to 1,
        which the share is compared with: whoever is treated at a share stays treated
        at any larger one.
        """
        text = f"{self.name}\x00{session_id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 11
        return "treatment" if number < self.traffic_split * 2**53 else "control"

    def is_treatment(self, session_id: str) -> bool:
        """Return whether a session is treated."""
        return self.group(session_id) == "treatment"


BUCKETS = (0, 1, 2, 5, 10, 15, 20, 30, 40, 60, 100, 200)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class SpecificityMetrics:
    """Counts what was classified and how many classes a filter left."""

    def __init__(self) -> None:
        with extra("templates", "Measuring templates"):
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        self.registry = CollectorRegistry()
        by_template: Any = {"labelnames": ["template_id"], "registry": self.registry}
        self._classified = Counter(
            "specificity_template_classifications_total",
            "Questions classified, by template",
            **by_template,
        )
        self._before, self._after = (
            Histogram(
                f"specificity_classes_{when}_filter",
                f"Classes {when} filtering by specificity",
                buckets=BUCKETS,
                registry=self.registry,
            )
            for when in ("before", "after")
        )
        self._threshold = Gauge(
            "specificity_threshold",
            "Threshold of the last filter, by context template",
            **by_template,
        )

    def classified(self, template_id: str) -> None:
        """Count a question of a template."""
        self._classified.labels(template_id=template_id).inc()

    def filtered(self, context_template: str, classes: FilteredClasses) -> None:
        """Note a filter: how many classes there were, how many it left."""
        self._before.observe(len(classes.kept) + len(classes.dropped))
        self._after.observe(len(classes.kept))
        self._threshold.labels(template_id=context_template).set(classes.threshold)


@lru_cache(maxsize=1)
def metrics() -> SpecificityMetrics:
    """Return the metrics of this process."""
    return SpecificityMetrics()


def metrics_text() -> bytes:
    """Return the metrics of this process in the text format of Prometheus."""
    from prometheus_client import generate_latest

    return generate_latest(metrics().registry)
