"""Which template a question asks for: nearest examples with a confidence.

Questions are compared after what they name has been masked: `Which archives are in
Utrecht?` and `Which museums are in Ghent?` are one question. Two likenesses are mixed,
that of the embedder and that of words and their parts; the second carries Dutch, which
the default embedder hardly knows. What a question names must then suit the slots.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from graph.errors import InputError
from retrieval.specificity.example_vectors import example_vectors, unit_vectors
from retrieval.specificity.fitness import misfits
from retrieval.specificity.templates import LANGUAGES, NONE
from retrieval.specificity.words import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

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

_MASK = re.compile(r"\{([a-z_]+)\}")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a question was taken for.

    Attributes:
        template_id: The template; `none` where the confidence is below the threshold.
        confidence: How likely the template is the right one, from 0 to 1.
        scores: Likeness of every template, best first.
        language: Language of the nearest example.
        by: What classified.
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

    The examples are embedded once, when the first question comes.
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
        return self.classify_vector(
            question, mentions, self.embed(question, mentions, language=language)
        )

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
        examples = self._examples
        likeness = examples.words.likeness(mask_question(question, mentions))
        if vector is not None:
            near = self._example_vectors() @ vector
            likeness = EMBEDDED * near + (1 - EMBEDDED) * likeness
        best: dict[str, tuple[float, int]] = {}
        for place, score in enumerate(likeness.tolist()):
            family = examples.owners[place]
            if family not in best or score > best[family][0]:
                best[family] = (score, place)
        off = misfits(self._templates, mentions, question)
        family_of = examples.families
        scores = {
            name: best[family][0] - off[name]
            for name, family in family_of.items()
            if family in best
        }
        order = sorted(scores, key=lambda name: (-scores[name], name))
        first = order[0]
        others = (n for n in order if family_of[n] != family_of[first])
        second = next(others, first)
        confidence = _confidence(scores[first], scores[first] - scores[second])
        chosen = first if confidence >= self.threshold else NONE
        return Classification(
            template_id=chosen,
            confidence=confidence,
            scores=tuple((name, round(scores[name], 6)) for name in order),
            language=examples.languages[best[family_of[first]][1]],
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
    words: _Words

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
            words=_Words(texts),
        )


def _family(template: Template) -> str:
    """Return what a template has in common with those for other kinds of place."""
    if template.intent is None:
        return template.id
    types = sorted({_PLACE_KINDS.get(s.type, s.type) for s in template.slots.values()})
    return " ".join([template.intent, *types])


class _Words:
    """Cosines of texts by their words, pairs of words and parts of words.

    A feature counts the less the more texts have it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [_features(text) for text in texts]
        names = sorted({name for bag in bags for name in bag})
        self._place = {name: n for n, name in enumerate(names)}
        counts = np.zeros((len(names), len(texts)), dtype=np.float32)
        for column, bag in enumerate(bags):
            for name, count in bag.items():
                counts[self._place[name], column] = count
        seen = np.count_nonzero(counts, axis=1)
        self._weight = (np.log((1 + len(texts)) / (1 + seen)) + 1).astype(np.float32)
        self._unseen = float(math.log(1 + len(texts)) + 1)
        weighted = counts * self._weight[:, None]
        self._rows = weighted / np.linalg.norm(weighted, axis=0)

    def likeness(self, text: str) -> Array:
        """Return the cosine of a text with each of the texts."""
        bag = _features(text)
        known = [(self._place[n], c) for n, c in bag.items() if n in self._place]
        unseen = sum(
            (0.5 * c * self._unseen) ** 2
            for n, c in bag.items()
            if n not in self._place
        )
        if not known:
            return np.zeros(self._rows.shape[1], dtype=np.float32)
        places = np.fromiter((place for place, _ in known), dtype=np.intp)
        values = np.fromiter((count for _, count in known), dtype=np.float32)
        values *= self._weight[places]
        norm = math.sqrt(float(values @ values) + unseen)
        found: Array = (values @ self._rows[places]) / np.float32(norm)
        return found


def _features(text: str) -> dict[str, float]:
    """Return the features of a masked text with their counts."""
    words: list[str] = []
    at = 0
    for match in _MASK.finditer(text):
        words += [token.form for token in tokens_of(text[at : match.start()])]
        words.append(f"<{match[1]}>")
        at = match.end()
    words += [token.form for token in tokens_of(text[at:])]
    found: dict[str, float] = {}
    for name, weight in _weighted(words):
        found[name] = found.get(name, 0.0) + weight
    return found


def _weighted(words: Sequence[str]) -> Iterable[tuple[str, float]]:
    """Yield words, pairs of words, and parts of words with their weights."""
    ends = ["^", *words, "$"]
    for a, b in pairwise(ends):
        yield f"{a} {b}", 0.6
    for word in words:
        yield word, 1.0
        if word[0] == "<":
            continue
        marked = f"^{word}$"
        for n in range(len(marked) - 3):
            yield f"#{marked[n : n + 4]}", 0.25


def _filled(text: str, fillers: Mapping[str, str]) -> str:
    """Return an example with fillers for its slots."""
    return _MASK.sub(lambda found: fillers[found[1]], text)


def _confidence(score: float, lead: float) -> float:
    """Return how likely the best template is the right one."""
    constant, by_score, by_lead = CALIBRATION
    value = constant + by_score * score + by_lead * min(lead, 0.3)
    return 1 / (1 + math.exp(-value))
