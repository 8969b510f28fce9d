"""Which template a question asks for: nearest examples with a confidence.

Questions are compared after what they name has been masked: `Which archives are in
Utrecht?` and `Which museums are in Ghent?` are one question. Two likenesses are mixed,
that of the embedder and that of words and their parts; the second carries Dutch, which
the default embedder hardly knows. What a question names must then suit the slots.
Where words alone leave no doubt, the model is not loaded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from graph.errors import InputError
from retrieval.specificity.example_vectors import example_vectors, unit_vectors
from retrieval.specificity.fitness import misfits
from retrieval.specificity.likeness import MASK, WordLikeness
from retrieval.specificity.templates import LANGUAGES, NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from graph.embedders import Embedder
    from retrieval.specificity.mentions import Mention
    from retrieval.specificity.templates import Template

    Array = npt.NDArray[np.float32]

__all__ = [
    "Classification",
    "EmbeddingTemplateClassifier",
    "TemplateClassifier",
    "mask_question",
]

_FILLERS = {
    "en": {
        "institution_type": "museums",
        "generic": "institutions",
        "place": "Amsterdam",
        "name": "the Museum Zonnehof",
        "identifier": "NL-ZhMz",
        "date": "1900",
        "budget": "500,000 euro",
    },
    "nl": {
        "institution_type": "musea",
        "generic": "instellingen",
        "place": "Amsterdam",
        "name": "het Museum Zonnehof",
        "identifier": "NL-ZhMz",
        "date": "1900",
        "budget": "500.000 euro",
    },
}
"""What stands for a mention when a question is embedded."""

_PLACE_MASK = re.compile(r"\{(?:city|region|country)\}")
_PLACE_KINDS = dict.fromkeys(("city", "region", "country"), "place")
_LIMIT = re.compile(r"(?<!\S)\d{1,3}\s")
"""A number such as that of `the 5 oldest`, which says nothing about the template."""

EMBEDDED = 0.55
"""Weight of the embedder's likeness; the rest is that of words."""

CALIBRATION = (-5.0, 9.1, 10.6)
"""Of the logistic function: constant, weight of the score, of the lead.

Fitted to the examples, each held out in turn, to the development half of the labelled
questions and to questions about heritage that no template answers.
"""

THRESHOLD = 0.5

SURE = (0.5, 0.3)
"""Score and lead by words alone from which on a question is not embedded.

Of 509 questions to tune on, 369 are so, and each of them gets the template that it gets
with the embedder; below a lead of 0.3 the first ones differ.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a question was taken for.

    Attributes:
        template_id: The template; `none` where the confidence is below the threshold.
        confidence: How likely the template is the right one, from 0 to 1.
        scores: Likeness of every template, best first.
        language: Language of the nearest example.
        by: What classified: `embedding`, `words` or `dspy`.
    """

    template_id: str
    confidence: float
    scores: tuple[tuple[str, float], ...] = ()
    language: str = "en"
    by: str = "embedding"


@runtime_checkable
class TemplateClassifier(Protocol):
    """Tells which template a question asks for."""

    def classify(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Classification:
        """Return the template of a question.

        Args:
            question: A question that stands alone.
            mentions: What it names.
            language: `en` or `nl`.
        """
        ...


def mask_question(
    question: str, mentions: Sequence[Mention], fillers: Mapping[str, str] | None = None
) -> str:
    """Return a question with fillers, or `{kind}`, for what it names."""
    parts, at = [], 0
    for mention in mentions:
        parts.append(_LIMIT.sub(" ", question[at : mention.start]))
        kind = _PLACE_KINDS.get(mention.kind, mention.kind)
        parts.append(f"{{{kind}}}" if fillers is None else fillers[kind])
        at = mention.end
    return "".join([*parts, _LIMIT.sub(" ", question[at:])])


class EmbeddingTemplateClassifier:
    """Finds the nearest example questions.

    The examples are embedded once, when the first question comes that words alone do
    not decide; one that they decide needs no embedder.
    """

    def __init__(
        self,
        templates: Mapping[str, Template],
        embedder: Embedder | None = None,
        *,
        threshold: float = THRESHOLD,
        cache: Path | None = None,
    ) -> None:
        """Take templates and model.

        Args:
            templates: By id; `none` must be among them.
            embedder: The model; None compares words alone.
            threshold: Confidence below which a question is `none`.
            cache: Folder where the vectors of the examples are kept; None embeds
                them anew.

        Raises:
            InputError: If the threshold is not from 0 to 1.
        """
        if not 0 <= threshold <= 1:
            msg = f"The threshold is {threshold}: give a number from 0 to 1."
            raise InputError(msg)
        self.threshold = threshold
        self._templates = dict(templates)
        self._embedder = embedder
        self._cache = cache
        self._examples = _Examples.of(self._templates)
        self._vectors: Array | None = None

    def classify(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Classification:
        """Return the template of a question; see `TemplateClassifier`."""
        likeness, off = self._by_words(question, mentions)
        ranked = self._ranked(likeness, off)
        sure = ranked.score >= SURE[0] and ranked.lead >= SURE[1]
        if sure or self._embedder is None:
            return self._classification(ranked, "words")
        vector = self.embed(question, mentions, language=language)
        return self._classification(self._ranked(likeness, off, vector), "embedding")

    def embed(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Array | None:
        """Return the vector of a masked question; None without an embedder."""
        if self._embedder is None:
            return None
        masked = mask_question(question, mentions, _FILLERS[language])
        vector: Array = unit_vectors(self._embedder, [masked])[0]
        return vector

    def classify_vector(
        self, question: str, mentions: Sequence[Mention], vector: Array | None
    ) -> Classification:
        """Return the template of a question whose masked form is embedded already."""
        likeness, off = self._by_words(question, mentions)
        by = "words" if vector is None else "embedding"
        return self._classification(self._ranked(likeness, off, vector), by)

    def _by_words(
        self, question: str, mentions: Sequence[Mention]
    ) -> tuple[Array, dict[str, float]]:
        """Return the examples' likeness by words, and what is taken off templates."""
        likeness = self._examples.words.likeness(mask_question(question, mentions))
        return likeness, misfits(self._templates, mentions, question)

    def _ranked(
        self, likeness: Array, off: Mapping[str, float], vector: Array | None = None
    ) -> _Ranked:
        """Return the templates, best first, by words and, if there is one, vector."""
        if vector is not None:
            near = self._example_vectors() @ vector
            likeness = EMBEDDED * near + (1 - EMBEDDED) * likeness
        family_of = self._examples.families
        best: dict[str, tuple[float, int]] = {}
        for place, score in enumerate(likeness.tolist()):
            family = self._examples.owners[place]
            if family not in best or score > best[family][0]:
                best[family] = (score, place)
        scores = {
            name: best[family][0] - off[name]
            for name, family in family_of.items()
            if family in best
        }
        order = sorted(scores, key=lambda name: (-scores[name], name))
        first = order[0]
        others = (n for n in order if family_of[n] != family_of[first])
        return _Ranked(
            scores=tuple((name, scores[name]) for name in order),
            lead=scores[first] - scores[next(others, first)],
            nearest=best[family_of[first]][1],
        )

    def _classification(self, ranked: _Ranked, by: str) -> Classification:
        """Return what a question is taken for."""
        confidence = _confidence(ranked.score, ranked.lead)
        sure = confidence >= self.threshold
        return Classification(
            template_id=ranked.scores[0][0] if sure else NONE,
            confidence=confidence,
            scores=tuple((name, round(score, 6)) for name, score in ranked.scores),
            language=self._examples.languages[ranked.nearest],
            by=by,
        )

    def _example_vectors(self) -> Array:
        """Return the vectors of the examples."""
        if self._vectors is None and self._embedder is not None:
            texts = [
                _filled(text, _FILLERS[language])
                for text, language in zip(
                    self._examples.texts, self._examples.languages, strict=True
                )
            ]
            self._vectors = example_vectors(self._embedder, texts, self._cache)
        if self._vectors is None:
            msg = "There is no embedder to compare vectors with."
            raise InputError(msg)
        return self._vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """Templates with their scores, best first.

    Attributes:
        scores: The templates.
        lead: How far the first is before the next of another family.
        nearest: Place of the example that the first one has its score from.
    """

    scores: tuple[tuple[str, float], ...]
    lead: float
    nearest: int

    @property
    def score(self) -> float:
        """Return the best score."""
        return self.scores[0][1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Examples:
    """The example questions of all templates.

    Templates that differ only in the kind of place that they take are one family, and
    share their examples: which of them is meant, the place itself decides.
    """

    texts: tuple[str, ...]
    owners: tuple[str, ...]
    families: Mapping[str, str]
    languages: tuple[str, ...]
    words: WordLikeness

    @classmethod
    def of(cls, templates: Mapping[str, Template]) -> _Examples:
        """Collect the examples."""
        families = {template.id: _family(template) for template in templates.values()}
        rows = [
            (_PLACE_MASK.sub("{place}", text), families[template.id], language)
            for template in templates.values()
            for language in LANGUAGES
            for text in template.examples[language]
        ]
        rows = list(dict.fromkeys(rows))
        texts = tuple(text for text, _, _ in rows)
        return cls(
            texts=texts,
            owners=tuple(owner for _, owner, _ in rows),
            families=families,
            languages=tuple(language for _, _, language in rows),
            words=WordLikeness(texts),
        )


def _family(template: Template) -> str:
    """Return what a template has in common with those for other kinds of place."""
    if template.intent is None:
        return template.id
    types = sorted({_PLACE_KINDS.get(s.type, s.type) for s in template.slots.values()})
    return " ".join([template.intent, *types])


def _filled(text: str, fillers: Mapping[str, str]) -> str:
    """Return an example with fillers for its slots."""
    return MASK.sub(lambda found: fillers[found[1]], text)


def _confidence(score: float, lead: float) -> float:
    """Return how likely the best template is the right one."""
    constant, by_score, by_lead = CALIBRATION
    value = constant + by_score * score + by_lead * min(lead, 0.3)
    return 1 / (1 + math.exp(-value))
