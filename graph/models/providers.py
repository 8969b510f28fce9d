"""Chat models by names such as `openai:gpt-4.1`, or by where Python finds them.

Keys come from the environment alone, under the names that the providers' own clients
read; no key is in a message, a log, a file or the graph. An address may stand behind
the model, as in `openai:my-model@http://127.0.0.1:8000/v1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knowtrail.graph.errors import InputError, MissingExtraError, SettingsError
from knowtrail.graph.extras import extra
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.settings import environment

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_FOREIGN = "langchain"
_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_KEY = 8
_NO_KEY = "none"
"""What a server gets that needs no key: its client refuses to send nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of chat models.

    Attributes:
        name: What stands before the colon.
        package: LangChain's package for it, in the extra of the provider's name;
            empty where the model's name says where its class is.
        kind: Its chat model.
        keys: Variables that may hold the key, the first wins.
        addresses: Variables that may name another server of the same interface.
        is_streamed: Whether its client streams answers, with limits, in any loop.
    """

    name: str
    package: str
    kind: str
    keys: tuple[str, ...]
    addresses: tuple[str, ...] = ()
    is_streamed: bool = True

    @property
    def address(self) -> str | None:
        """Return the address that the environment gives; None for the provider's."""
        return _first(self.addresses)

    def chat(
        self,
        model: str,
        *,
        temperature: float | None = None,
        seconds: float | None = None,
        base_url: str | None = None,
        otherwise: str = "",
    ) -> BaseChatModel:
        """Return LangChain's client, which does not try again by itself.

        An address may stand behind the model; `otherwise` is what else can be done
        where a package or key is missing.

        Raises:
            MissingExtraError: If LangChain's package is not installed.
            SettingsError: If the environment has no key, or what it has is none.
            InputError: If the address is none, or there is no such class.
        """
        if self.name == _FOREIGN:
            return _foreign(model)
        model, given = _addressed(model)
        with extra(self.name, f"{self.name}:{model}", otherwise=otherwise):
            make = getattr(import_module(self.package), self.kind)
        base_url = given or base_url or self.address
        key = self._key(model, is_needed=base_url is None, otherwise=otherwise)
        options: dict[str, Any] = {
            "model": model,
            "api_key": key,
            "max_retries": 0,
            "timeout": seconds,
        }
        if temperature is not None:
            options["temperature"] = temperature
        if self.name == "google":
            return _google(make, options, base_url)
        if base_url:
            options["base_url"] = base_url
        # A connection that is kept belongs to the loop it was opened in.
        options["default_headers"] = {"Connection": "close"}
        chat: BaseChatModel = make(**options)
        return chat

    def _key(self, model: str, *, is_needed: bool, otherwise: str) -> str:
        names = " or ".join(self.keys)
        key = (_first(self.keys) or "").strip()
        if not key and is_needed:
            msg = f"{self.name}:{model} needs a key: set {names}{otherwise}."
            raise SettingsError(msg)
        if not key.isascii() or not key.isprintable() or " " in key:
            msg = f"{names} holds characters that no key has: copy the key anew."
            raise SettingsError(msg)
        return key or _NO_KEY


PROVIDERS = {
    name: Provider(
        name=name,
        **row | {key: tuple(v) for key, v in row.items() if isinstance(v, list)},
    )
    for name, row in packaged(__package__, "providers.toml").items()
}
"""Name -> provider; Ollama, which needs no key, is `graph.ollama_client`'s."""


def provider_of(name: str) -> tuple[Provider | None, str]:
    """Return whose model a name means, None for Ollama's, and what they call it."""
    before, colon, model = (part.strip() for part in name.strip().partition(":"))
    provider = PROVIDERS.get(before)
    if not (colon and (provider or before == "ollama")):
        model = name.strip()
    if not model:
        msg = f"{name[:80]!r} names no model: write one such as 'qwen2.5:7b'"
        raise InputError(f"{msg} or 'openai:gpt-4.1'.")
    return provider, model


def without_keys(text: str) -> str:
    """Return a text in which stars stand for keys; servers like to repeat them."""
    for name, value in environment().items():
        if name.endswith(_SECRETS) and len(key := value.strip()) >= _SHORTEST_KEY:
            text = text.replace(key, "***")
    return text


def address_of(name: str) -> str | None:
    """Return the address that a model's name or the environment gives, if any."""
    provider, model = provider_of(name)
    if provider is None or provider.name == _FOREIGN:
        return None
    return _addressed(model)[1] or provider.address


def _addressed(model: str) -> tuple[str, str | None]:
    name, marked, rest = model.partition("@http")
    if not marked:
        return model, None
    url = f"http{rest}"
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not (name and sound) or "@" in parts.netloc:
        msg = f"{without_keys(model)[:80]!r} has no address that can be used: write"
        raise InputError(f"{msg} MODEL@http://HOST:PORT/v1, and no password in it.")
    return name, url


def _foreign(path: str) -> BaseChatModel:
    """Return a chat model of LangChain's by the path of its class or of a function."""
    from langchain_core.language_models import BaseChatModel

    where, named, model = path.partition(":")
    module, _, kind = where.rpartition(".")
    about = f"{_FOREIGN}:{where[:80]}"
    try:
        make = getattr(import_module(module), kind) if module else None
    except ImportError as error:
        msg = f"{about} cannot be imported ({error}): install its package."
        raise MissingExtraError(msg) from error
    except AttributeError:
        make = None
    if not callable(make):
        msg = f"{about} is no class or function: write"
        raise InputError(f"{msg} {_FOREIGN}:langchain_mistralai.ChatMistralAI:MODEL.")
    try:
        chat = make(model=model) if named else make()
    except Exception as error:  # what stands there may raise anything
        said = " ".join(without_keys(str(error)).split())[:300].rstrip(".")
        msg = f"{about} makes no model ({said}): look at its key and its name."
        raise SettingsError(msg) from error
    if not isinstance(chat, BaseChatModel):
        msg = f"{about} makes {type(chat).__name__}: name a chat model of LangChain's."
        raise InputError(msg)
    return chat


def _first(names: tuple[str, ...]) -> str | None:
    found = (environment().get(name, "").strip() for name in names)
    return next((value for value in found if value), None)


def _google(make: Any, options: dict[str, Any], base_url: str | None) -> BaseChatModel:
    """Return Google's client: below LangChain's, one would try on for ten minutes."""
    options |= {"transport": "rest", "max_retries": 1}
    if base_url:
        options["client_options"] = {"api_endpoint": base_url}
    chat: Any = make(**options)
    call = chat.client.generate_content
    chat.client.generate_content = partial(call, retry=None)
    found: BaseChatModel = chat
    return found
