"""Classifying a question by templates beside embedding it, both in one run.

Questions are the examples of the templates with values put in. The time of finding what
they name is shown too. The ratio of classifying to embedding must be below 0.1.
"""

from __future__ import annotations

import re
import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_VALUES = {
    "institution_type": "museums",
    "city": "Haarlem",
    "region": "Limburg",
    "country": "Belgium",
    "name": "the Paper Moon Library",
    "identifier": "NL-FictAmsAVR",
    "date": "1850",
    "budget": "2 million euro",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--embedder", help="embedding model; the default one if absent")


def run(given: argparse.Namespace) -> None:
    """Measure, and print medians in milliseconds."""
    from knowtrail.graph.models.embedders import load_embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.specificity.classifier import EmbeddingTemplateClassifier
    from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
    from knowtrail.retrieval.specificity.mention import MentionFinder
    from knowtrail.retrieval.specificity.query_templates import load_templates

    templates = load_templates()
    embedder = load_embedder(given.embedder or Settings().embedder)
    classifier = EmbeddingTemplateClassifier(templates, embedder)
    finder = MentionFinder(build_gazetteer([{"city": "Haarlem", "country": "NL"}]))
    questions = [
        (re.sub(r"\{(\w+)\}", lambda m: _VALUES[m[1]], text), language)
        for template in templates.values()
        for language, texts in template.examples.items()
        for text in texts
    ][:: 8 if given.small else 1]
    classifier.classify(questions[0][0])
    times: dict[str, list[float]] = {"find names": [], "embed": [], "classify": []}
    for question, language in questions:
        begin = time.perf_counter()
        mentions = finder.find(question)
        found = time.perf_counter()
        vector = classifier.embed(question, mentions, language=language)
        embedded = time.perf_counter()
        classifier.classify_vector(question, mentions, vector)
        done = time.perf_counter()
        times["find names"].append(found - begin)
        times["embed"].append(embedded - found)
        times["classify"].append(done - embedded)
    medians = {name: 1000 * statistics.median(each) for name, each in times.items()}
    for name, median in medians.items():
        print(f"{name:12} {median:8.3f} ms")
    print(f"classify / embed = {medians['classify'] / medians['embed']:.3f}")
