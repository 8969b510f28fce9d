"""The forgiving reader of SKN: what models commonly get wrong, put right and told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.ingest.extraction.skn.line_repairs import (
    ARROW,
    BRACKETED,
    fact_parts,
    has_key,
    is_nothing,
    link_parts,
    mapped,
    meant,
    read_fact,
    read_gap,
    read_links,
    read_risk,
    read_source,
)
from knowtrail.ingest.extraction.skn.notation import (
    Repair,
    SknBlock,
    SknError,
    check_sections,
    is_whole,
    parse,
)
from knowtrail.ingest.extraction.variants import SKN_SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowtrail.ingest.extraction.skn.notation import SknFact, SknLink
    from knowtrail.ingest.extraction.variants import Section

_NAMES: dict[str, Section] = meant("section")
_WORDS = "|".join(sorted(_NAMES, key=len, reverse=True))
_STRICT = re.compile(r"\s*@(src|facts|causal|gaps|risk)(?=\s|$)(.*)")
_MARKED = re.compile(rf"[\s*#>_`+-]*@\s*({_WORDS})\b[*_`]*\s*:?[*_`]*\s*(.*)", re.I)
_ALONE = re.compile(rf"[\s*#>_`+\[-]*({_WORDS})\]?[*_`]*\s*:?[*_`]*\s*", re.I)
_LINE = re.compile(
    r"[\s*#>_`-]*(src|source|risks?)\b[*_`]*\s*:?\s*"
    r"(.*(?:reliability|fresh|misdirection).*)",
    re.I,
)


def _section_of(line: str) -> tuple[Section, str, bool] | None:
    """Return the section that a line begins, its rest, whether it is well made."""
    if found := _STRICT.fullmatch(line):
        return _NAMES[found[1]], found[2].strip(), True
    plain = mapped(line)
    for pattern in (_MARKED, _ALONE, _LINE):
        if found := pattern.fullmatch(plain):
            groups = found.lastindex or 1
            rest = line[found.start(2) : found.end(2)] if groups > 1 else ""
            return _NAMES[found[1].casefold()], rest.strip(), False
    return None


_T = TypeVar("_T")
MOST_LINES = 20
"""Lines that a text in quotes may go on for."""

MOST_ITEMS = 200
"""Facts, links and gaps that are read; models that run in circles say more."""

_BEGIN = re.compile(r"[\s*#`>]*[\[<{(]\s*SKN\s*[\])}>][*`]*", re.IGNORECASE)
_END = re.compile(r"[\s*#`>]*[\[<{(]\s*(?:/|END\s+)SKN\s*[\])}>][*`]*", re.IGNORECASE)
_END_INSIDE = re.compile(r"\s\[\s*/SKN\s*\]\s*$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*")
_NUMBERED = re.compile(r"[\[(]\s*\d*\.?\d+\s*%?\s*[\])]\s*$")
_LISTED = re.compile(r"\d{1,3}[.)]\s")
_BARE_NUMBER = re.compile(
    r"(?:[:|,{]\s*|(?:strength|confidence|conf)\s*[:=]?\s*|"
    r"(?<!\bto)(?<!\bby)(?<!\bof)(?<!\bat)(?<!\bversion)\s)0?\.\d+\s*\}?$",
    re.IGNORECASE,
)
_NUMBER_INSIDE = re.compile(rf"\s{BRACKETED}", re.IGNORECASE)
_GAP = re.compile(r"\s{9,}")
"""Long runs of white space say nothing, and cost patterns their time."""

_OPEN_QUOTE = re.compile(r'\s*[!.~]\s*"')


def parse_forgiving(
    text: str, *, sections: Iterable[str] | None = None
) -> tuple[SknBlock, tuple[Repair, ...]]:
    """Read a block, putting right what can be.

    Words around the block, code fences, a missing end, several blocks, several items on
    a line, strange arrows, quotes, dashes, symbols, cases and numbers are put right;
    what says nothing is left out. Nothing is made up: what is missing stays missing.

    Args:
        text: What a model wrote.
        sections: What a variant has; others are left out and told, `src` and `risk`
            told where they are missing or not whole. None for any.

    Returns:
        The block and what was put right, nothing where the strict reader takes it.

    Raises:
        SknError: If nothing in it can be used; with line and column of the strict
            reader.
    """
    wanted = None if sections is None else tuple(sections)
    try:
        block = parse(text.strip())
        if wanted is not None:
            check_sections(block, wanted)
        if not block.is_empty and not _is_strange(block):
            return block, ()
        problem = SknError("The block has neither facts nor links nor gaps.")
    except SknError as error:
        problem = error
    reading = _Reading(wanted)
    reading.read(text)
    block = reading.block()
    if block.is_empty:
        raise problem
    if not reading.repairs:
        reading.tell("syntax", str(problem), line=problem.line)
    return block, tuple(reading.repairs)


class _Reading:
    """One reading of a text, line by line."""

    def __init__(self, wanted: tuple[str, ...] | None) -> None:
        self._wanted = wanted
        self.repairs: list[Repair] = []
        self._line = self._column = self._shift = 0
        self._section: Section | None = None
        self._seen: list[Section] = []
        self._blocks = 1
        self._block_of: dict[Section, int] = {}
        self._words: dict[Section, list[str]] = {"src": [], "risk": []}
        self._places: dict[Section, int] = {}
        self._facts: list[SknFact] = []
        self._links: list[SknLink] = []
        self._gaps: list[str] = []

    def tell(self, code: str, message: str, *, line: int | None = None) -> None:
        """Keep what was put right, once for each line and message."""
        column = self._column if line is None else 0
        place = self._line if line is None else line
        repair = Repair(line=place, code=code, message=message, column=column)
        if repair not in self.repairs[-5:]:
            self.repairs.append(repair)

    def read(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = [_GAP.sub(" ", line) for line in lines]
        begin: int | None = self._begin(lines)
        while begin is not None:
            stop, after = self._end(lines, begin)
            self._read_lines(lines[:stop], begin)
            begin = self._next(lines, after)

    def _read_lines(self, lines: list[str], index: int) -> None:
        while index < len(lines):
            self._line, self._column = index + 1, 0
            line = lines[index]
            while (
                self._section == "facts"
                and index + 1 < min(len(lines), self._line + MOST_LINES)
                and _is_open(line)
                and _goes_on(lines[index + 1])
            ):
                index += 1
                line = f"{line}\n{lines[index]}"
                self.tell("line_end", "a text goes on on the next line")
            self._take(line)
            index += 1

    def _begin(self, lines: list[str]) -> int:
        begin = next((i for i, x in enumerate(lines) if _BEGIN.match(mapped(x))), None)
        if begin is None:
            begin = next((i for i, x in enumerate(lines) if _is_start(x)), 0)
            self.tell("no_begin", "[SKN] is missing", line=begin + 1)
        else:
            self._open(lines, begin)
        if _has_words(lines[:begin]):
            self.tell("text_before", "text before the block left out", line=1)
        return begin

    def _next(self, lines: list[str], after: int) -> int | None:
        rest = range(after, len(lines))
        begin = next((i for i in rest if _BEGIN.match(mapped(lines[i]))), None)
        if _has_words(lines[after:begin]):
            self.tell("text_after", "text after the block left out", line=after + 1)
        if begin is not None:
            self.tell("second_block", "another block taken too", line=begin + 1)
            self._open(lines, begin)
            self._section, self._seen = None, []
            self._blocks += 1
        return begin

    def _open(self, lines: list[str], begin: int) -> None:
        found = _BEGIN.match(mapped(lines[begin]))
        rest = lines[begin][found.end() :] if found else ""
        if rest.strip() or lines[begin].strip() != "[SKN]":
            self.tell("begin", f"{lines[begin][:40]!r} has [SKN]", line=begin + 1)
        lines[begin] = rest

    def _end(self, lines: list[str], begin: int) -> tuple[int, int]:
        for index in range(begin, len(lines)):
            plain = mapped(lines[index])
            if _END.match(plain):
                if lines[index].strip() != "[/SKN]":
                    said = f"{lines[index].strip()[:40]!r} taken for [/SKN]"
                    self.tell("end", said, line=index + 1)
                return index, index + 1
            if (found := _END_INSIDE.search(plain)) and not _is_open(lines[index]):
                self.tell("end", "[/SKN] is not on a line of its own", line=index + 1)
                lines[index] = lines[index][: found.start()]
                return index + 1, index + 1
            if index > begin and _BEGIN.match(plain):
                self.tell("no_end", "[/SKN] is missing before it", line=index + 1)
                return index, index
        self.tell("no_end", "[/SKN] is missing: the answer was cut", line=len(lines))
        return len(lines), len(lines)

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        if _FENCE.fullmatch(line):
            self.tell("fence", "code fence left out")
            return
        heading = _section_of(line)
        if heading is None:
            section = self._section or self._guess(line)
            if section is not None:
                self._content(line, section)
            return
        section, rest, well_made = heading
        if not well_made:
            self.tell("heading", f"{line.strip()[:40]!r} taken for @{section}")
        if section in self._seen:
            self.tell("repeated", f"@{section} is there twice: taken together")
        elif self._seen and SKN_SECTIONS.index(section) < SKN_SECTIONS.index(
            self._seen[-1]
        ):
            self.tell("order", f"@{section} is not in its place")
        self._section = section
        self._seen.append(section)
        if rest and section not in self._words:
            self.tell("one_line", f"@{section} has its content on the same line")
        if rest:
            self._shift = max(0, line.rfind(rest))
            self._content(rest, section)
            self._shift = 0

    def _guess(self, line: str) -> Section | None:
        """Return the section of a line before any heading, None for mere words."""
        plain = mapped(line)
        if not (_NUMBERED.search(plain) or _OPEN_QUOTE.match(plain)):
            self.tell("text_around", f"{line.strip()[:40]!r} left out")
            return None
        section: Section = "causal" if "->" in plain or ARROW in plain else "facts"
        self.tell("no_heading", f"no section has begun: taken for @{section}")
        return section

    def _content(self, line: str, section: Section) -> None:
        if section in self._words:
            if self._blocks != self._block_of.setdefault(section, self._blocks):
                self.tell("dropped", f"@{section} of another block left out")
                return
            if self._words[section] and line.strip():
                self.tell("line_end", f"@{section} goes on on another line")
            self._words[section].append(line.strip())
            self._places.setdefault(section, self._line)
        elif len(self._facts) + len(self._links) + len(self._gaps) >= MOST_ITEMS:
            self.tell("too_many", f"more than {MOST_ITEMS} items", line=0)
        elif section == "gaps":
            self._at(line)
            gap = read_gap(line, self.tell)
            self._add(self._gaps, [] if gap is None else [gap])
        elif section == "facts":
            for place, part in self._parts(fact_parts(line)):
                self._at(line, place)
                fact = read_fact(part, self.tell)
                self._add(self._facts, [] if fact is None else [fact])
        else:
            for place, part in self._parts(link_parts(line)):
                self._at(line, place)
                self._add(self._links, read_links(part, self.tell))

    def _parts(self, parts: list[tuple[int, str]]) -> list[tuple[int, str]]:
        if len(parts) > 1:
            self.tell("one_line", f"{len(parts)} items on one line taken apart")
        return parts

    def _at(self, line: str, place: int = 0) -> None:
        rest = line[place:]
        self._column = self._shift + place + len(rest) - len(rest.lstrip()) + 1

    def _add(self, known: list[_T], new: list[_T]) -> None:
        for item in new:
            if item in known:
                self.tell("repeated", "said before: left out")
            else:
                known.append(item)

    def block(self) -> SknBlock:
        """Return what was read, without what the variant has not."""
        self._column = 0
        self._line = self._places.get("src", 0)
        source = read_source(" | ".join(self._words["src"]), self.tell)
        self._line = self._places.get("risk", 0)
        risk = read_risk(" | ".join(self._words["risk"]), self.tell)
        self._line = 0
        block = SknBlock(
            source=source,
            facts=tuple(self._facts),
            causal=tuple(self._links),
            gaps=tuple(self._gaps),
            risk=risk,
        )
        if self._wanted is None:
            return block
        for name in SKN_SECTIONS:
            field = "source" if name == "src" else name
            if name not in self._wanted and getattr(block, field):
                self.tell("left_out", f"@{name} is not part of the variant: left out")
                nothing: Any = getattr(SknBlock(), field)
                block = replace(block, **{field: nothing})
        for name, part in (("src", block.source), ("risk", block.risk)):
            if name in self._wanted and not is_whole(part):
                self.tell("missing", f"@{name} is missing or not whole")
        return block


def _is_strange(block: SknBlock) -> bool:
    """Say whether a block keeps to the grammar and yet has what needs a repair."""
    texts = [fact.text for fact in block.facts]
    texts += [text for link in block.causal for text in (link.cause, link.effect)]
    if any(map(is_nothing, [*texts, *block.gaps])):
        return True
    if any(_NUMBER_INSIDE.search(text) for text in texts):
        return True
    if any(_is_unfinished(link) for link in block.causal):
        return True
    return block.source is not None and (
        is_nothing(block.source.domain) or has_key(block.source.domain)
    )


def _is_unfinished(link: SknLink) -> bool:
    """Say whether a link has a list's number, or its own as a part of a text."""
    bare = link.strength is None and _BARE_NUMBER.search(link.effect)
    return bool(bare or _LISTED.match(link.cause))


def _has_words(lines: list[str]) -> bool:
    return any(line.strip() and not _FENCE.fullmatch(line) for line in lines)


def _is_start(line: str) -> bool:
    """Say whether a line can be the first of a block without [SKN]."""
    return _section_of(line) is not None or _OPEN_QUOTE.match(mapped(line)) is not None


def _is_open(line: str) -> bool:
    """Say whether a text in straight quotes goes on after the line."""
    if not _OPEN_QUOTE.match(line):
        return False
    rest = re.sub(r"\\\\.", "", line)
    return rest.count('"') == 1


def _goes_on(line: str) -> bool:
    """Say whether a line can go on with a text: it begins nothing itself."""
    return _section_of(line) is None and not (
        _END.match(mapped(line)) or _OPEN_QUOTE.match(mapped(line))
    )
