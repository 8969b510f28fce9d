"""What models get wrong in SKN: what becomes of it, and what is told."""

# ruff: noqa: RUF001 - look-alikes are meant

from __future__ import annotations

import time
from itertools import product
from typing import get_args

import pytest

from knowtrail.ingest.extraction.skn import parse, parse_forgiving, write
from knowtrail.ingest.extraction.skn.line_repairs import meant
from knowtrail.ingest.extraction.skn.notation import (
    Level,
    Priority,
    SknBlock,
    SknError,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
)
from knowtrail.ingest.extraction.variants import SKN_SECTIONS
from tests.cases import each


def _facts(line: str) -> list[SknFact]:
    block, _ = parse_forgiving(f"[SKN]\n@facts\n{line}\n[/SKN]")
    return list(block.facts)


def _codes(text: str) -> list[str]:
    return [repair.code for repair in parse_forgiving(text)[1]]


@each(
    ("line", "text", "priority", "confidence"),
    [
        ('! "a b" [0.9]', "a b", "critical", 0.9),
        ("! “a b” [0.9]", "a b", "critical", 0.9),
        ("! 'a b' [0.9]", "a b", "critical", 0.9),
        ("！ 「a b」 ［0.9］", "a b", "critical", 0.9),
        ('• "a b" [high]', "a b", "supporting", 0.9),
        ('* "a b" (0.4)', "a b", "supporting", 0.4),
        ('? "a b" [40%]', "a b", "uncertain", 0.4),
        ('!! "a b" [1]', "a b", "critical", 1.0),
        ('- ! "a b" [.5]', "a b", "critical", 0.5),
        ('1. "a b" [0.5]', "a b", "supporting", 0.5),
        ("Critical: a b [0.5]", "a b", "critical", 0.5),
        ('!"a b" [0.5]', "a b", "critical", 0.5),
        ('! "a b" confidence: 0.5', "a b", "critical", 0.5),
        ('! "a b": 0.5', "a b", "critical", 0.5),
        ('! "a b"', "a b", "critical", None),
        ('! "a b" [very]', "a b", "critical", None),
        ('! "a b" [<confidence 0.0-1.0>]', "a b", "critical", None),
        ('! "a b" [7.5]', "a b", "critical", 0.75),
        ('! "a b" [1.5]', "a b", "critical", 1.0),
        ('! "a b" [-0.2]', "a b", "critical", 0.0),
        ('! "a b" [12345]', "a b", "critical", None),
        ('! "she said "no" to it" [0.9]', 'she said "no" to it', "critical", 0.9),
        (r'! "she said \"no\"" [0.9]', 'she said "no"', "critical", 0.9),
        (r'! "C:\new" [0.9]', "C:\new", "critical", 0.9),
        ('! "x[0] -> [/SKN]" [0.9]', "x[0] -> [/SKN]", "critical", 0.9),
        ("! x[0] is wrong [0.9]", "x[0] is wrong", "critical", 0.9),
        ("! see item [A]", "see item [A]", "critical", None),
        ('~ "one\ntwo" [0.9]', "one\ntwo", "uncertain", 0.9),
    ],
)
def test_fact_is_put_right(
    line: str, text: str, priority: str, confidence: float | None
) -> None:
    """Symbols, quotes, brackets and numbers of many kinds mean one fact."""
    assert [(f.text, f.priority, f.confidence) for f in _facts(line)] == [
        (text, priority, confidence)
    ]


@pytest.mark.parametrize(
    "line", ['! "<critical fact>" [0.9]', '! "" [0.9]', '! "..." [0.9]', "---"]
)
def test_line_that_says_nothing_is_left_out(line: str) -> None:
    """Words of the form and mere marks are no facts."""
    block, repairs = parse_forgiving(f'[SKN]\n@facts\n{line}\n! "x" [1]\n[/SKN]')

    assert [fact.text for fact in block.facts] == ["x"]
    assert {repair.line for repair in repairs} == {3}


@each(
    ("line", "links"),
    [
        ("a -> b [0.5]", [("a", "b", 0.5)]),
        ("a → b [0.5]", [("a", "b", 0.5)]),
        ("a ⇒ b [0.5]", [("a", "b", 0.5)]),
        ("a --> b [0.5]", [("a", "b", 0.5)]),
        ("a => b (high)", [("a", "b", 0.9)]),
        ("a ——> b [0.5]", [("a", "b", 0.5)]),
        ("b <- a [0.5]", [("a", "b", 0.5)]),
        ("- a -> b [0.5]", [("a", "b", 0.5)]),
        ("a leads to b [0.5]", [("a", "b", 0.5)]),
        ("a -> b -> c [0.5]", [("a", "b", 0.5), ("b", "c", 0.5)]),
        ('"a -> x" -> b [0.5]', [("a -> x", "b", 0.5)]),
        ("read x[0] -> crash [0.5]", [("read x[0]", "crash", 0.5)]),
        ("a -> b", [("a", "b", None)]),
        ("a and b [0.5]", []),
        ("-> b [0.5]", []),
    ],
)
def test_link_is_put_right(
    line: str, links: list[tuple[str, str, float | None]]
) -> None:
    """Arrows of many kinds, chains and bullets mean causes and effects."""
    block, repairs = parse_forgiving(
        f'[SKN]\n@facts\n! "x" [1]\n@causal\n{line}\n[/SKN]'
    )

    assert [(e.cause, e.effect, e.strength) for e in block.causal] == links
    assert bool(repairs) == (
        line not in {"a -> b [0.5]", '"a -> x" -> b [0.5]'} and (line != "a -> b")
    )


@each(
    ("line", "gap"),
    [
        ("- the version", "the version"),
        ("* the version", "the version"),
        ("– the version", "the version"),
        ("1. the version", "the version"),
        ("the version", "the version"),
        ('- "the version"', "the version"),
        ("- none", None),
        ("N/A", None),
        ("- <what is missing>", None),
    ],
)
def test_gap_is_put_right(line: str, gap: str | None) -> None:
    """Bullets of many kinds mean a gap; `none` means that there is none."""
    block, _ = parse_forgiving(f'[SKN]\n@facts\n! "x" [1]\n@gaps\n{line}\n[/SKN]')

    assert block.gaps == (() if gap is None else (gap,))


@each(
    ("line", "source"),
    [
        ("@src law | fresh:high | reliability:0.5", ("law", "high", 0.5)),
        ("@src law | reliability: 0.5 | fresh: HIGH", ("law", "high", 0.5)),
        ("@src law, fresh=high, reliability=50%", ("law", "high", 0.5)),
        (
            "@source: law | freshness:moderate | reliability:high",
            ("law", "medium", 0.9),
        ),
        ("＠src law｜fresh：low｜reliability：0.5", ("law", "low", 0.5)),
        ("@src domain: law | fresh:0.9 | reliability:8/10", ("law", "high", 0.8)),
        ("@src\nlaw\nfresh:high\nreliability:0.5", ("law", "high", 0.5)),
        ("@src law", ("law", None, None)),
        ("@src <domain> | fresh:<high|medium|low> | reliability:<0.0-1.0>", None),
        ("@src | fresh:low", ("unknown", "low", None)),
    ],
)
def test_source_is_put_right(
    line: str, source: tuple[str, str | None, float | None] | None
) -> None:
    """Labels, separators and levels of many kinds mean one source."""
    block, _ = parse_forgiving(f'[SKN]\n{line}\n@facts\n! "x" [1]\n[/SKN]')

    found = block.source
    assert (found and (found.domain, found.freshness, found.reliability)) == source


@each(
    ("line", "risk"),
    [
        ("@risk misdirection:low | missing_context:high", ("low", "high")),
        ("@risk misdirection: Low, missing context: HIGH", ("low", "high")),
        ("@risk: missing-context=high; misdirection=l", ("low", "high")),
        ("Risk: misdirection:low | missing_context:high", ("low", "high")),
        ("@risk\n- misdirection: low\n- missing_context: high", ("low", "high")),
        ("@risk misdirection:low", ("low", None)),
        ("@risk misdirection:<low|medium|high>", None),
        ("@risk none", None),
    ],
)
def test_risk_is_put_right(line: str, risk: tuple[str, str | None] | None) -> None:
    """Labels, separators and levels of many kinds mean one risk."""
    block, _ = parse_forgiving(f'[SKN]\n@facts\n! "x" [1]\n{line}\n[/SKN]')

    found = block.risk
    assert (found and (found.misdirection, found.missing_context)) == risk


@each(
    ("text", "code"),
    [
        ('Sure!\n[SKN]\n@facts\n! "x" [1]\n[/SKN]', "text_before"),
        ('[SKN]\n@facts\n! "x" [1]\n[/SKN]\nBye', "text_after"),
        ('```\n@facts\n! "x" [1]\n```', "no_begin"),
        ('[SKN]\n@facts\n! "x" [1]', "no_end"),
        ('[SKN]\n@facts\n! "x" [1] [/SKN]', "end"),
        ('[skn]\n@facts\n! "x" [1]\n[/skn]', "begin"),
        ('［SKN］\n@facts\n! "x" [1]\n［/SKN］', "end"),
        ('[SKN]\n## Facts\n! "x" [1]\n[/SKN]', "heading"),
        ('[SKN]\n@FACTS:\n! "x" [1]\n[/SKN]', "heading"),
        ('[SKN]\n! "x" [1]\n[/SKN]', "no_heading"),
        ('[SKN]\n@facts ! "x" [1]\n[/SKN]', "one_line"),
        ('[SKN]\n@gaps\n@facts\n! "x" [1]\n[/SKN]', "order"),
        ('[SKN]\n@facts\n! "x" [1]\n@facts\n! "x" [1]\n[/SKN]', "repeated"),
        ('[SKN]\n@facts\n! "x" [1]\n[SKN]\n@facts\n! "y" [1]\n[/SKN]', "second_block"),
        ('[SKN]\n@facts\n! "x" [1]\n! "cut', "no_end"),
    ],
)
def test_what_is_around_the_facts_is_put_right(text: str, code: str) -> None:
    """Fences, missing ends, odd headings and orders are put right and told."""
    block, repairs = parse_forgiving(text)

    assert block.facts[0] == SknFact(text="x", priority="critical", confidence=1.0)
    assert code in [repair.code for repair in repairs]
    assert parse(write(block)) == block


def test_cut_number_is_no_number() -> None:
    """Half a number would be a wrong one."""
    block, repairs = parse_forgiving('[SKN]\n@facts\n! "x" [0.')

    assert block.facts[0].confidence is None
    assert (3, "confidence") in [(r.line, r.code) for r in repairs]


def test_missing_assessments_are_told_and_not_made_up() -> None:
    """A block without source and risk stays without."""
    block, repairs = parse_forgiving(
        '[SKN]\n@facts\n! "x" [1]\n[/SKN]', sections=SKN_SECTIONS
    )

    assert (block.source, block.risk) == (None, None)
    assert [r.message.split()[0] for r in repairs] == ["@src", "@risk"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am a language model.",
        "The source (1996) says: it is.\nNothing else [sic].",
        "[SKN]\n[/SKN]",
        "[SKN]\n@facts\n@causal\n@gaps\n[/SKN]",
        '{"claims": []}',
    ],
)
def test_text_without_knowledge_is_refused(text: str) -> None:
    """Prose is not taken for facts."""
    with pytest.raises(SknError):
        parse_forgiving(text)


@each(
    ("text", "line", "column", "told"),
    [
        ("hello", 1, 1, "Found 'hello', not '[SKN]'"),
        ('[SKN]\n@facts\n  ? "x" [1]\n[/SKN]', 3, 3, "not '!', '.' or '~'"),
        ('[SKN]\n@facts\n! "x" 0.9\n[/SKN]', 3, 7, "not '[number]'"),
        ('[SKN]\n@facts\n! "x" [1.5]\n[/SKN]', 3, 8, "The number 1.5 is above 1"),
        ('[SKN]\n@facts\n! " " [1]\n[/SKN]', 3, 3, "nothing between the quotes"),
        ('[SKN]\n@facts\n! "x" [1]', 3, 10, "Found the end"),
        ("[SKN]\n@risk misdirection:huge\n[/SKN]", 2, 20, "high, medium or low"),
        ("[SKN]\n@causal\na b [1]\n[/SKN]", 3, 5, "not '->'"),
    ],
)
def test_strict_reader_says_where(text: str, line: int, column: int, told: str) -> None:
    """An error has line, column and what would have done."""
    with pytest.raises(SknError) as caught:
        parse(text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert told in str(caught.value)


def test_strict_reader_checks_the_sections_of_a_variant() -> None:
    """A section too many and one too few are refused by name."""
    block = '[SKN]\n@src a | fresh:low | reliability:1\n@facts\n! "x" [1]\n[/SKN]'

    with pytest.raises(SknError, match="@risk is missing"):
        parse(block, sections=SKN_SECTIONS)
    with pytest.raises(SknError, match="There is a section @src"):
        parse(block, sections=("facts",))
    assert parse(block, sections=("src", "facts")).facts


@each(
    "make",
    [
        lambda: SknFact(text=" ", priority="critical"),
        lambda: SknFact(text="x", priority="urgent"),  # type: ignore[arg-type]
        lambda: SknFact(text="x", priority="critical", confidence=1.1),
        lambda: SknFact(text="x", priority="critical", confidence=float("nan")),
        lambda: SknLink(cause="", effect="x"),
        lambda: SknSource(domain="x", freshness="new"),  # type: ignore[arg-type]
        lambda: SknRisk(),
        lambda: SknBlock(gaps=("",)),
    ],
)
def test_objects_are_valid_once_they_exist(make: type) -> None:
    """What could not be written cannot be made."""
    with pytest.raises(SknError):
        make()


@pytest.mark.timeout(20)
@each(
    ("section", "run"),
    product(
        ["src", "facts", "causal", "gaps", "risk"],
        [" ", "\t", "*", "-", "_", "|", '"', "\n", "<-", "a -> "],
    ),
)
def test_long_runs_take_no_time(section: str, run: str) -> None:
    """A model that repeats itself does not stop the reader."""
    text = f'[SKN]\n@facts\n! "x" [1]\n@{section}\n! "{run * 8_000}x\n[/SKN]'

    block, _ = parse_forgiving(text)

    assert block.facts[0].text == "x"


def test_a_model_that_writes_dashes_without_end_costs_little() -> None:
    """Reading takes time in proportion to the length, whatever stands there."""
    answer = f"[SKN]\n@gaps\n- a{'-' * 200_000}\n[/SKN]"
    begin = time.process_time()

    block, _ = parse_forgiving(answer)

    assert time.process_time() - begin < 5
    assert len(block.gaps[0]) == 200_001


def test_what_models_mean_is_something_of_the_notation() -> None:
    """Words in the table stand for levels, sections and priorities that there are."""
    allowed = {
        "level": get_args(Level),
        "priority": get_args(Priority),
        "section": SKN_SECTIONS,
    }

    assert [k for k, of in allowed.items() if set(meant(k).values()) - {*of}] == []
