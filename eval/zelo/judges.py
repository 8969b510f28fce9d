"""Judges by name: those of the configuration, chat models, rerankers.

load_judges(["bm25", "embedding", "ollama:qwen2.5:7b", "openai"])
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

from knowtrail.eval.zelo.chat_judges import SCHEMA, ChatJudge, Pace
from knowtrail.eval.zelo.judgements import Price
from knowtrail.graph.errors import InputError, SettingsError
from knowtrail.graph.models.providers import PROVIDERS
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.rerank.base import RERANKERS, load_reranker

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from knowtrail.eval.zelo.judgements import Judge
    from knowtrail.graph.models.embedders import Embedder

KINDS = (*PROVIDERS, "ollama", "reranker")
"""Providers of judges."""

_NAME = re.compile(r"[\w.:/-]{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """One judge of the configuration.

    Attributes:
        provider: One of `KINDS`.
        model: The model as its provider calls it, or the name of a reranker.
        temperature: None leaves it to the provider.
        requests_per_minute: None for no limit.
        tokens_per_minute: Of prompt and expected answer; None for no limit.
        prompt_tokens: Longest prompt; documents are shortened to it.
        answer_tokens: What an answer is expected to have.
    """

    provider: str
    model: str
    temperature: float | None = None
    concurrency: int = 4
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    prompt_tokens: int = 16_000
    answer_tokens: int = 300
    seconds: float = 60.0
    tries: int = 4
    base_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFile:
    """A configuration of judges.

    Attributes:
        default: Names of those who are asked where none is named.
    """

    default: tuple[str, ...] = ()
    judges: Mapping[str, JudgeSettings] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)

    def of_provider(self, provider: str, model: str) -> JudgeSettings:
        """Return settings of a model that the file does not name.

        Limits are those of a judge of the same provider where there is one.
        """
        for settings in self.judges.values():
            if settings.provider == provider:
                return replace(settings, model=model)
        return JudgeSettings(provider=provider, model=model)

    def price(self, settings: JudgeSettings) -> Price | None:
        """Return the price of a judge, None where it is not known."""
        if settings.provider == "ollama":
            return Price()
        return self.prices.get(settings.model)


def bundled_text() -> str:
    """Return the configuration that is used where none is named."""
    file = resources.files("knowtrail.eval.zelo").joinpath("judges.toml")
    return file.read_text("utf-8")


_Rules = Mapping[str, tuple["Callable[[Any], bool]", str]]
"""Key -> whether a value fits, and what to write where it does not."""


def _is_number(value: object) -> bool:
    """Return whether a value is a finite number from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


_TEXT = (_is_text, "write a text")
_WHOLE = (
    lambda value: type(value) is int and value > 0,
    "write a whole number above 0",
)
_ABOVE = (lambda value: _is_number(value) and value > 0, "write a number above 0")
_OF_FILE: _Rules = {
    "judges": (lambda value: isinstance(value, dict), "write a table"),
    "prices": (lambda value: isinstance(value, dict), "write a table"),
    "default": (lambda value: isinstance(value, list), "name judges of the file"),
}
_OF_JUDGE: _Rules = {
    "provider": (lambda value: value in KINDS, f"use one of {', '.join(KINDS)}"),
    "model": _TEXT,
    "temperature": (_is_number, "write a number from 0"),
    **dict.fromkeys(("concurrency", "prompt_tokens", "answer_tokens", "tries"), _WHOLE),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute", "seconds"), _ABOVE),
    "base_url": _TEXT,
}
_PRICE = (_is_number, "write USD a million tokens")
_OF_PRICE: _Rules = {"prompt": _PRICE, "completion": _PRICE}


def _checked(
    table: Any, rules: _Rules, where: str, needed: Collection[str] = ()
) -> dict[str, Any]:
    """Return a table whose values are what they should be."""
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is {table!r}: write a table.")
    if unknown := sorted(set(table) - set(rules)):
        msg = f"{where}: unknown key {unknown[0]!r}: use {', '.join(sorted(rules))}."
        raise SettingsError(msg)
    for key, (fits, todo) in rules.items():
        value = table.get(key)
        if (key in table or key in needed) and not fits(value):
            raise SettingsError(f"{where}: {key} is {value!r}: {todo}.")
    return table


def read_judge_file(path: Path | None = None) -> JudgeFile:
    """Read a configuration of judges, the bundled one where none is named."""
    where = "the bundled judges" if path is None else str(path)
    try:
        text = bundled_text() if path is None else path.read_text("utf-8-sig")
        table = _checked(tomllib.loads(text), _OF_FILE, where)
    except OSError as error:
        msg = f"{where} cannot be read: {error.strerror or error}."
        raise SettingsError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{where} is not TOML: {error}.") from error
    judges = {}
    for name, value in table.get("judges", {}).items():
        about = f"{where}, judge {name!r}"
        if not _NAME.fullmatch(name):
            msg = f"{about}: use letters, digits, '_' and '-' for a name."
            raise SettingsError(msg)
        of = _checked(value, _OF_JUDGE, about, ("provider", "model"))
        judges[name] = JudgeSettings(**of)
    prices = {
        model: Price(
            **_checked(value, _OF_PRICE, f"{where}, price of {model!r}", _OF_PRICE)
        )
        for model, value in table.get("prices", {}).items()
    }
    default = table.get("default", list(judges))
    if not all(name in judges for name in default):
        msg = f"{where}: default is {default!r}: name judges of the file."
        raise SettingsError(msg)
    return JudgeFile(default=tuple(default), judges=judges, prices=prices)


_STRUCTURED: dict[str, dict[str, Any]] = {
    "openai": {"method": "json_schema", "strict": True},
    "google": {"method": "json_schema"},
}
_DIALECTS: dict[str, dict[str, Any]] = {
    # Its client sends properties in any order, and it answers in the order they have.
    "google": {**SCHEMA, "propertyOrdering": list(SCHEMA["properties"])},
}
_OFFLINE = "--judge bm25 --judge embedding"


def load_judges(
    names: Sequence[str] = (),
    *,
    file: Path | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> tuple[Judge, ...]:
    """Return judges by name; none is asked anything yet.

    Args:
        names: Names of the configuration, `PROVIDER:MODEL` such as
            `ollama:qwen2.5:7b`, or rerankers such as `bm25`, `embedding` and
            `cross-encoder:MODEL`; none takes the default of the configuration.
        file: A configuration; None takes the bundled one.
        settings: Where Ollama and embedders are found; None takes the environment's.
        embedder: The model of `embedding`; None loads that of the settings.

    Raises:
        InputError: If there is no such judge.
        SettingsError: If the configuration is no good or a key is missing.
        MissingExtraError: If a package is missing.
    """
    known = read_judge_file(file)
    settings = settings or Settings.from_env()
    return tuple(
        _judge(name, known, settings, embedder) for name in names or known.default
    )


def _judge(
    name: str, known: JudgeFile, settings: Settings, embedder: Embedder | None
) -> Judge:
    """Return one judge."""
    if name in known.judges:
        chosen = known.judges[name]
    else:
        provider, _, model = name.partition(":")
        if provider in KINDS and model:
            chosen = known.of_provider(provider, model)
        elif provider in RERANKERS:
            chosen = known.of_provider("reranker", name)
        else:
            msg = (
                f"Unknown judge {name[:80]!r}: name one of {', '.join(known.judges)}, "
                "bm25, embedding or cross-encoder:MODEL, or write PROVIDER:MODEL, "
                "such as ollama:qwen2.5:7b."
            )
            raise InputError(msg)
    if chosen.provider == "reranker":
        from knowtrail.eval.zelo.offline_judges import RerankerJudge

        reranker = load_reranker(chosen.model, settings=settings, embedder=embedder)
        paid = chosen.model.startswith("zeroentropy")
        return RerankerJudge(reranker, name=name, price=None if paid else Price())
    return _chat(name, chosen, known.price(chosen), settings)


def _chat(
    name: str, chosen: JudgeSettings, price: Price | None, settings: Settings
) -> Judge:
    """Return a chat model as a judge."""
    if chosen.provider in {"ollama", "langchain"}:
        from knowtrail.graph.models.language_models import load_language_model

        named = f"{chosen.provider}:{chosen.model}"
        model: Any = load_language_model(named, settings=settings)
        advice = ""  # its errors say what to do
    else:
        provider = PROVIDERS[chosen.provider]
        model = provider.chat(
            chosen.model,
            temperature=chosen.temperature,
            seconds=chosen.seconds,
            base_url=chosen.base_url,
            otherwise=f", or judge offline with {_OFFLINE}",
        )
        keys = " or ".join(provider.keys)
        advice = f"Look at its model, {chosen.model!r}, and at {keys}."
    return ChatJudge(
        model,
        name=name,
        fingerprint=f"{chosen.provider}:{chosen.model}:{chosen.temperature}",
        concurrency=chosen.concurrency,
        pace=Pace(
            requests_per_minute=chosen.requests_per_minute,
            tokens_per_minute=chosen.tokens_per_minute,
        ),
        prompt_tokens=chosen.prompt_tokens,
        answer_tokens=chosen.answer_tokens,
        seconds=chosen.seconds,
        tries=chosen.tries,
        price=price,
        structured=_STRUCTURED.get(chosen.provider),
        schema=_DIALECTS.get(chosen.provider, SCHEMA),
        advice=advice,
    )
