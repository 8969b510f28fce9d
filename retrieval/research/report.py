"""The report: claims with numbered citations, what was asked, what was not found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from knowtrail.graph.cli.answers import told_by
from knowtrail.graph.cli.rows import counted, plain_text
from knowtrail.graph.files.templates import templates
from knowtrail.ingest.keys import camel_case
from knowtrail.retrieval.corpora import find_corpus
from knowtrail.retrieval.research.records import depth_first, open_questions, passages
from knowtrail.retrieval.views.labels import cut, plain
from knowtrail.retrieval.views.palette import COLORS, INK, OTHERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.research.desk import Desk
    from knowtrail.retrieval.research.records import (
        Claim,
        Cost,
        Finding,
        ResearchState,
        SubQuestion,
        Verdict,
    )

EXTRACTED = (
    "No language model was asked: every statement is a sentence of a document, word "
    "for word, chosen because it is near one of the questions below and unlike the "
    "others. Nobody has drawn a conclusion from them."
)
STOPS = {
    "budget": "the budget was spent while questions were open",
    "nothing_new": "no walk led to a further question",
    "nothing_found": "no walk found a sentence that speaks to a question",
}
WEAK = 0.35
"""Cosine below which a sentence of all-MiniLM-L6-v2 hardly speaks to a question."""
LABEL, GAP = 380, 24
HELD = ("quoted", "supported")
"""Verdicts with which a claim stands in the report as found."""
_FOLDER = Path(__file__).parent
_MARKS = re.compile(
    r"(^\d+(?=[.)])|www(?=\.)|(?=[\\`*_{}\[\]<>#|~&$])|^(?=[-+=])|(?=://))(.)",
    re.IGNORECASE,
)
"""What begins markup, a block at the start of a text or a link without marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A stored sentence that is cited by its number."""

    number: int
    sentence_id: str
    text: str
    document_id: str
    title: str
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A claim as it is reported, with the numbers of its sources."""

    text: str
    verdict: str
    by: str
    score: float | None
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReport:
    """What research found.

    Attributes:
        id: That of the Research node.
        question: What was to be found out.
        corpus: Where.
        model: Name of the language model; None for an extractive report.
        parts: Headings with the statements that their sentences support.
        doubtful: Statements that their sentences do not support, or contradict.
        sources: The sentences that are cited.
        questions: What was asked, in order.
        findings: What the walks said.
        not_found: What was asked without an answer, or not asked any more.
        notes: What a reader must know.
        stop_reason: Why it ended, see `STOPS`.
        cost: What was spent.
        chunks: Ids of the passages that were read.
        picture: The walks as SVG.
    """

    id: str
    question: str
    corpus: str
    model: str | None
    parts: tuple[tuple[str, tuple[Statement, ...]], ...]
    doubtful: tuple[Statement, ...]
    sources: tuple[Source, ...]
    questions: tuple[SubQuestion, ...]
    findings: tuple[Finding, ...]
    not_found: tuple[str, ...]
    notes: tuple[str, ...]
    stop_reason: str
    cost: Cost
    chunks: tuple[str, ...]
    picture: str

    def as_dict(self) -> dict[str, Any]:
        """Return all but the picture as JSON values with camelCase names."""
        shown = asdict(self)
        del shown["picture"]
        return cast("dict[str, Any]", _camel_cased(shown))

    @property
    def about(self) -> str:
        """Return in a sentence what was done."""
        return (
            f"{counted(self.cost['walks'], 'walk')} through corpus {self.corpus}, "
            f"{counted(len(self.chunks), 'passage')} read, "
            f"{counted(self.cost['calls'], 'call')} of a language model. "
            f"It ended because {STOPS[self.stop_reason]}."
        )

    @property
    def tree(self) -> list[SubQuestion]:
        """Return what was asked, each question followed by those that it led to."""
        return depth_first(self.questions)

    def markdown(self, picture: str | None = None) -> str:
        """Return the report as Markdown; nothing in a text can become markup.

        Args:
            picture: The address of the walks as a picture, where there is a file.
        """
        page = templates(_FOLDER, escape=_escaped).get_template("report.md")
        address = None if picture is None else quote(picture)
        return f"{page.render(report=self, address=address).rstrip()}\n"

    def html(self) -> str:
        """Return the report as a page that needs nothing else and can reach nothing."""
        from markupsafe import Markup

        picture = Markup(self.picture)  # noqa: S704  (made by a template)
        page = templates(_FOLDER).get_template("report.html")
        return page.render(report=self, picture=picture)


def report_of(desk: Desk, state: ResearchState, *, goes_on: bool) -> ResearchReport:
    """Return the report of a run that has ended, from what is stored now."""
    findings = {finding["id"]: finding for finding in state["findings"]}
    cited = dict.fromkeys(
        sentence
        for claim in state["claims"]
        for finding in claim["findings"]
        for sentence in findings[finding]["sentences"]
    )
    rows = {i: row for i, row in desk.stored(cited).items() if i in cited}
    numbers = {i: number for number, i in enumerate((i for i in cited if i in rows), 1)}
    statements = {
        claim["id"]: _statement(claim, findings, numbers) for claim in state["claims"]
    }
    held = [c for c in state["claims"] if statements[c["id"]].verdict in HELD]
    parts = _parts(held, findings, rows) if desk.model is None else {"": held}
    return ResearchReport(
        id=desk.run,
        question=desk.question,
        corpus=desk.corpus.name,
        model=None if desk.model is None else desk.model.name,
        parts=tuple(
            (heading, tuple(statements[c["id"]] for c in claims))
            for heading, claims in parts.items()
            if claims
        ),
        doubtful=tuple(one for one in statements.values() if one.verdict not in HELD),
        sources=tuple(
            Source(
                number=number,
                sentence_id=i,
                text=rows[i]["text"],
                document_id=rows[i]["document"],
                title=rows[i]["title"],
                url=rows[i]["url"],
            )
            for i, number in numbers.items()
        ),
        questions=tuple(state["questions"]),
        findings=tuple(state["findings"]),
        not_found=tuple(_not_found(state)),
        notes=tuple(_notes(desk, state, goes_on=goes_on)),
        stop_reason=state["stop"],
        cost=state["cost"],
        chunks=tuple(passages(state["questions"])),
        picture=_picture(desk, state, {row["document"] for row in rows.values()}),
    )


def _statement(
    claim: Claim, findings: Mapping[str, Finding], numbers: Mapping[str, int]
) -> Statement:
    verdict = cast("Verdict", claim["verdict"])  # a run ends with its check
    sentences = (s for f in claim["findings"] for s in findings[f]["sentences"])
    return Statement(
        text=claim["text"],
        verdict=verdict["verdict"],
        by=verdict["by"],
        score=verdict["score"],
        numbers=tuple(dict.fromkeys(numbers[s] for s in sentences if s in numbers)),
    )


def _parts(
    claims: Sequence[Claim],
    findings: Mapping[str, Finding],
    rows: Mapping[str, dict[str, Any]],
) -> dict[str, list[Claim]]:
    """Group sentences by the theme that most of them share, else by their document."""
    of = {
        claim["id"]: rows[findings[claim["findings"][0]]["sentences"][0]]
        for claim in claims
    }
    shared = Counter(theme for row in of.values() for theme in row["themes"])
    parts: dict[str, list[Claim]] = {}
    for claim in claims:
        row = of[claim["id"]]
        theme = max(row["themes"], key=lambda name: shared[name], default=row["title"])
        parts.setdefault(theme, []).append(claim)
    return parts


def _not_found(state: ResearchState) -> list[str]:
    """Say which questions have no finding, or none near, and which were not asked."""
    best: dict[str, float] = {}
    for finding in state["findings"]:
        nearest = best.get(finding["question"], 0.0)
        best[finding["question"]] = max(nearest, finding["score"])
    left = [
        f"{question['text']} (nothing new was found)"
        for question in state["questions"]
        if question["walked"] and question["id"] not in best
    ]
    left += [
        f"{question['text']} (nothing near it: the nearest sentence has a cosine of "
        f"{best[question['id']]:.2f})"
        for question in state["questions"]
        if not question["depth"] and best.get(question["id"], 1.0) < WEAK
    ]
    waiting = open_questions(state["questions"])
    return left + [f"{q['text']} (not asked: the budget was spent)" for q in waiting]


def _notes(desk: Desk, state: ResearchState, *, goes_on: bool) -> list[str]:
    """Say what a reader must know."""
    now = find_corpus(desk.connection, desk.corpus.name).version
    shown = {finding for claim in state["claims"] for finding in claim["findings"]}
    return told_by(
        _FOLDER,
        "notes.txt",
        desk=desk,
        state=state,
        extracted=EXTRACTED,
        judged=Counter(c["verdict"]["by"] for c in state["claims"] if c["verdict"]),
        rest=len(state["findings"]) - len(shown),
        changed=now != desk.corpus.version,
        goes_on=goes_on,
    ).splitlines()


def _picture(desk: Desk, state: ResearchState, cited: set[str]) -> str:
    walks = desk.connection.read("research/walks", research=desk.run)
    steps = {row["question"]: row["steps"] for row in walks}
    walked = [q for q in depth_first(state["questions"]) if q["walked"]]
    return walks_svg([(q, steps.get(q["id"], [])) for q in walked], cited)


def walks_svg(
    rows: Sequence[tuple[SubQuestion, Sequence[Mapping[str, Any]]]], cited: set[str]
) -> str:
    """Return walks as SVG, a row a question, a dot a passage.

    Documents have colours, those with a cited id a rim, hops a line.
    """
    steps = [step for _, walk in rows for step in walk]
    visits = Counter(step["document"] for step in steps)
    first = sorted(visits, key=lambda d: (d not in cited, -visits[d], d))
    longest = max((len(walk) for _, walk in rows), default=0)
    page = templates(_FOLDER).get_template("walks.svg")
    return page.render(
        width=max(LABEL + GAP * longest + 24, 640),
        rows=rows,
        cited=cited,
        colors=dict(zip(first, COLORS, strict=False)),
        titles={step["document"]: step["title"] for step in steps},
        label=LABEL,
        gap=GAP,
        ink=INK,
        others=OTHERS,
        cut=cut,
        plain=plain,
    )


def _camel_cased(value: object) -> object:
    """Return a value in which the keys of all dictionaries are written so."""
    if isinstance(value, dict):
        return {camel_case(key): _camel_cased(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_camel_cased(inner) for inner in value]
    return value


def _escaped(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return _MARKS.sub(r"\1\\\2", " ".join(plain_text(text).split()))
