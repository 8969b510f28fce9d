"""TeX as a line of text: Greek letters and signs, no commands, no braces."""

from __future__ import annotations

import re

from knowtrail.ingest.wikitext.languages import words

_LIMIT = 400
_HIGH, _LOW = "\ue000", "\ue001"
_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_RAISABLE = re.compile(r"[0-9+\-−=()n]+")
_GREEK = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda
    mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
_SYMBOLS = {
    **dict(
        zip(
            _GREEK.split(),
            "αβγδεεζηθϑικλμνξπρστυφφχψωΓΔΘΛΞΠΣΥΦΨΩ",
            strict=True,
        )
    ),
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "ast": "*",
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "ll": "≪",
    "gg": "≫", "approx": "≈", "equiv": "≡", "sim": "~", "simeq": "≃", "cong": "≅",
    "propto": "∝", "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑",
    "prod": "∏", "int": "∫", "oint": "∮", "to": "→", "rightarrow": "→",
    "longrightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "Leftarrow": "⇐",
    "implies": "⇒", "iff": "⇔", "Leftrightarrow": "⇔", "leftrightarrow": "↔",
    "mapsto": "↦", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆",
    "supset": "⊃", "cup": "∪", "cap": "∩", "emptyset": "∅", "varnothing": "∅",
    "forall": "∀", "exists": "∃", "neg": "¬", "lnot": "¬", "land": "∧", "wedge": "∧",
    "lor": "∨", "vee": "∨", "oplus": "⊕", "otimes": "⊗", "circ": "∘", "bullet": "•",
    "ldots": "…", "dots": "…", "cdots": "…", "vdots": "…", "dotsc": "…",
    "dotsb": "…", "dotsm": "…", "thicksim": "~", "nmid": "∤", "hookrightarrow": "↪",
    "star": "⋆", "triangle": "△", "square": "□", "therefore": "∴", "because": "∵",
    "prime": "′",
    "dagger": "†", "hbar": "ħ", "ell": "ℓ", "Re": "Re", "Im": "Im", "aleph": "ℵ",
    "langle": "⟨", "rangle": "⟩", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊",
    "rfloor": "⌋", "mid": "|", "vert": "|", "Vert": "‖", "parallel": "∥",
    "perp": "⊥", "angle": "∠", "degree": "°", "setminus": "∖", "backslash": "∖",
    "colon": ":", "quad": " ", "qquad": " ", "lbrace": "\uff5b", "rbrace": "\uff5d",
}  # fmt: skip
_DROPPED = words(
    "left|right|big|Big|bigg|Bigg|bigl|bigr|Bigl|Bigr|displaystyle|textstyle|"
    "scriptstyle|limits|nolimits|mathrm|mathbf|mathit|mathsf|mathbb|mathcal|mathfrak|"
    "mathscr|boldsymbol|bold|rm|bf|it|text|textrm|textbf|textit|mbox|hbox|"
    "operatorname|overline|bar|hat|widehat|tilde|widetilde|vec|dot|ddot|underline|"
    "underbrace|overbrace|overrightarrow|displaylimits|color|nonumber|hline|"
    "begingroup|ce"
)
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
        return text.translate(_RAISED)
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
    """Rewrite the innermost groups once."""
    tex = _WORDS.sub(r"\1", tex)
    tex = _FRACTION.sub(_fraction, tex)
    tex = _SHORT_FRACTION.sub(r"\1/\2", tex)
    tex = _ROOT.sub(lambda match: f"√{_wrapped(match[1])}", tex)
    tex = _RAISE.sub(_raise, tex)
    tex = _LOWER.sub(_lower, tex)
    return _GROUP.sub(r" \1", tex)


def _fraction(match: re.Match[str]) -> str:
    """Write a fraction on one line."""
    return f"{_wrapped(match[1])}/{_wrapped(match[2])}"


def _raise(match: re.Match[str]) -> str:
    """Write an exponent."""
    text = (match[1] if match[1] is not None else match[2]).strip()
    if _RAISABLE.fullmatch(text):
        return text.translate(_RAISED)
    if text in {"\\prime", "'"}:
        return "′"
    if text in {"\\circ", "\\degree"}:
        return "°"
    return f"{_HIGH}{_wrapped(text)}"


def _lower(match: re.Match[str]) -> str:
    """Write an index."""
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
    """Write what a command shows."""
    name = match[1]
    if name in _DROPPED:
        return ""
    return _SYMBOLS.get(name, f" {name} ")
