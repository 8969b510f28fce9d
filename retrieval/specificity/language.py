"""Whether a question is Dutch or English, by its small words."""

from __future__ import annotations

from retrieval.specificity.words import tokens_of

__all__ = ["language_of"]

_DUTCH = frozenset(
    ["de", "het", "een", "en", "in", "van", "wat", "welke", "welk", "waar", "wie", "hoe", "hoeveel", "zijn", "er", "is", "op", "voor", "met", "te", "uit", "dan", "meer", "minder", "geef", "toon", "noem", "zoek", "alle", "ik", "je", "u", "die", "dat", "deze", "aan", "bij", "of", "om", "na", "sinds", "tussen", "oudste", "nieuwste", "jongste", "opgericht", "gesticht", "musea", "archieven", "bibliotheken", "instellingen", "instelling", "bibliotheek", "archief", "galerie", "heeft", "hebben", "ook", "ligt", "staat", "vertel", "mij", "me", "over", "wanneer", "werd", "kun", "kunt", "land", "provincie", "stad", "jaar", "miljoen", "begroting", "vergelijk", "aantal", "daarvan", "daar", "ervan", "diezelfde", "hun", "naar", "niet", "geen", "wel"]
)
_ENGLISH = frozenset(
    ["the", "a", "an", "and", "in", "of", "what", "which", "where", "who", "how", "many", "are", "is", "there", "for", "with", "to", "from", "than", "more", "less", "fewer", "give", "show", "list", "find", "all", "i", "you", "that", "this", "these", "those", "at", "or", "after", "since", "between", "oldest", "newest", "youngest", "founded", "established", "museums", "archives", "libraries", "institutions", "institution", "library", "archive", "gallery", "galleries", "has", "have", "also", "tell", "me", "about", "when", "was", "were", "does", "do", "did", "can", "could", "country", "province", "city", "year", "million", "budget", "compare", "number", "over", "located", "my", "any", "please", "not", "it", "them", "their"]
)


def language_of(question: str, default: str = "en") -> str:
    """Return `nl` or `en`.

    Args:
        question: What is asked.
        default: What it is where its words say nothing or as much for both.
    """
    forms = [token.form for token in tokens_of(question)]
    dutch = sum(f in _DUTCH for f in forms)
    english = sum(f in _ENGLISH for f in forms)
    if dutch == english:
        return default
    return "nl" if dutch > english else "en"
