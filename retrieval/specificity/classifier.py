"""Which template a question asks for: nearest examples with a confidence.

Questions are compared after what they name has been masked: `Which archives are in
Utrecht?` and `Which museums are in Ghent?` are one question. Two likenesses are mixed,
that of the embedder and that of words and their parts; the second carries Dutch, which
the default embedder hardly knows. What a question names must then suit the slots.
Where words alone leave no doubt, the model is not loaded.
"""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.graph.files import private, private_folder
from knowtrail.graph.models.embedders import embed_texts, embedder_name
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.specificity.class_scores import check_threshold
from knowtrail.retrieval.specificity.cues import intents_of, residue, unanswerable
from knowtrail.retrieval.specificity.mention import excludes, named_kind
from knowtrail.retrieval.specificity.query_templates import LANGUAGES, NONE
from knowtrail.retrieval.specificity.vocabulary import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.retrieval.specificity.mention import Mention
    from knowtrail.retrieval.specificity.query_templates import Template

    Array = npt.NDArray[np.float32]

MASK = re.compile(r"\{([a-z_]+)\}")
"""What stands in an example for a value: the name of its slot in braces."""


class WordLikeness:
    """Cosines of texts by their words, pairs of words and parts of words.

    A feature counts the less the more texts have it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """Take the texts that others are compared with."""
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
    for match in MASK.finditer(text):
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


_LOG = logging.getLogger(__name__)


def _unit_vectors(embedder: Embedder, texts: Sequence[str]) -> Array:
    """Return the vectors of texts, each of length one."""
    vectors = embed_texts(embedder, texts)
    units: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def _example_vectors(
    embedder: Embedder, texts: Sequence[str], folder: Path | None
) -> Array:
    """Return the vectors of example questions."""
    path = None
    if folder is not None:
        path = folder / f"{content_key(embedder_name(embedder), *texts)}.npy"
        try:
            kept: Array = np.load(path, allow_pickle=False)
            if kept.ndim == 2 and len(kept) == len(texts) and np.isfinite(kept).all():
                return kept
        except (OSError, ValueError, EOFError):
            _LOG.debug("No vectors of examples at %s", path)
    vectors = _unit_vectors(embedder, texts)
    if path is not None:
        begun = path.with_suffix(".part.npy")
        try:
            private_folder(path.parent)
            with open(begun, "wb", opener=private) as file:
                np.save(file, vectors, allow_pickle=False)
            begun.replace(path)
        except OSError as error:
            _LOG.info("Vectors of examples are not kept: %s", error)
    return vectors


PLACES = frozenset({"city", "region", "country"})
NO_SLOT = 0.3
"""A question names something for which the template has no slot."""

NO_SLOT_FOR_PLACE = 0.4
"""What it names is a place, which always narrows what is asked for."""

OTHER_KIND = 0.3
"""It names a place that would have to be read as another kind of place."""

NO_VALUE = {
    "institution_type": 0.3,
    "city": 0.12,
    "region": 0.12,
    "country": 0.12,
    "name": 0.1,
    "identifier": 0.4,
    "budget": 0.3,
}
"""It names nothing for a slot that the template needs."""

ONE_PLACE = 0.3
"""It names one place and the template compares, or places of several kinds."""

NO_PLACE = 0.35
"""The template needs a place of some kind, and none is named."""

GENERIC = 0.2
"""It speaks of institutions of any type, and the template is for one."""

OTHER_INTENT = 0.3
"""It is plainly after something else."""

UNSAID = 0.35
"""The template counts or compares, and the question asks for neither."""

BEYOND = 0.35
"""It has a word that no template answers."""

EXCLUDED = 1.0
"""It asks for all but something, and a query would give just that something."""

RESIDUE = (0.0, 0.1, 0.2, 0.28)
"""It has so many words that are neither names nor words that questions are made of."""

NAMED = 0.12
"""Besides where it names an institution: little is known of one."""

UNLIKELY = 0.1
"""Taken off `none` where institutions are named and no such word is there."""

SUITED = 0.15
"""Taken off `none` besides where every word is accounted for."""

_ASKED_FOR = frozenset({"name", "identifier", "institution_type", "generic"})


def _misfits(
    templates: Mapping[str, Template], mentions: Sequence[Mention], question: str
) -> dict[str, float]:
    """Return what is taken off the likeness of each template, by id."""
    intents = intents_of(question, mentions)
    excluded = excludes(question, mentions)
    beyond = excluded or unanswerable(question, mentions)
    left = min(len(residue(question, mentions)), len(RESIDUE) - 1)
    placed = any(m.kind in PLACES or m.kind == "place" for m in mentions)
    kind = None if placed else named_kind(question)
    return {
        name: _misfit(template, mentions, intents, beyond=beyond, left=left)
        + (OTHER_KIND if kind and _takes_other(template, kind) else 0.0)
        + (EXCLUDED if excluded and name != NONE else 0.0)
        for name, template in templates.items()
    }


def _misfit(
    template: Template,
    mentions: Sequence[Mention],
    intents: frozenset[str],
    *,
    beyond: bool,
    left: int,
) -> float:
    """Return what is taken off the likeness of one template."""
    if template.id == NONE:
        named = {m.kind for m in mentions} & _ASKED_FOR
        if beyond or left:
            return UNLIKELY if named and not beyond else 0.0
        return SUITED + (UNLIKELY if named else 0.0)
    types = {slot.type for slot in template.slots.values()}
    several = _places(template, mentions, types, intents)
    suited = [m for m in mentions if m.kind not in PLACES or not _unsuited(m, types)]
    placed = any(m.kind in PLACES for m in suited)
    total = sum(
        _unsuited(m, types) for m in (suited if several and placed else mentions)
    )
    if (
        template.intent not in ("budget", "identifier")
        or template.intent not in intents
    ):
        total += _lacking(template, mentions)  # one that is named may be asked for
    total += several + _after(template, intents)
    if template.each and "compare" in intents:
        total /= 2  # it says so itself, and may be asked for what is missing
    required = {s.type for s in template.slots.values() if s.required}
    typed = {m.kind for m in mentions} & {"generic", "institution_type"}
    if "institution_type" in required and typed == {"generic"}:
        total += GENERIC
    if template.intent == "identifier" and any(
        m.kind == "identifier" for m in mentions
    ):
        left = 0  # whatever is asked of a code, it is looked up
    if left and template.intent == "name":
        total += NAMED
    return total + (BEYOND if beyond else RESIDUE[left])


def _takes_other(template: Template, kind: str) -> bool:
    """Return whether a template needs a place of another kind than is spoken of."""
    needed = {s.type for s in template.slots.values() if s.required} & PLACES
    return bool(needed) and kind not in needed


def _after(template: Template, intents: frozenset[str]) -> float:
    """Return what other intents than the template's take off."""
    own = template.intent
    if own is None or not intents:
        return UNSAID if own in {"count", "compare", "date"} else 0.0
    if own in {"count", "compare", "date"} and own not in intents:
        return UNSAID
    others = intents - {own}
    if own == "compare":
        others -= {"count"}
    return OTHER_INTENT if others else 0.0


def _places(
    template: Template,
    mentions: Sequence[Mention],
    types: set[str],
    intents: frozenset[str],
) -> float:
    """Return what too many or too few places take off."""
    places = [m for m in mentions if m.kind in PLACES or m.kind == "place"]
    if template.each:
        return ONE_PLACE if len(places) < 2 and "compare" not in intents else 0.0
    if len(places) > 1 and types & PLACES:
        return 0.0 if _of_one_kind(places, types & PLACES) else ONE_PLACE
    if template.one_of and not places:
        return NO_PLACE
    return 0.0


def _of_one_kind(places: Sequence[Mention], kinds: set[str]) -> bool:
    """Return whether places can all be of one kind, of those that a template takes."""
    return any(
        all(
            m.kind in {kind, "place"} or any(o.kind == kind for o in m.options)
            for m in places
        )
        for kind in kinds
    )


def _unsuited(mention: Mention, types: set[str]) -> float:
    """Return what one mention takes off."""
    if mention.kind == "generic" or mention.kind in types:
        return 0.0
    if mention.kind == "place":
        return 0.0 if types & PLACES else NO_SLOT
    if mention.kind in PLACES:
        other = any(o.kind in types for o in mention.options)
        return OTHER_KIND if other else NO_SLOT_FOR_PLACE
    if mention.kind == "institution_type" and "name" in types:
        return 0.08
    return NO_SLOT


def _lacking(template: Template, mentions: Sequence[Mention]) -> float:
    """Return what the slots without a value take off."""
    named = {m.kind for m in mentions}
    if "place" in named:
        named |= PLACES
    for mention in mentions:
        named |= {option.kind for option in mention.options}
    return sum(
        NO_VALUE.get(slot.type, 0.0)
        for slot in template.slots.values()
        if slot.required and slot.type not in named
    )


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


def _mask_question(
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
        check_threshold(threshold)
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
        masked = _mask_question(question, mentions, _FILLERS[language])
        vector: Array = _unit_vectors(self._embedder, [masked])[0]
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
        likeness = self._examples.words.likeness(_mask_question(question, mentions))
        return likeness, _misfits(self._templates, mentions, question)

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
            self._vectors = _example_vectors(self._embedder, texts, self._cache)
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
