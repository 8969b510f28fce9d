"""Some 300 lines as models write them, each with what it means."""

from __future__ import annotations

from pathlib import Path

from knowtrail.ingest.extraction.skn import parse_forgiving, write

LINES = Path(__file__).with_name("malformed.txt")
ANCHOR = '! "There is something to read" [1.0]'


def test_malformed_lines_mean_what_they_should() -> None:
    """Each line is read as its canonical form says, and what is lost is told."""
    section = ""
    wrong: list[str] = []
    cases = 0
    for line in LINES.read_text("utf-8").splitlines():
        if "%%" not in line:
            section = line.strip()
            continue
        cases += 1
        given, _, meant = line.partition("%%")
        expected = [item.strip() for item in meant.split(";;") if item.strip()]
        head = "" if section in {"@src", "@risk"} else f"{section}\n"
        block, repairs = parse_forgiving(
            f"[SKN]\n@facts\n{ANCHOR}\n{head}{given}\n[/SKN]"
        )
        found = _written(section, write(block).split("\n"))
        if found != expected:
            wrong.append(f"{given!r}: {found}, not {expected}")
        elif not expected and not repairs:
            wrong.append(f"{given!r}: left out in silence")

    assert not wrong, "\n".join(wrong)
    assert cases >= 300


def test_every_block_is_read() -> None:
    """Blocks with words between them are taken together, the first one's source."""
    blocks = [
        f'[SKN]\n@src field {n} | fresh:low | reliability:0.{n}\n@facts\n! "fact {n}"'
        f" [0.{n}]\n@gaps\n- gap {n}\n[/SKN]"
        for n in range(1, 6)
    ]

    block, repairs = parse_forgiving("\n\nResult:\n".join(blocks))

    assert [fact.text for fact in block.facts] == [f"fact {n}" for n in range(1, 6)]
    assert [fact.confidence for fact in block.facts] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert block.gaps == tuple(f"gap {n}" for n in range(1, 6))
    assert block.source
    assert (block.source.domain, block.source.reliability) == ("field 1", 0.1)
    assert [r.line for r in repairs if r.code == "second_block"] == [10, 19, 28, 37]
    assert sum(r.lost for r in repairs) == 4


def test_what_is_not_understood_has_line_and_column() -> None:
    """Each piece that is left out is told with its place, and counted."""
    block, repairs = parse_forgiving(
        '[SKN]\n@facts\n  ! "a" [0.9] (Source 2), ! "b" [0.8] see above\n@causal\n'
        "  x -> y [0.4]\n  neither nor [0.5]\n[/SKN]"
    )

    assert [(f.text, f.confidence) for f in block.facts] == [("a", 0.9), ("b", 0.8)]
    lost = [str(repair) for repair in repairs if repair.lost]
    assert lost == [
        "line 3, column 3: '(Source 2)' after the number left out (after)",
        "line 3, column 27: 'see above' after the number left out (after)",
        "line 6, column 3: 'neither nor [0.5]' has no cause and effect: left out "
        "(dropped)",
    ]


def _written(section: str, lines: list[str]) -> list[str]:
    """Return the canonical items of a section, without the anchor."""
    if section in {"@src", "@risk"}:
        return [line for line in lines if line.startswith(section)]
    where = ""
    found: list[str] = []
    for line in lines:
        where = line.split()[0] if line[0] in "@[" else where
        if where == section and line.strip() not in {section, ANCHOR}:
            found.append(line.strip())
    return found
