"""Follow-ups made into questions that stand alone: `and in Utrecht?`.

A frame is what a question says, apart from its wording; the frames of two questions
make one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.cues import residue
from knowtrail.retrieval.specificity.mention import named_kind, question_words
from knowtrail.retrieval.specificity.phrases import joined, things
from knowtrail.retrieval.specificity.quantities import asked_limit, in_euro
from knowtrail.retrieval.specificity.vocabulary import tokens_of, word_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.specificity.conversation import Conversation
    from knowtrail.retrieval.specificity.mention import Mention, MentionFinder

_GREETING = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hallo|hoi|good (?:morning|afternoon|evening)|"
    r"goede?(?:morgen|middag|avond)|thanks(?: a lot| so much| very much)?|thx|"
    r"thank you(?: so much| very much)?|bedankt|dank (?:je|u)(?: wel)?|dankje(?:wel)?|"
    r"merci|sorry|pardon|excuse me)\b(?: (?:there|all|allemaal"
    r"|iedereen))?[\s,.!:;\u2013-]*"
    r"|(?:ok(?:ay|\u00e9|e)?|great|super|perfect|prima|mooi|fijn|top|cool|nice|right|"
    r"well|dag|duidelijk|helder|interesting|interessant|good|goed|hm+|yes|ja|yep)"
    r"\s*[,.!:;\u2013]+\s*)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[\s,.!]*\b(?:please|pls|plz|thanks|thx|thank you|bedankt|alsjeblieft|alstublieft|"
    r"aub|svp|a\.u\.b|s\.v\.p|or not|of niet|if you (?:can|could|would)|for me)\b(?P<end>[\s.!?]*)$",
    re.IGNORECASE,
)
_QUESTION = (
    r"(?:which|what|how|where|who|whose|when|if|whether|about|welke?|hoe|hoeveel|wat|"
    r"waar|wie|wiens|wanneer|of er|of je)\b"
)
_CARRIER = re.compile(
    r"^\W*(?:(?:i|i'd|i'm|we|you|ik|we|wij|je|jij|u|can|could|would|will|do|does|kan"
    r"|kun|"
    r"kunt|zou|wil|would|like|love|want|need|to|be|please|just|me|us|tell|let|know|say|"
    r"wondering|curious|graag|willen|mij|ons|eens|even|misschien|vertel|zeg|vertellen|"
    r"zeggen|weten|weet|benieuwd|was|am|ben|anyone|somebody|someone|iemand|was|vroeg|"
    r"af|afvragen|vraag)\W+){2,10}"
    rf"(?={_QUESTION})",
    re.IGNORECASE,
)
_SHORT = {
    "hw": "how",
    "r": "are",
    "u": "you",
    "ur": "your",
    "pls": "please",
    "plz": "please",
    "gimme": "give me",
    "abt": "about",
    "b4": "before",
    "hvl": "hoeveel",
    "bib": "bibliotheek",
    "bibs": "bibliotheken",
    "ipv": "in plaats van",
    "nl": "Nederland",
    "incl": "inclusief",
}
_TOKEN = re.compile(
    r"(?<![\w'-])(?:" + "|".join(map(re.escape, _SHORT)) + r")(?![\w'-])"
)
_CONTRACTED = re.compile(r"\b(what|where|who|how|when)['\u2019]?s\b", re.IGNORECASE)
_SIGNS = (
    (re.compile(r"\s*(?:>=|=>|\u2265)\s*"), " at least "),
    (re.compile(r"\s*(?:<=|=<|\u2264)\s*"), " at most "),
    (re.compile(r"\s+>\s*(?=[\d\u20ac])"), " more than "),
    (re.compile(r"\s+<\s*(?=[\d\u20ac])"), " less than "),
)
_SPLIT = re.compile(r"\bhoe veel\b", re.IGNORECASE)


def _plain_wording(question: str) -> str:
    """Return a question without what does not belong to what it asks.

    Greetings, thanks and `could you tell me` go; the spelling of short messages and
    signs such as `>` become words. A question that is nothing else stays as it is.
    """
    text = question.strip()
    while (rest := _GREETING.sub("", text, count=1)) != text and _words(rest):
        text = rest
    while (rest := _TAIL.sub(r"\g<end>", text)) != text and _words(rest):
        text = rest
    rest = _CARRIER.sub("", text, count=1)
    if _words(rest) >= 2:
        text = rest
    text = _CONTRACTED.sub(r"\1 is", text)
    text = _TOKEN.sub(lambda found: _SHORT[found.group()], text)
    text = _SPLIT.sub("hoeveel", text)
    for sign, words in _SIGNS:
        text = sign.sub(words, text)
    return text


def _words(text: str) -> int:
    """Return how many words a text has."""
    return len(re.findall(r"\w+", text))


INTENTS: Mapping[str, str] = {
    "list_institutions_by_type_city": "list",
    "list_institutions_by_type_region": "list",
    "list_institutions_by_type_country": "list",
    "list_all_institutions_in_city": "list",
    "count_institutions_by_type_location": "count",
    "count_institutions_by_type": "count",
    "find_institution_by_name": "name",
    "find_institution_by_identifier": "identifier",
    "find_institutions_by_founding_date": "date",
    "compare_locations": "compare",
    "find_custodians_by_budget_threshold": "budget",
}
"""Id of a template -> what its questions are after."""

_COUNT = r"how many|how much|hoe ?veel|\bcount(?:s|ed|ing)?\b|number of|aantal"
_CUES = (
    ("count", _COUNT),
    ("compare", r"compare|vergelijk|versus|\bvs\b"),
    (
        "date",
        r"oldest|newest|youngest|founded|established|oudst\w*|nieuwst\w*|jongst\w*|opgericht|gesticht",
    ),
    ("budget", r"budget|begroting"),
    ("list", r"which|welke?|list|name them|what are they|noem|geef|toon|show|wat zijn"),
)
_ORDER = re.compile(
    r"\b(?:(oldest|earliest|first|longest|oudst\w*|vroegst\w*|eerst\w*|langst\w*)|(newest|youngest|latest|nieuwst\w*|jongst\w*))\b",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:more than|at least|at most|less than|over|above|under|below|up to|meer dan|"
    r"minstens|hoogstens|minder dan|boven|onder|minimaal|maximaal|exactly|precies)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?:are|were|ones|zijn|waren)\b", re.IGNORECASE)
_PLACES = frozenset({"city", "region", "country", "place"})
_SINCE = {
    "en": {
        "in": "in",
        "before": "before",
        "after": "after",
        "since": "since",
        "until": "until",
    },
    "nl": {
        "in": "in",
        "before": "voor",
        "after": "na",
        "since": "sinds",
        "until": "tot en met",
    },
}


_WHICH = {"en": ("Which", "How many"), "nl": ("Welke", "Hoeveel")}
_COMPARISONS = {
    "above": ("more than", "meer dan", r"more than|over|above|meer dan|boven"),
    "below": ("less than", "minder dan", r"less than|under|below|minder dan|onder"),
    "at_least": ("at least", "minstens", r"at least|minstens|minimaal"),
    "at_most": ("at most", "hoogstens", r"at most|up to|hoogstens|maximaal"),
    "equal": ("exactly", "precies", r"exactly|precies"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a question says.

    Attributes:
        intent: What it is after: `list`, `count`, `compare`, `date`, `budget`, `name`,
            `identifier`; None where it does not say.
        letters: Institution types.
        generic: Whether it speaks of institutions of any type.
        places: Kind and name of each place.
        order: `oldest` or `newest`.
        date: Relation and years as written; `between` and `first/last` for a range.
        budget: Comparison and amount, as written.
        name: An institution or identifier.
        limit: How many it asks for: one by `the oldest museum`; None where not said.
        several: Whether it speaks of several, as in `which are the oldest`.
        coded: Whether the name is an identifier.
        counted: Whether it asks for a number, whatever it is after.
    """

    intent: str | None = None
    letters: tuple[str, ...] = ()
    generic: bool = False
    places: tuple[tuple[str, str], ...] = ()
    order: str | None = None
    date: tuple[str, str] | None = None
    budget: tuple[str, str] | None = None
    name: str | None = None
    limit: str | None = None
    several: bool = False
    coded: bool = False
    counted: bool = False


def _frame_of(
    question: str, mentions: Sequence[Mention], template_id: str | None = None
) -> Frame:
    """Return what a question says."""
    order = _ORDER.search(question)
    dates = [m for m in mentions if m.kind == "date"]
    budgets = [m for m in mentions if m.kind == "budget"]
    names = [m for m in mentions if m.kind in {"name", "identifier"}]
    comparison = _COMPARISON.search(question)
    cues = (
        intent for intent, words in _CUES if re.search(words, question, re.IGNORECASE)
    )
    return Frame(
        intent=INTENTS.get(template_id or "") or next(cues, None),
        letters=tuple(
            dict.fromkeys(m.value for m in mentions if m.kind == "institution_type")
        ),
        generic=any(m.kind == "generic" for m in mentions),
        places=tuple((m.kind, m.text) for m in mentions if m.kind in _PLACES),
        order=None if order is None else ("oldest" if order[1] else "newest"),
        date=_date(dates[0]) if dates else None,
        budget=_budget(budgets[0], comparison) if budgets else None,
        name=(names[0].value or names[0].text) if names else None,
        limit=asked_limit(question),
        several=bool(_SEVERAL.search(question)),
        coded=bool(names) and names[0].kind == "identifier",
        counted=bool(re.search(_COUNT, question, re.IGNORECASE)),
    )


def _budget(mention: Mention, comparison: re.Match[str] | None) -> tuple[str, str]:
    """Return comparison and amount of a budget, or `between` and both ends."""
    if "/" in mention.value:
        return "between", mention.value
    return (comparison[0] if comparison else ""), mention.text


def _date(mention: Mention) -> tuple[str, str]:
    """Return relation and years of a date."""
    if mention.relation == "in" and "/" in mention.value:
        return "between", mention.value
    return mention.relation, mention.text


def _when(date: tuple[str, str], language: str) -> str:
    """Return the words for a date."""
    relation, text = date
    if relation != "between":
        return f"{_SINCE[language][relation]} {text}"
    first, _, last = text.partition("/")
    if language == "nl":
        return f"tussen {first} en {last}"
    return f"between {first} and {last}"


def _merged(before: Frame, now: Frame) -> Frame:
    """Return what a follow-up says together with the question before it."""
    intent = now.intent or before.intent
    counted = now.counted or (now.intent is None and before.counted)
    if intent == "count" and now.counted:
        intent = _measured(now) or _measured(before) or intent
    if intent == "list" and before.intent in {"date", "budget"}:
        intent = before.intent  # `which ones?`, of those that it was about
    if now.intent is None:
        if now.date or now.order:
            intent = "date"
        elif now.budget:
            intent = "budget"
        elif now.name:
            intent = (
                before.intent if before.intent in {"name", "identifier"} else "name"
            )
    places = now.places or before.places
    if intent == "compare" and len(now.places) == 1:
        places = tuple(dict.fromkeys((*before.places, *now.places)))
    elif intent != "compare" and not now.places and before.intent == "compare":
        places = before.places[:1]
    typed = bool(now.letters) or now.generic
    if intent in {"name", "identifier"} and not now.name and (typed or now.places):
        intent = "list" if typed and now.places else None
    frame = replace(
        now,
        intent=intent,
        letters=now.letters if typed else before.letters,
        generic=now.generic if typed else before.generic,
        places=places,
        name=now.name or before.name,
        counted=counted,
    )
    if intent == "date" and not (now.order or now.date):
        frame = replace(frame, order=before.order, date=before.date, limit=before.limit)
    elif intent == "date" and now.order and not (now.limit or now.several):
        frame = replace(frame, limit=before.limit)  # `and the newest?`: as many
    if intent == "budget" and now.budget is None:
        frame = replace(frame, budget=before.budget)
    elif (
        now.budget
        and not now.budget[0]
        and before.budget
        and before.budget[0] != "between"
    ):
        frame = replace(frame, budget=(before.budget[0], now.budget[1]))
    return frame


def _measured(frame: Frame) -> str | None:
    """Return what a number is asked of besides type and place."""
    if frame.date:
        return "date"
    return "budget" if frame.budget else None


def sentence(frame: Frame, language: str) -> str | None:
    """Return a question that says what a frame does; None where it says too little."""
    dutch = language == "nl"
    what = _things(frame, language)
    which = _WHICH[language][frame.counted]
    where = f" in {joined(_places(frame, language), language)}" if frame.places else ""
    if frame.intent == "count":
        if dutch:
            return f"Hoeveel {what} zijn er{where}?"
        return f"How many {what} are{where or ' there'}?"
    if frame.intent == "list" and where:
        if dutch:
            return f"Welke {what} zijn er{where}?"
        return f"Which {what} are{where}?"
    if frame.intent == "compare" and len(frame.places) > 1:
        places = (" en " if dutch else " and ").join(_places(frame, language))
        if dutch:
            return f"Vergelijk het aantal {what} in {places}"
        return f"Compare the number of {what} in {places}"
    if frame.intent == "date" and frame.date:
        when = _when(frame.date, language)
        if dutch:
            return f"{which} {what}{where} zijn opgericht {when}?"
        return f"{which} {what}{where} were founded {when}?"
    if frame.intent == "date" and frame.order:
        return _extreme(frame, where, language)
    if frame.intent == "budget" and frame.budget:
        spent = _spent(frame.budget, language)
        if dutch:
            return f"{which} {what}{where} hebben een budget {spent}?"
        return f"{which} {what}{where} have a budget {spent}?"
    if frame.name and frame.coded:
        if dutch:
            return f"Welke instelling heeft de code {frame.name}?"
        return f"Which institution has the code {frame.name}?"
    if frame.intent in {"name", "identifier"} and frame.name:
        return (
            f"Vertel me over {frame.name}" if dutch else f"Tell me about {frame.name}"
        )
    return None


def _extreme(frame: Frame, where: str, language: str) -> str:
    """Return a question for the oldest or newest, one or some or all of them."""
    dutch = language == "nl"
    order = frame.order or "oldest"
    word = {"oldest": "oudste", "newest": "nieuwste"}[order] if dutch else order
    if frame.limit == "1":
        thing = _things(frame, language, single=True)
        begin = "Wat is het" if dutch else "What is the"
        return f"{begin} {word} {thing}{where}?"
    begin = "Wat zijn de" if dutch else "What are the"
    number = f"{frame.limit} " if frame.limit else ""
    return f"{begin} {number}{word} {_things(frame, language)}{where}?"


def _things(frame: Frame, language: str, *, single: bool = False) -> str:
    """Return the words for what is asked for."""
    types = {"institution_type": tuple(frame.letters)}
    return things(types, language, 1 if single else 2)


def _spent(budget: tuple[str, str], language: str) -> str:
    """Return the words for a budget."""
    relation, text = budget
    dutch = language == "nl"
    if relation == "between":
        low, _, high = text.partition("/")
        if dutch:
            return f"tussen {low} en {high} euro"
        return f"between {low} and {high} euro"
    return f"{'van' if dutch else 'of'} {_comparison(relation, language)} {text}"


def _comparison(words: str, language: str) -> str:
    """Return the words for a comparison in a language."""
    for english, dutch, pattern in _COMPARISONS.values():
        if re.fullmatch(pattern, words, re.IGNORECASE):
            return dutch if language == "nl" else english
    return "meer dan" if language == "nl" else "more than"


def _places(frame: Frame, language: str) -> list[str]:
    """Return the places with what kind they are, where a name alone would not say."""
    province = "de provincie" if language == "nl" else "the province of"
    return [
        f"{province} {name}" if kind == "region" else name
        for kind, name in frame.places
    ]


_OPENING = re.compile(
    r"^\W*(?:and|en|what about|how about|and what about|or|but|maar|also|ook|"
    r"hoe zit het met|en hoe zit het met|wat dacht je van|wat met|same for|"
    r"hetzelfde voor|only|alleen|just|enkel|plus|then|dan|no\s*,|nope|nee\s*,?"
    r"|i meant?|"
    r"ik bedoel(?:de)?|actually|eigenlijk|rather|liever|instead|en voor|and for|idem"
    r"|ditto)"
    r"(?!\w)",
    re.IGNORECASE,
)
_THOSE = re.compile(
    r"\b(?:of (?:those|them|these)|those|them|they|daarvan|hiervan|ervan|daaronder|"
    r"(?:is|are|zijn) (?:that|those|dat|die|dit) (?:more|fewer|less|meer|minder)|"
    r"van die|van deze|van hen|(?:zijn|waren) (?:dat|die|deze)(?: er)?)\b"
    r"|^\W*(?:and |en )?(?:which|welke?|who|what)(?: (?:ones?|then|dan))?\W*$",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|fewer|less|meer|minder) (?:\w+ )?(?:than|dan)\b", re.IGNORECASE
)
_IT = re.compile(
    r"\b(?:it|its|that one|this one|(?:that|this) (?:museum|archive|library|gallery|"
    r"institution)|"
    r"(?:dat|dit|die|deze) (?:museum|archief|bibliotheek|galerie|instelling)|"
    r"(?:ligt|is|staat|werd|was) (?:het|hij|die|dat|deze|ze|zij)"
    r"(?=\W*$|\s+(?:opgericht|gesticht|gevestigd|geopend|gelegen|ontstaan)))",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?<!are )(?<!is )(?<!were )\bthere\W*$|\bdaar\W*$|\bdaar\b(?= (?:zijn|is|ook))",
    re.IGNORECASE,
)
_THAT_PLACE = re.compile(
    r"\b(?:in|of|from|van|uit)\s+(?:that|this|die|dat|deze|dit)\s+(?:same\s+"
    r"|zelfde\s+)?"
    r"(?:city|town|place|province|region|country|stad|plaats|dorp|provincie|regio"
    r"|land)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?!which|what|welke?|wat|how|hoe|where|waar|compar"
    r"|vergel)[^,.;!?:]){4,120}[,.;!]\s+"
    r"(?=(?:en |and |so |dus )?(?:which|what|welke?|wat|how many|hoeveel|are there"
    r"|zijn er|"
    r"is there|is er|where|waar|do you|heb je)\b)",
    re.IGNORECASE,
)
_DAAR = re.compile(r"(?<=\w )\b(?:daar|there)\b(?! (?:are|is|any))", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:what|which|who) (?:is|are) (?:there|in)\b|\bwat (?:is|zijn|heeft|valt) er\b"
    r"|\b(?:everything|alles) (?:in|uit|van)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:which|welke?|how many|hoe ?veel|list|geef|toon|noem|show)\b", re.IGNORECASE
)
_CONNECTING = word_list("connecting")
_TYPES = frozenset({"institution_type", "generic"})
_ALONE = frozenset({"name", "identifier"})
_MEASURES = frozenset({"date", "budget"})
_QUANTITY = frozenset({"many", "hoeveel", "number", "aantal", "count", "tel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A question that stands alone, or what is missing.

    Attributes:
        question: The question; as it was where it builds on nothing.
        follow_up: Whether it builds on what was said before.
        antecedent: The question that it builds on; None where there is none.
        candidates: Institutions that it may mean, where it is not clear which.
        strange: Words that say what it is about, and that mean nothing here.
    """

    question: str
    follow_up: bool = False
    antecedent: str | None = None
    candidates: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """Return whether it builds on something that was not said."""
        return self.follow_up and self.antecedent is None


class ConversationContextResolver:
    """Makes follow-ups into questions that stand alone."""

    def __init__(self, finder: MentionFinder) -> None:
        self._finder = finder

    def resolve(
        self,
        question: str,
        conversation: Conversation | None = None,
        *,
        language: str = "en",
    ) -> Resolution:
        """Return a question that stands alone."""
        question = _plain_wording(question)
        last = conversation.last if conversation else None
        if last is not None and "budget" in last.slots:
            question = in_euro(question)
        mentions = self._finder.find(question)
        if (moved := _without_lead(question, mentions)) != question:
            question, mentions = moved, self._finder.find(moved)
        kinds = {m.kind for m in mentions}
        within = kinds & _ALONE or (kinds & _TYPES and kinds & _PLACES)
        meant_one = _IT.search(question) and not within
        if not meant_one and not _builds_on_another(
            question, mentions, alone=last is None
        ):
            return Resolution(question=question)
        if last is None:
            return Resolution(question=question, follow_up=True)
        if meant_one:
            return _of_one(question, last.names, last.resolved)
        if residue(question, mentions) and not _OPENING.search(question):
            return Resolution(question=question)  # what it is about was not said before
        before = _frame_of(
            last.resolved, self._finder.find(last.resolved), last.template_id
        )
        now = _frame_of(question, mentions)
        if not mentions and (strange := residue(question, mentions)):
            place = _capitalised(question, strange)
            if place is None:
                return Resolution(question=question, follow_up=True, strange=strange)
            now = replace(now, places=(("place", place),))
        if _MORE.search(question) and now.places and before.places:
            now = replace(now, intent="compare", counted=False)
        if _WHOLE.search(question) and not now.letters:
            now = replace(now, generic=True)
        if not now.places and before.places and (kind := named_kind(question)):
            now = replace(now, places=tuple((kind, name) for _, name in before.places))
        if before.name is None and last.names and len(last.names) == 1:
            before = replace(before, name=last.names[0])
        made = sentence(_merged(before, now), language)
        if made is None:
            return Resolution(question=question, follow_up=True)
        return Resolution(question=made, follow_up=True, antecedent=last.resolved)


def _builds_on_another(
    question: str, mentions: Sequence[Mention], *, alone: bool
) -> bool:
    """Return whether a question says too little to stand alone."""
    kinds = {m.kind for m in mentions}
    typed, placed = bool(kinds & _TYPES), bool(kinds & _PLACES)
    measured = bool(kinds & _MEASURES)
    if alone and (measured or (typed and _nowhere(question))):
        return False  # it says what it wants; a place is asked for by name
    if _THOSE.search(question):
        return not (typed and placed)
    if kinds & _ALONE:
        return bool(_OPENING.search(question)) and len(tokens_of(question)) <= 12
    if _nowhere(question):
        return not placed
    known = _CONNECTING if alone else _CONNECTING | _QUANTITY
    rest = [w for w in question_words(question, mentions) if w not in known]
    if _WHOLE.search(question) and placed:
        return False
    if _OPENING.search(question):
        asks = rest or _ASKS.search(question)
        return not (typed and placed and asks) and len(rest) <= 5
    if mentions and not rest and not (typed and (placed or measured)):
        return not _existing(question, kinds)
    short = len(tokens_of(question)) <= 7
    asking = re.search(
        r"\b(?:how many|hoe ?veel|which|welke?|wat|what|when|oldest|newest|oudst\w*|"
        r"nieuwst\w*|youngest|jongst\w*)\b",
        question,
        re.IGNORECASE,
    )
    quantified = re.search(
        r"\b(?:how many|hoe ?veel|oldest|newest|youngest|oudst\w*|nieuwst\w*|jongst\w*"
        r"|founded|opgericht)\b",
        question,
        re.IGNORECASE,
    )
    return bool(short and asking and quantified and not (typed or placed or measured))


def _without_lead(question: str, mentions: Sequence[Mention]) -> str:
    """Return a question without a sentence before it that only says where.

    `I am in Ghent. Which museums are there?` becomes `Which museums are in Ghent?`.
    """
    lead = _LEAD.match(question)
    if lead is None:
        return question
    before = [m for m in mentions if m.end <= lead.end()]
    after = [m for m in mentions if m.start >= lead.end()]
    asked = {m.kind for m in after}
    if any(m.kind not in _PLACES for m in before) or len(before) > 1:
        return question
    rest = question[lead.end() :]
    if not before or asked & _PLACES:
        return rest if asked & (_TYPES | _ALONE) else question
    where = f"in {before[0].text}"
    made, changed = _DAAR.subn(where, rest, count=1)
    if changed:
        return made
    return f"{rest.rstrip(' ?!.')} {where}?" if asked & _TYPES else question


def _nowhere(question: str) -> bool:
    """Return whether a question says `there` or `in that city` for a place."""
    return bool(_THERE.search(question) or _THAT_PLACE.search(question))


def _capitalised(question: str, strange: Sequence[str]) -> str | None:
    """Return strange words in capitals that stand together: `and Rotterdam?`."""
    tokens = [t for t in tokens_of(question) if t.form in strange]
    if not all(token.text[0].isupper() for token in tokens):
        return None
    part = question[tokens[0].start : tokens[-1].end]
    return part if len(part.split()) <= len(tokens) + 2 else None


def _existing(question: str, kinds: set[str]) -> bool:
    """Return whether a question such as `how many archives are there` is whole."""
    return bool(kinds & _TYPES) and bool(
        re.search(r"how many|hoe ?veel|\ball\b|\balle\b", question, re.IGNORECASE)
    )


def _of_one(question: str, names: Sequence[str], antecedent: str) -> Resolution:
    """Return a question with the institution that it means by `it`."""
    if len(names) != 1:
        return Resolution(
            question=question, follow_up=True, candidates=tuple(names[:10])
        )

    def named(found: re.Match[str]) -> str:
        words = found.group().split()
        if words[0].casefold() in {"ligt", "is", "staat", "werd", "was"}:
            return f"{words[0]} {names[0]}"
        return f"{names[0]}'s" if words[0].casefold() == "its" else names[0]

    made = _IT.sub(named, question, count=1)
    return Resolution(question=made, follow_up=True, antecedent=antecedent)
