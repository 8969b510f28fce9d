"""Questions about institutions, half of them made by rule: what is only reported on.

Writes three files beside the bundled questions: the bundled institutions with others in
towns that are words or share a name (`custodians_fresh.jsonl`), 300 questions for
reporting (`questions_fresh.jsonl`) and fewer, worded otherwise, to mend causes with
(`questions_hard.jsonl`). Labels are computed from the institutions alone; nothing of
the pipeline is asked.

    python benchmarks/heritage_questions.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.eval.specificity.judging import custodians_of
from knowtrail.ingest.custodians import bundled_custodians

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.ingest.custodians import Custodian

HERE = Path(__file__).parent
DATA = HERE.parent / "eval" / "specificity" / "data"
FRESH, HARD = 150, 72
"""Questions by rule, for reporting and for mending."""

WORDS = {
    "en": {
        "A": ("archive", "archives"),
        "M": ("museum", "museums"),
        "L": ("library", "libraries"),
        "G": ("gallery", "galleries"),
    },
    "nl": {
        "A": ("archief", "archieven"),
        "M": ("museum", "musea"),
        "L": ("bibliotheek", "bibliotheken"),
        "G": ("galerie", "galeries"),
    },
}
COUNTRIES = {
    "NL": ("the Netherlands", "Nederland"),
    "DE": ("Germany", "Duitsland"),
    "GB": ("the United Kingdom", "het Verenigd Koninkrijk"),
    "BE": ("Belgium", "Belgi\u00eb"),
    "FR": ("France", "Frankrijk"),
    "AT": ("Austria", "Oostenrijk"),
    "CH": ("Switzerland", "Zwitserland"),
}
CENTURIES = {
    (1801, 1900): ("nineteenth", "negentiende"),
    (1901, 2000): ("twentieth", "twintigste"),
}
LINES = Path(__file__).with_name("heritage_wordings.txt")


def towns() -> list[dict[str, Any]]:
    """Return the institutions in towns that are words, as rows of a file."""
    rows = []
    for line in (HERE / "heritage_towns.txt").read_text("utf-8").splitlines():
        name, letter, city, region, ghcid, founded, budget = line.split("|")
        rows.append({
            "name": name,
            "type": letter,
            "city": city,
            "region": region,
            "country": ghcid[:2],
            "ghcid": ghcid,
            "founded": founded,
            "budget": int(budget),
        })
    return rows


def chosen(known: Sequence[Custodian], asked: dict[str, str]) -> list[Custodian]:
    """Return the institutions that criteria select, in the order that they ask for."""
    found = [c for c in known if all(_fits(c, k, v) for k, v in asked.items())]
    if order := asked.get("order"):
        year = order in {"oldest", "newest"}
        found = [c for c in found if (c.founded_year if year else c.budget) is not None]

        def rank(one: Custodian) -> float:
            value = one.founded_year if year else one.budget
            return float(value or 0) * (1 if order in {"oldest", "poorest"} else -1)

        found.sort(key=rank)
        values = sorted({rank(c) for c in found})
        skip, number = int(asked.get("skip", 0)), int(asked.get("n", len(found)))
        if number == 1:  # all that share the place
            return [c for c in found if values[skip : skip + 1] == [rank(c)]]
        return found[skip : skip + number]
    return found


def _fits(one: Custodian, key: str, value: str) -> bool:
    """Return whether an institution meets a criterion."""
    any_of = value.split("+")
    tests: dict[str, Callable[[], bool]] = {
        "type": lambda: one.type in any_of,
        "nottype": lambda: one.type not in any_of,
        "city": lambda: one.city in any_of,
        "cities": lambda: one.city in any_of,
        "notcity": lambda: one.city not in any_of,
        "region": lambda: one.region in any_of,
        "country": lambda: one.country in any_of,
        "name": lambda: one.name == value,
        "names": lambda: one.name in any_of,
        "pairs": lambda: f"{one.type}:{one.city}" in any_of,
        "years": lambda: _within(one.founded_year, value),
        "notyears": lambda: (
            one.founded_year is not None and not _within(one.founded_year, value)
        ),
        "budget": lambda: one.budget is not None and _spends(float(one.budget), value),
    }
    return tests[key]() if key in tests else True


def _within(year: int | None, years: str) -> bool:
    """Return whether a year lies between two."""
    low, _, high = years.partition("-")
    return year is not None and int(low) <= year <= int(high)


def _spends(budget: float, test: str) -> bool:
    """Return whether a budget meets a comparison or lies in a range."""
    low, dash, high = test.partition("-")
    if dash:
        return float(low) <= budget <= float(high)
    amount = float(test.lstrip("<>="))
    if budget == amount:
        return "=" in test
    return (budget < amount) == test.startswith("<")


def answer_of(known: Sequence[Custodian], kind: str, asked: dict[str, str]) -> Any:
    """Return the label of an answer."""
    found = chosen(known, asked)
    ids = [c.ghcid for c in found]
    if kind in {"list", "facts", "ambiguous"}:
        return {"kind": "list" if kind == "facts" else kind, "ids": ids}
    if kind == "first":
        return {"kind": kind, "ids": ids[:1]}
    if kind == "count":
        return {"kind": kind, "value": len(found)}
    if kind == "comparison":
        cities = asked["cities"].split("+")
        return {"kind": kind, "values": {c: _in(found, c) for c in cities}}
    if kind == "amount":
        budgets = [float(c.budget) for c in found if c.budget is not None]
        whole = sum(budgets)
        value = whole if asked["agg"] == "sum" else whole / len(budgets)
        return {"kind": kind, "value": round(value, 2)}
    return {"kind": kind}


def _in(found: Sequence[Custodian], city: str) -> int:
    """Return how many are in a city."""
    return sum(c.city == city for c in found)


def labelled(
    lines: Sequence[str], known: Sequence[Custodian], prefix: str
) -> Iterator[dict[str, Any]]:
    """Yield questions with labels, of lines `language|question|kind|criteria`."""
    turns: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        spoken, question, kind, given = line.split("|")
        language, _, talk = spoken.partition("@")
        asked = dict(part.split("=", 1) for part in given.split(";") if part)
        conversation = f"{prefix}{talk}" if talk else None
        turns[talk] = turns.get(talk, 0) + 1 if talk else 1
        yield {
            "id": f"{prefix}{number:03d}",
            "language": language,
            "conversation": conversation,
            "turn": turns[talk],
            "question": question,
            "template": "find_institution_by_name" if kind == "facts" else None,
            "slots": {"name": asked["name"]} if kind == "facts" else {},
            "relation": None,
            "answer": answer_of(known, kind, asked),
        }


def by_rule(
    known: Sequence[Custodian], half: str, number: int, seed: int
) -> Iterator[str]:
    """Yield lines that are made of wordings of a half and of values of the data."""
    rng = random.Random(seed)
    wordings = [
        line.split("|")[1:]
        for line in LINES.read_text("utf-8").splitlines()
        if line.startswith(f"{half}|")
    ]
    seen: set[str] = set()
    while len(seen) < number:
        language, text, kind, given = wordings[len(seen) % len(wordings)]
        line = _filled(known, language, text, kind, given, rng)
        if line is not None and line not in seen:
            seen.add(line)
            yield line


def _filled(
    known: Sequence[Custodian],
    language: str,
    text: str,
    kind: str,
    given: str,
    rng: random.Random,
) -> str | None:
    """Return a wording with values drawn; None where its answer would say nothing."""
    dutch = language == "nl"
    one = rng.choice([c for c in known if c.type in WORDS["en"] and c.city])
    same = [c for c in known if c.country == one.country and c.type in WORDS["en"]]
    other = rng.choice([c for c in same if c.city != one.city])
    rival = rng.choice([c for c in known if c.name != one.name and c.budget])
    span = rng.choice(list(CENTURIES))
    word = rng.choice(
        sorted({c.city for c in known[-len(towns()) :] if c.city} - SHARED)
    )
    town = rng.choice(sorted(SHARED))
    values = {
        "one": WORDS[language][one.type][0],
        "many": WORDS[language][one.type][1],
        "letter": one.type,
        "city": str(one.city),
        "other": str(other.city),
        "others": WORDS[language][other.type][1],
        "otherletter": other.type,
        "country": COUNTRIES[str(one.country)][dutch],
        "code": str(one.country),
        "name": one.name,
        "rival": rival.name,
        "century": CENTURIES[span][dutch],
        "span": f"{span[0]}-{span[1]}",
        "year": str(rng.randrange(1850, 1990, 10)),
        "n": str(rng.choice([2, 3, 4])),
        "word": word,
        "town": town,
        "euro": str(rng.choice([300_000, 500_000, 1_000_000])),
    }
    asked = dict(
        part.split("=", 1) for part in given.format(**values).split(";") if part
    )
    found = chosen(known, asked)
    shared = {c.name for c in (one, rival) if sum(c.name == k.name for k in known) > 1}
    tied = kind == "first" and len(found) > 1 and _tied(found, asked)
    plain = kind not in {"ambiguous", "unanswered"} and str(one.city) in SHARED
    if shared or tied or plain or (kind != "unanswered" and not found):
        return None
    if asked.get("n") and len(found) < int(asked["n"]):
        return None
    return f"{language}|{text.format(**values)}|{kind}|{given.format(**values)}"


SHARED = {"Newport", "Richmond", "Ashford", "Bergen"}
"""Towns of one name in several regions."""


def _tied(found: Sequence[Custodian], asked: dict[str, str]) -> bool:
    """Return whether the first two of an order share their place."""
    year = asked["order"] in {"oldest", "newest"}
    first, second = (c.founded_year if year else c.budget for c in found[:2])
    return first == second


def main() -> None:
    """Write the three files."""
    bundled = [
        {k: v for k, v in json.loads(line).items() if k != "description"}
        for line in bundled_custodians().read_text("utf-8").splitlines()
    ]
    _write("custodians_fresh.jsonl", [*bundled, *towns()])
    known = list(custodians_of(DATA / "custodians_fresh.jsonl"))
    hand = (HERE / "heritage_hand.txt").read_text("utf-8").splitlines()
    fresh = [*by_rule(known, "fresh", FRESH, seed=18), *hand]
    _write("questions_fresh.jsonl", labelled(fresh, known, "f"))
    hard = list(by_rule(known, "hard", HARD, seed=81))
    _write("questions_hard.jsonl", labelled(hard, known, "h"))


def _write(name: str, rows: Any) -> None:
    """Write rows as JSON Lines."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    (DATA / name).write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
