"""Questions without greetings, thanks, requests and the spelling of messages."""

from __future__ import annotations

import re

__all__ = ["plain_wording"]

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
    r"aub|svp|a\.u\.b|s\.v\.p|if you (?:can|could|would)|for me)\b(?P<end>[\s.!?]*)$",
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


def plain_wording(question: str) -> str:
    """Return a question without what does not belong to what it asks.

    Greetings, thanks and `could you tell me` go; the spelling of short messages and
    signs such as `>` become words. A question that is nothing else stays as it is.

    Args:
        question: As it was typed.
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
