"""Where the sections of a block begin, whatever a model did to their headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.extraction.skn.characters import mapped

if TYPE_CHECKING:
    from ingest.extraction.variants import Section

__all__ = ["section_of"]

_NAMES: dict[str, Section] = {
    "src": "src",
    "source": "src",
    "sources": "src",
    "facts": "facts",
    "fact": "facts",
    "causal": "causal",
    "cause": "causal",
    "causes": "causal",
    "causality": "causal",
    "causal links": "causal",
    "gaps": "gaps",
    "gap": "gaps",
    "knowledge gaps": "gaps",
    "risk": "risk",
    "risks": "risk",
}
_WORDS = "|".join(sorted(_NAMES, key=len, reverse=True))
_STRICT = re.compile(r"\s*@(src|facts|causal|gaps|risk)(?=\s|$)(.*)")
_MARKED = re.compile(rf"[\s*#>_`+-]*@\s*({_WORDS})\b[*_`]*\s*:?[*_`]*\s*(.*)", re.I)
_ALONE = re.compile(rf"[\s*#>_`+\[-]*({_WORDS})\]?[*_`]*\s*:?[*_`]*\s*", re.I)
_LINE = re.compile(
    r"[\s*#>_`-]*(src|source|risks?)\b[*_`]*\s*:?\s*"
    r"(.*(?:reliability|fresh|misdirection).*)",
    re.I,
)


def section_of(line: str) -> tuple[Section, str, bool] | None:
    """Return the section that a line begins, the rest of it, whether it is well made.

    Args:
        line: What a model wrote.

    Returns:
        None where it begins none.
    """
    if found := _STRICT.fullmatch(line):
        return _NAMES[found[1]], found[2].strip(), True
    plain = mapped(line)
    for pattern in (_MARKED, _ALONE, _LINE):
        if found := pattern.fullmatch(plain):
            groups = found.lastindex or 1
            rest = line[found.start(2) : found.end(2)] if groups > 1 else ""
            return _NAMES[found[1].casefold()], rest.strip(), False
    return None
