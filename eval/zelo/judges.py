"""Judges by name: those of the configuration, chat models, rerankers.

load_judges(["bm25", "embedding", "ollama:qwen2.5:7b", "openai"])
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eval.zelo.judge_prompt import SCHEMA
from eval.zelo.judge_settings import PROVIDERS, read_judge_file
from graph.errors import InputError, MissingExtraError, SettingsError
from graph.settings import Settings, environment
from retrieval.rerank.base import RERANKERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eval.zelo.judge_settings import JudgeFile, JudgeSettings
    from eval.zelo.judgements import Judge, Price
    from graph.embedders import Embedder

__all__ = ["load_judges"]

_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
_CLASSES = {
    "openai": ("langchain_openai", "ChatOpenAI"),
    "anthropic": ("langchain_anthropic", "ChatAnthropic"),
    "google": ("langchain_google_genai", "ChatGoogleGenerativeAI"),
}
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
        if provider in PROVIDERS and model:
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
        return _reranker(name, chosen, settings, embedder)
    return _chat(name, chosen, known.price(chosen), settings)


def _reranker(
    name: str, chosen: JudgeSettings, settings: Settings, embedder: Embedder | None
) -> Judge:
    """Return a reranker as a judge."""
    from eval.zelo.judgements import Price
    from eval.zelo.offline_judges import RerankerJudge
    from retrieval.rerank.base import load_reranker

    reranker = load_reranker(chosen.model, settings=settings, embedder=embedder)
    paid = chosen.model.startswith("zeroentropy")
    return RerankerJudge(reranker, name=name, price=None if paid else Price())


def _chat(
    name: str, chosen: JudgeSettings, price: Price | None, settings: Settings
) -> Judge:
    """Return a chat model as a judge."""
    from eval.zelo.chat_judges import ChatJudge
    from eval.zelo.limits import Pace

    if chosen.provider == "ollama":
        from graph.language_models import load_language_model

        model: Any = load_language_model(chosen.model, settings=settings)
        advice = ""  # its errors say what to do
    else:
        model = _client(name, chosen)
        keys = " or ".join(_KEYS[chosen.provider])
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


def _client(name: str, chosen: JudgeSettings) -> Any:
    """Return LangChain's client of a provider, which does not try again by itself."""
    package, kind = _CLASSES[chosen.provider]
    try:
        make = getattr(import_module(package), kind)
    except ImportError as error:
        msg = (
            f"Judge {name!r} needs an extra: pip install 'knowtrail[judges]', or judge "
            f"offline with {_OFFLINE}."
        )
        raise MissingExtraError(msg) from error
    keys = _KEYS[chosen.provider]
    key = next((environment()[k] for k in keys if environment().get(k)), None)
    if key is None:
        msg = (
            f"Judge {name!r} needs a key: set {' or '.join(keys)}, or judge offline "
            f"with {_OFFLINE}."
        )
        raise SettingsError(msg)
    options: dict[str, Any] = {
        "model": chosen.model,
        "api_key": key,
        "timeout": chosen.seconds,
        "max_retries": 0,
    }
    if chosen.temperature is not None:
        options["temperature"] = chosen.temperature
    if chosen.provider == "google":
        options |= {"transport": "rest", "max_retries": 1}
        if chosen.base_url:
            options["client_options"] = {"api_endpoint": chosen.base_url}
    elif chosen.base_url:
        options["base_url"] = chosen.base_url
    chat = make(**options)
    if chosen.provider == "google":
        # Below LangChain's client is one that would try again for ten minutes.
        call = chat.client.generate_content
        chat.client.generate_content = partial(call, retry=None)
    return chat
