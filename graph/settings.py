"""Settings: one frozen object for everything that can be configured.

Explicit arguments win over environment variables (`NEO4J_*`, `KNOWTRAIL_*`), these
over the same in a file `.env` of the working folder, that over a TOML file, and that
over the defaults. This is the only module that reads the environment.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.files import disk_errors
from knowtrail.graph.files.packaged import packaged

DEFAULT_EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_LANGUAGE_MODEL = "qwen2.5:7b"
DEFAULT_NEO4J = "2026.08.1"

_ENVIRONMENT: dict[str, str] = packaged(__package__, "settings.toml")["environment"]
_CONFIG = "KNOWTRAIL_CONFIG"
_OLLAMA = "OLLAMA_HOST"
"""Ollama's own variable, for where `KNOWTRAIL_OLLAMA_URL` is not set."""
_OLLAMA_PORTS = {"": 11434, "http": 80, "https": 443}
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is replaced
"""Where a server listens on all addresses -> where its clients find it."""


def environment() -> Mapping[str, str]:
    """Return the process environment, for code that hands it to a child process."""
    return os.environ


def keep_rows_whole_in_less() -> None:
    """Let `less` cut long lines at the edge, and end by itself where all fits."""
    os.environ.setdefault("LESS", "-SRFX")


def asked_width() -> int | None:
    """Return how many columns `COLUMNS` asks for, or None where it says nothing."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and int(asked) > 0 else None


def own_command(home: Path) -> str:
    """Return how to call this program again, as the user did, for a home folder."""
    words = ["uv", "run"] if "UV_RUN_RECURSION_DEPTH" in os.environ else []
    words.append("knowtrail")
    if home != Settings.from_env().home:
        words += ["--home", str(home)]
    return shlex.join(words)


def as_typed(text: str, home: Path) -> str:
    """Return a message with the commands in it as the user has to type them."""
    own = own_command(home)
    return re.sub(r"(?<![\w/.'\"-])knowtrail(?= [a-z]+)", lambda _: own, text)


def keep_litellm_local() -> None:
    """Keep litellm from fetching a list of prices when a library imports it.

    Dspy imports it. What the user has set holds.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def quiet_ray() -> None:
    """Have Ray report its use to nobody, and its errors to us alone."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_DATA_LOG_LEVEL", "CRITICAL")


def keep_deepeval_quiet() -> None:
    """Keep DeepEval from sending anything, and from files of its own.

    Called before it is imported. Telemetry is off whatever the environment says.
    """
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    os.environ.pop("DEEPEVAL_TELEMETRY_ENABLED", None)
    os.environ.setdefault("DEEPEVAL_DISABLE_DOTENV", "1")
    os.environ.setdefault("DEEPEVAL_DISABLE_TIMEOUTS", "1")
    os.environ.setdefault("DEEPEVAL_FILE_SYSTEM", "READ_ONLY")


def _default_home() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("knowtrail", appauthor=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything configurable, resolved once and passed on.

    Attributes:
        uri: Bolt or neo4j address; None means the managed local server.
        username: Neo4j user.
        password: Neo4j password; never shown by `repr` and never logged.
        database: Name of the Neo4j database, always passed to the driver.
        home: Folder of the managed server (data, password, log).
        corpus: Corpus that commands use when none is named.
        embedder: Model name, `provider:model` for another provider.
        neo4j_version: Neo4j line of the managed server.
        heap: Largest Java heap of the managed server, as Java writes sizes.
        page_cache: Page cache of the managed server, as Neo4j writes sizes.
        load_csv: `local` keeps LOAD CSV of the managed server to this machine;
            `remote` lets it read every address.
        ollama_url: Where Ollama answers.
        language_model: Model where none is named: Ollama's, or `openai:MODEL` and such.
        serve_key: Key that clients of `knowtrail serve` must show; never shown itself.
        reranker: The reranker that procedures offer besides those without a model.
        zeroentropy_key: Key of ZeroEntropy's service; never shown.
        retry_seconds: How long the driver tries again what a server did not do.
        managed: Whether the address is that of the server of `home`, which may come
            back on another port.
    """

    uri: str | None = None
    username: str = "neo4j"
    password: str | None = field(default=None, repr=False)
    database: str = "neo4j"
    home: Path = field(default_factory=_default_home)
    corpus: str | None = None
    embedder: str = DEFAULT_EMBEDDER
    neo4j_version: str | None = None
    heap: str = "2g"
    page_cache: str = "512m"
    load_csv: str = "local"
    ollama_url: str = "http://127.0.0.1:11434"
    language_model: str = DEFAULT_LANGUAGE_MODEL
    serve_key: str | None = field(default=None, repr=False)
    reranker: str | None = None
    zeroentropy_key: str | None = field(default=None, repr=False)
    retry_seconds: float = 30.0
    managed: bool = False

    @classmethod
    def from_env(
        cls,
        *,
        config: Path | None = None,
        env: Mapping[str, str] | None = None,
        **explicit: Any,
    ) -> Settings:
        """Resolve settings from arguments, environment, files and defaults.

        Args:
            config: TOML file with a `[knowtrail]` table; None takes the one named by
                `KNOWTRAIL_CONFIG`, and where that is unset none.
            env: Variables to read instead of the process environment and `.env`.
            **explicit: Field values that win over everything; None is "not given".

        Raises:
            SettingsError: For an unknown name, an unreadable file or a bad value.
        """
        env = _read_dotenv() | dict(environment()) if env is None else env
        _check_known(explicit)
        if config is None and env.get(_CONFIG):
            config = Path(env[_CONFIG])
        values: dict[str, Any] = {} if config is None else _read_toml(config)
        if env.get(_OLLAMA):
            values["ollama_url"] = _ollama_url(env[_OLLAMA])
        values |= {
            name: env[variable]
            for name, variable in _ENVIRONMENT.items()
            if env.get(variable)
        }
        values |= {name: v for name, v in explicit.items() if v is not None}
        if "home" in values:
            values["home"] = Path(values["home"]).expanduser().absolute()
        if "retry_seconds" in values:
            values["retry_seconds"] = _seconds(values["retry_seconds"])
        return cls(**values)

    def with_server(
        self, *, uri: str, username: str, password: str, managed: bool = False
    ) -> Settings:
        """Return a copy that points to a running server."""
        return replace(
            self, uri=uri, username=username, password=password, managed=managed
        )


def _read_dotenv() -> dict[str, str]:
    """Return the variables of ours in the file `.env` of the working folder."""
    path = Path(".env")
    if not path.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"Cannot read {path.absolute()}: {error}.") from error
    known = {*_ENVIRONMENT.values(), _CONFIG, _OLLAMA}
    return {name: value for name, value in found.items() if value and name in known}


def _ollama_url(host: str) -> str:
    """Return where clients find the Ollama that `OLLAMA_HOST` means, as Ollama does."""
    scheme, marked, rest = host.strip().rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port or _OLLAMA_PORTS[scheme]
    except (KeyError, ValueError) as error:
        msg = f"{_OLLAMA} is {host[:80]!r}: write HOST, HOST:PORT or http://HOST:PORT."
        raise SettingsError(msg) from error
    name = parts.hostname or "127.0.0.1"
    name = _ANYWHERE.get(name, name)
    name = f"[{name}]" if ":" in name else name
    path = parts.path.rstrip("/")
    return f"{scheme if marked else 'http'}://{name}:{port}{path}"


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = -1.0
    if not (math.isfinite(seconds) and seconds >= 0):
        msg = f"Setting 'retry_seconds' is {str(value)[:40]!r}: write seconds, as 30."
        raise SettingsError(msg)
    return seconds


def _check_known(given: Mapping[str, Any], where: str = "") -> None:
    known = {one.name for one in fields(Settings)} - {"managed"}
    if unknown := sorted(set(given) - known):
        names = ", ".join(sorted(known))
        msg = f"Unknown setting {unknown[0]!r}{where}: use one of {names}."
        raise SettingsError(msg)


def _read_toml(path: Path) -> dict[str, Any]:
    told = "Cannot read the settings file {path}: {reason}."
    try:
        with disk_errors(SettingsError, told, path=path):
            table = tomllib.loads(path.read_text("utf-8")).get("knowtrail", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"The settings file {path} is not TOML: {error}."
        raise SettingsError(msg) from error
    _check_known(table, f" in {path}")
    for name, value in table.items():
        if not isinstance(value, str):
            msg = f"Setting {name!r} in {path} is {value!r}: write it as a string."
            raise SettingsError(msg)
    return dict(table)
