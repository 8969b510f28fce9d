"""Settings: one frozen object for everything that can be configured.

Explicit arguments win over environment variables (`NEO4J_*`, `KNOWTRAIL_*`), these
over a TOML file, and that over the defaults. This is the only module that reads the
environment.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_EMBEDDER",
    "DEFAULT_NEO4J",
    "Settings",
    "environment",
    "keep_deepeval_quiet",
    "keep_litellm_local",
]

DEFAULT_EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_NEO4J = "2026.08.1"

_ENVIRONMENT = {
    "uri": "NEO4J_URI",
    "username": "NEO4J_USERNAME",
    "password": "NEO4J_PASSWORD",
    "database": "NEO4J_DATABASE",
    "home": "KNOWTRAIL_HOME",
    "corpus": "KNOWTRAIL_CORPUS",
    "embedder": "KNOWTRAIL_EMBEDDER",
    "neo4j_version": "KNOWTRAIL_NEO4J",
    "heap": "KNOWTRAIL_HEAP",
    "page_cache": "KNOWTRAIL_PAGE_CACHE",
    "ollama_url": "KNOWTRAIL_OLLAMA_URL",
    "language_model": "KNOWTRAIL_LANGUAGE_MODEL",
    "serve_key": "KNOWTRAIL_SERVE_KEY",
    "reranker": "KNOWTRAIL_RERANKER",
    "zeroentropy_key": "ZEROENTROPY_API_KEY",
}
"""Field name -> environment variable."""


def environment() -> Mapping[str, str]:
    """Return the process environment, for code that hands it to a child process."""
    return os.environ


def keep_litellm_local() -> None:
    """Keep litellm from fetching a list of prices when a library imports it.

    Keybert and dspy import it where it is installed. What the user has set holds.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


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
    """Return the per-user folder of the managed server."""
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
        ollama_url: Where Ollama answers.
        language_model: Ollama model for `--themes llm`.
        serve_key: Key that clients of `knowtrail serve` must show; never shown itself.
        reranker: The reranker that procedures offer besides those without a model.
        zeroentropy_key: Key of ZeroEntropy's service; never shown.
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
    ollama_url: str = "http://127.0.0.1:11434"
    language_model: str = "qwen2.5:7b"
    serve_key: str | None = field(default=None, repr=False)
    reranker: str | None = None
    zeroentropy_key: str | None = field(default=None, repr=False)

    @classmethod
    def from_env(
        cls,
        *,
        config: Path | None = None,
        env: Mapping[str, str] | None = None,
        **explicit: Any,
    ) -> Settings:
        """Resolve settings from arguments, environment, a TOML file and defaults.

        Args:
            config: TOML file with a `[knowtrail]` table; None takes the one named by
                `KNOWTRAIL_CONFIG`, and where that is unset none.
            env: Variables to read instead of the process environment.
            **explicit: Field values that win over everything; None is "not given".

        Returns:
            The resolved settings.

        Raises:
            SettingsError: For an unknown name, an unreadable file or a bad value.
        """
        env = environment() if env is None else env
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(explicit) - known):
            names = ", ".join(sorted(known))
            msg = f"Unknown setting {unknown[0]!r}: use one of {names}."
            raise SettingsError(msg)
        if config is None and env.get("KNOWTRAIL_CONFIG"):
            config = Path(env["KNOWTRAIL_CONFIG"])
        values: dict[str, Any] = {} if config is None else _read_toml(config, known)
        values |= {
            name: env[variable]
            for name, variable in _ENVIRONMENT.items()
            if env.get(variable)
        }
        values |= {name: v for name, v in explicit.items() if v is not None}
        if "home" in values:
            values["home"] = Path(values["home"]).expanduser().absolute()
        return cls(**values)

    def with_server(self, *, uri: str, username: str, password: str) -> Settings:
        """Return a copy that points to a running server."""
        return replace(self, uri=uri, username=username, password=password)


def _read_toml(path: Path, known: set[str]) -> dict[str, Any]:
    """Read the `[knowtrail]` table of a settings file."""
    try:
        table = tomllib.loads(path.read_text("utf-8")).get("knowtrail", {})
    except OSError as error:
        msg = f"Cannot read the settings file {path}: {error.strerror}."
        raise SettingsError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"The settings file {path} is not TOML: {error}."
        raise SettingsError(msg) from error
    if unknown := sorted(set(table) - known):
        msg = (
            f"Unknown setting {unknown[0]!r} in {path}: "
            f"use one of {', '.join(sorted(known))}."
        )
        raise SettingsError(msg)
    for name, value in table.items():
        if not isinstance(value, str):
            msg = f"Setting {name!r} in {path} is {value!r}: write it as a string."
            raise SettingsError(msg)
    return dict(table)
