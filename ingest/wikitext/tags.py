"""Comments, extension tags and HTML: what is hidden goes, what is shown stays.

TeX is shown as a line of text: Greek letters and signs, no commands, no braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from knowtrail.ingest.wikitext.marks import BREAK, guard
from knowtrail.ingest.wikitext.words import WORDS

_LIMIT = 400
_HIGH, _LOW = "\ue000", "\ue001"
_HIGH_SIGNS = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_RAISABLE = re.compile(r"[0-9+\-−=()n]+")
_SYMBOLS: dict[str, str] = WORDS["tex"]
_NO_TEX = frozenset(WORDS["dropped_tex"])
_ENVIRONMENT = re.compile(r"\\(?:begin|end|over|atop|choose|matrix|cases|hline)\b|\\\\")
_FRACTION = re.compile(r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SHORT_FRACTION = re.compile(r"\\[dtc]?frac\s*([0-9a-zA-Z])\s*([0-9a-zA-Z])")
_ROOT = re.compile(r"\\sqrt\s*(?:\[[^\[\]]*\])?\s*\{([^{}]*)\}")
_RAISE = re.compile(r"\^\s*(?:\{([^{}]*)\}|(\\?[^\s{}\\]|\\[a-zA-Z]+))")
_LOWER = re.compile(r"_\s*(?:\{([^{}]*)\}|([^\s{}\\]|\\[a-zA-Z]+))")
_WORDS = re.compile(
    r"\\(?:math[a-z]+|text[a-z]*|mbox|hbox|operatorname|boldsymbol|rm|bar|vec|hat|ce|"
    r"overline|tilde|underline)\s*\{([^{}]*)\}"
)
_GROUP = re.compile(r"(?<![a-zA-Z}^_\]])\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([a-zA-Z]+)\*?")
_SPACING = re.compile(r"\\[,;:!> ]|~|&")
_SPACES = re.compile(r"\s+")
_LOOSE = re.compile(r" (?=[,;.)\]}²³¹⁰⁴-ⁿ^_])|(?<=[(\[{]) ")


def superscript(text: str) -> str:
    """Return text as it reads when it is set high: 10⁶, 19th, xⁿ, x^k."""
    text = text.strip()
    if not text:
        return ""
    if _RAISABLE.fullmatch(text):
        return text.translate(_HIGH_SIGNS)
    return text if len(text) > 1 or not text.isascii() else f"^{text}"


def readable_formula(tex: str) -> str:
    """Return a short formula as text; empty for matrices, cases and long ones."""
    tex = tex.strip().removesuffix("\\\\").strip()
    if len(tex) > _LIMIT or _ENVIRONMENT.search(tex):
        return ""
    tex = tex.replace("\\{", "\\lbrace ").replace("\\}", "\\rbrace ")
    tex = _SPACING.sub(" ", tex)
    for _ in range(12):
        reduced = _reduce(tex)
        if reduced == tex:
            break
        tex = reduced
    tex = _COMMAND.sub(_command, tex)
    tex = tex.replace("\\%", "%").replace("\\$", "$").replace("\\", "")
    tex = tex.replace("{", "").replace("}", "").replace(_HIGH, "^").replace(_LOW, "_")
    tex = tex.replace("\uff5b", "{").replace("\uff5d", "}")
    return _LOOSE.sub("", _SPACES.sub(" ", tex)).strip()


def _reduce(tex: str) -> str:
    tex = _WORDS.sub(r"\1", tex)
    tex = _FRACTION.sub(_fraction, tex)
    tex = _SHORT_FRACTION.sub(r"\1/\2", tex)
    tex = _ROOT.sub(lambda match: f"√{_wrapped(match[1])}", tex)
    tex = _RAISE.sub(_raise, tex)
    tex = _LOWER.sub(_lower, tex)
    return _GROUP.sub(r" \1", tex)


def _fraction(match: re.Match[str]) -> str:
    return f"{_wrapped(match[1])}/{_wrapped(match[2])}"


def _raise(match: re.Match[str]) -> str:
    text = (match[1] if match[1] is not None else match[2]).strip()
    if _RAISABLE.fullmatch(text):
        return text.translate(_HIGH_SIGNS)
    if text in {"\\prime", "'"}:
        return "′"
    if text in {"\\circ", "\\degree"}:
        return "°"
    return f"{_HIGH}{_wrapped(text)}"


def _lower(match: re.Match[str]) -> str:
    text = (match[1] if match[1] is not None else match[2]).strip()
    return f"{_LOW}{_wrapped(text)}"


def _wrapped(text: str) -> str:
    """Put brackets around what is more than one thing."""
    text = text.strip()
    single = re.fullmatch(r"\\?\w+|[^\s]", text)
    return (
        text if single or (text.startswith("(") and text.endswith(")")) else f"({text})"
    )


def _command(match: re.Match[str]) -> str:
    name = match[1]
    if name in _NO_TEX:
        return ""
    return _SYMBOLS.get(name, f" {name} ")


_DROPPED = frozenset(WORDS["dropped_tags"])
_SHOWN: dict[str, Callable[[str], str]] = {
    "nowiki": guard,
    "math": lambda body: guard(readable_formula(body)),
    "chem": lambda body: guard(readable_formula(body)),
    "ce": lambda body: guard(readable_formula(body)),
}
_OPENING = re.compile(
    rf"<!--|<({'|'.join(sorted(_DROPPED | set(_SHOWN)))})\b([^<>]{{0,2000}})>",
    re.IGNORECASE,
)
_OWN_LINE = re.compile(r"[ \t]*\n")


def strip_extensions(text: str) -> str:
    """Drop comments, references and the like; show nowiki and formulas as text.

    A tag that is never closed is dropped alone. What nowiki and formulas show is
    guarded, so that later passes see no markup in it.
    """
    out: list[str] = []
    closings: dict[str, re.Match[str] | None] = {}
    position = 0
    while match := _OPENING.search(text, position):
        out.append(text[position : match.start()])
        if match[1] is None:
            position = _after_comment(text, match, out)
            continue
        position, name = match.end(), match[1].lower()
        if match[2].endswith("/"):
            continue
        if (closing := _closing(text, name, position, closings)) is not None:
            if (show := _SHOWN.get(name)) is not None:
                out.append(show(text[position : closing.start()]))
            position = closing.end()
    out.append(text[position:])
    return "".join(out)


def _after_comment(text: str, match: re.Match[str], out: list[str]) -> int:
    """Skip a comment; with its whole line where it stands alone."""
    end = text.find("-->", match.end())
    if end < 0:
        return len(text)
    before = out[-1].rstrip(" \t")
    rest = _OWN_LINE.match(text, end + 3)
    if rest is None or not (match.start() == 0 or before.endswith("\n")):
        return end + 3
    out[-1] = before
    return rest.end()


def _closing(
    text: str, name: str, position: int, closings: dict[str, re.Match[str] | None]
) -> re.Match[str] | None:
    """Find the closing tag after a position; each is searched for once."""
    known = closings.get(name)
    if (known is None and name not in closings) or (known and known.start() < position):
        pattern = re.compile(rf"</{name}\s*>", re.IGNORECASE)
        known = closings[name] = pattern.search(text, position)
    return known


_REPLACED: dict[str, str] = {"br": BREAK} | WORDS["opened_tags"]
_CLOSED: dict[str, str] = {"br": BREAK} | WORDS["closed_tags"]
_PLAIN = WORDS["plain_tags"]
_HTML = re.compile(
    rf"<(/?)({'|'.join(sorted({*_PLAIN, *_REPLACED}, key=len, reverse=True))})"
    r"(?=[\s/>])([^<>]{0,2000})>",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"<span[^<>]{0,300}display\s*:\s*none[^<>]{0,300}>[^<>]{0,300}</span\s*>",
    re.IGNORECASE,
)
_RAISED = re.compile(r"<sup\b[^<>]{0,300}>([^<>]{0,60})</sup\s*>", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"""(?:row|col)span\s*=\s*["']?\d+["']?""", re.IGNORECASE)


def strip_html(text: str) -> str:
    """Drop the HTML tags that MediaWiki knows; blocks become lines, tables tables."""
    if "<" not in text:
        return text
    text = _HIDDEN.sub("", text)
    text = _RAISED.sub(lambda match: superscript(match[1]), text)
    return _HTML.sub(_html, text)


def _html(match: re.Match[str]) -> str:
    name = match[2].lower()
    if match[1]:
        return _CLOSED.get(name, _REPLACED.get(name, ""))
    if name in {"td", "th"}:
        spans = " ".join(_ATTRIBUTES.findall(match[3]))
        return f"{_REPLACED[name]}{spans} | " if spans else _REPLACED[name]
    return _REPLACED.get(name, "")
