"""Who judges, and at what price: the configuration file of judges."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

from eval.zelo.judgements import Price
from graph.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "PROVIDERS",
    "JudgeFile",
    "JudgeSettings",
    "bundled_text",
    "read_judge_file",
]

PROVIDERS = ("openai", "anthropic", "google", "ollama", "reranker")
_NAME = re.compile(r"[\w.:/-]{1,80}")
_POSITIVE = (
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "prompt_tokens",
    "answer_tokens",
    "seconds",
    "tries",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """One judge of the configuration.

    Attributes:
        provider: One of `PROVIDERS`.
        model: The model as its provider calls it, or the name of a reranker.
        temperature: None leaves it to the provider.
        concurrency: Judgements under way.
        requests_per_minute: None for no limit.
        tokens_per_minute: Of prompt and expected answer; None for no limit.
        prompt_tokens: Longest prompt; documents are shortened to it.
        answer_tokens: What an answer is expected to have.
        seconds: Time limit of an answer.
        tries: Attempts where no answer came.
        base_url: Another address of the API.
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
        judges: Judges by name.
        prices: Prices by model.
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
    file = resources.files("eval.zelo").joinpath("judges.toml")
    return file.read_text("utf-8")


def read_judge_file(path: Path | None = None) -> JudgeFile:
    """Read a configuration of judges.

    Args:
        path: A TOML file; None takes the bundled one.

    Raises:
        SettingsError: If it cannot be read, or a name or value in it is no good.
    """
    where = "the bundled judges" if path is None else str(path)
    try:
        text = bundled_text() if path is None else path.read_text("utf-8-sig")
        table = tomllib.loads(text)
    except OSError as error:
        msg = f"{where} cannot be read: {error.strerror or error}."
        raise SettingsError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{where} is not TOML: {error}."
        raise SettingsError(msg) from error
    _known(table, ("default", "judges", "prices"), where)
    judges = {
        name: _judge(name, value, where)
        for name, value in _table(table.get("judges", {}), where, "judges").items()
    }
    prices = {
        model: _price(model, value, where)
        for model, value in _table(table.get("prices", {}), where, "prices").items()
    }
    default = table.get("default", list(judges))
    if not isinstance(default, list) or not all(name in judges for name in default):
        msg = f"{where}: default is {default!r}: name judges of the file."
        raise SettingsError(msg)
    return JudgeFile(default=tuple(default), judges=judges, prices=prices)


def _judge(name: str, value: Any, where: str) -> JudgeSettings:
    """Return the judge of a table."""
    about = f"{where}, judge {name!r}"
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{about}: use letters, digits, '_' and '-' for a name.")
    table = _table(value, where, f"judges.{name}")
    _known(table, tuple(f.name for f in fields(JudgeSettings)), about)
    for key in ("provider", "model"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise SettingsError(f"{about}: {key} is {table.get(key)!r}: write a text.")
    if table["provider"] not in PROVIDERS:
        msg = f"{about}: provider is {table['provider']!r}: use one of "
        raise SettingsError(msg + ", ".join(PROVIDERS) + ".")
    if not isinstance(table.get("base_url", ""), str):
        raise SettingsError(
            f"{about}: base_url is {table['base_url']!r}: write a text."
        )
    for key in _POSITIVE:
        if key in table and not _is_number(table[key], above=0.0):
            msg = f"{about}: {key} is {table[key]!r}: write a number above 0."
            raise SettingsError(msg)
    for key in ("concurrency", "prompt_tokens", "answer_tokens", "tries"):
        if not isinstance(table.get(key, 1), int):
            msg = f"{about}: {key} is {table[key]!r}: write a whole number."
            raise SettingsError(msg)
    if "temperature" in table and not _is_number(table["temperature"], least=0.0):
        msg = (
            f"{about}: temperature is {table['temperature']!r}: write a number from 0."
        )
        raise SettingsError(msg)
    return JudgeSettings(**table)


def _price(model: str, value: Any, where: str) -> Price:
    """Return the price of a table."""
    about = f"{where}, price of {model!r}"
    table = _table(value, where, f"prices.{model}")
    _known(table, ("prompt", "completion"), about)
    for key in ("prompt", "completion"):
        if not _is_number(table.get(key), least=0.0):
            msg = f"{about}: {key} is {table.get(key)!r}: write USD a million tokens."
            raise SettingsError(msg)
    return Price(prompt=float(table["prompt"]), completion=float(table["completion"]))


def _is_number(
    value: object, *, least: float = -math.inf, above: float = -math.inf
) -> bool:
    """Return whether a value is a finite number in a range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= least and value > above


def _table(value: Any, where: str, name: str) -> dict[str, Any]:
    """Return a table."""
    if not isinstance(value, dict):
        raise SettingsError(f"{where}: {name} is {value!r}: write a table.")
    return value


def _known(table: dict[str, Any], names: tuple[str, ...], where: str) -> None:
    """Refuse a key that means nothing."""
    if unknown := sorted(set(table) - set(names)):
        msg = f"{where}: unknown key {unknown[0]!r}: use {', '.join(sorted(names))}."
        raise SettingsError(msg)
