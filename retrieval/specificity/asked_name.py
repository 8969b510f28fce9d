"""The part of a question that must be the name of an institution."""

from __future__ import annotations

import re

from retrieval.specificity.words import tokens_of

__all__ = ["asked_name"]

_LEADS = re.compile(
    r"^(?:(?:please|can you|could you|kun je|kunt u|and|en)\s+)*(?:"
    r"where(?: is|'s)|what(?: is|'s| are)?(?: the \S+(?: code)? of)?|when (?:was|were)|"
    r"tell me (?:more )?about|tell me|"
    r"give me (?:\w+ )?(?:information|details) (?:about|on|of)|"
    r"find|search for|look up|show(?: me)?(?: the details of)?|i am looking for|"
    r"in which (?:city|town|country) (?:is|lies)|which type of institution is|"
    r"what do you know (?:about|of)|who (?:is|are)|do you know|"
    r"waar (?:is|ligt|staat|vind ik|bevindt zich)|"
    r"wat (?:is|zijn)(?: (?:de|het) \S+ van)?|"
    r"wanneer (?:is|werd|was)|vertel (?:me|mij)?(?: \w+)? ?over|vertel|"
    r"wat weet (?:je|u) (?:over|van)|zoek|toon(?: de gegevens van)?|"
    r"geef (?:me )?(?:informatie|gegevens|details) (?:over|van)|ik zoek|ken je|"
    r"in welke (?:stad|plaats) (?:ligt|staat|is)|wat voor (?:\w+ )?is"
    r")\s+(?:the |de |het |institution |instelling |museum called |called |genaamd )*",
    re.IGNORECASE,
)
_TAILS = re.compile(
    r"\s*(?:located|situated|founded|established|gevestigd|gelegen|opgericht|gesticht|"
    r"geopend|opened|please|alsjeblieft|aub|for me|op)?[\s?.!]*$",
    re.IGNORECASE,
)
_INTERROGATIVE = re.compile(
    r"(?:which|what|who|whose|how|when|where|welke?|wat|wie|wiens|hoe|hoeveel|wanneer|"
    r"waar|van wie|bij welke)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    '["\u201c\u201e\u00ab\']([^"\u201c\u201d\u201e\u00ab\u00bb]{2,120})["\u201d\u00bb\']'
)


def asked_name(question: str) -> str:
    """Return the part of a question that must be a name."""
    if quoted := _QUOTED.search(question):
        return quoted[1].strip()
    rest = _LEADS.sub("", question.strip())
    if rest == question.strip() and _INTERROGATIVE.match(rest):
        return ""
    rest = _TAILS.sub("", rest).strip(" ?!.,;:")
    if len(rest.split()) <= 8:
        return rest
    capital = [t for t in tokens_of(rest) if t.text[0].isupper()]
    if not capital:
        return ""
    return rest[capital[0].start : capital[-1].end]
