"""Where settings come from and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import SettingsError
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def _toml(folder: Path, text: str) -> Path:
    path = folder / "knowtrail.toml"
    path.write_text(text, "utf-8")
    return path


def test_defaults_name_no_server() -> None:
    """Without any setting the managed server is meant, as user neo4j."""
    settings = Settings.from_env(env={})

    assert (settings.uri, settings.username, settings.password) == (None, "neo4j", None)


def test_file_wins_over_defaults(tmp_path: Path) -> None:
    """A value in the file replaces the default."""
    config = _toml(tmp_path, '[knowtrail]\nheap = "5g"\n')

    assert Settings.from_env(config=config, env={}).heap == "5g"


def test_environment_wins_over_file(tmp_path: Path) -> None:
    """A variable replaces the value in the file."""
    config = _toml(tmp_path, '[knowtrail]\nheap = "5g"\n')

    assert Settings.from_env(config=config, env={"KNOWTRAIL_HEAP": "6g"}).heap == "6g"


def test_argument_wins_over_environment() -> None:
    """A value that is passed replaces the variable."""
    env = {"NEO4J_URI": "bolt://there"}

    assert Settings.from_env(env=env, uri="bolt://here").uri == "bolt://here"


def test_none_means_not_given() -> None:
    """An option that was not given leaves the variable's value."""
    env = {"NEO4J_DATABASE": "movies"}

    assert Settings.from_env(env=env, database=None).database == "movies"


def test_empty_variable_means_not_given() -> None:
    """A variable set to nothing leaves the default."""
    assert Settings.from_env(env={"NEO4J_DATABASE": ""}).database == "neo4j"


def test_file_named_by_environment(tmp_path: Path) -> None:
    """KNOWTRAIL_CONFIG names the file."""
    config = _toml(tmp_path, '[knowtrail]\ncorpus = "birds"\n')

    settings = Settings.from_env(env={"KNOWTRAIL_CONFIG": str(config)})

    assert settings.corpus == "birds"


def test_home_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder is resolved once, so that later changes do not matter."""
    monkeypatch.chdir(tmp_path)

    assert Settings.from_env(env={}, home="data").home == tmp_path / "data"


def test_password_is_not_shown() -> None:
    """The password is in no repr, as those end up in logs."""
    settings = Settings.from_env(env={"NEO4J_PASSWORD": "very-secret"})

    assert "very-secret" not in repr(settings)


def test_with_server_points_elsewhere() -> None:
    """The copy has the server's address and keeps everything else."""
    settings = Settings.from_env(env={}, heap="3g")

    pointed = settings.with_server(uri="bolt://h:1", username="u", password="p")

    assert (pointed.uri, pointed.username, pointed.password, pointed.heap) == (
        "bolt://h:1",
        "u",
        "p",
        "3g",
    )


def test_unknown_argument_is_refused() -> None:
    """A misspelt name is not ignored."""
    with pytest.raises(SettingsError, match="Unknown setting 'urii'"):
        Settings.from_env(env={}, urii="x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[knowtrail]\nurii = "x"\n', "Unknown setting 'urii'"),
        ("[knowtrail]\nheap = 5\n", "write it as a string"),
        ("[knowtrail\n", "is not TOML"),
        ("x = " + "[" * 100_000, "is not TOML"),
    ],
)
def test_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """A file with a mistake stops the command and names the mistake."""
    with pytest.raises(SettingsError, match=message):
        Settings.from_env(config=_toml(tmp_path, text), env={})


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is named must be there."""
    with pytest.raises(SettingsError, match="No such file"):
        Settings.from_env(config=tmp_path / "none.toml", env={})


def test_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are reported, not raised as they are."""
    path = tmp_path / "knowtrail.toml"
    path.write_bytes(b"[knowtrail]\nheap = '\xff'\n")

    with pytest.raises(SettingsError, match="is not TOML"):
        Settings.from_env(config=path, env={})


def test_key_of_the_http_door_is_a_secret() -> None:
    """It comes from its variable and is in no repr."""
    settings = Settings.from_env(env={"KNOWTRAIL_SERVE_KEY": "very-secret"})

    assert settings.serve_key == "very-secret"
    assert "very-secret" not in repr(settings)


def test_dotenv_of_the_working_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment wins over it, it over a settings file; strangers are not read."""
    config = _toml(tmp_path, '[knowtrail]\nheap = "5g"\ncorpus = "c"\n')
    (tmp_path / ".env").write_text(
        "# ours\nexport NEO4J_PASSWORD='a b#c'\nKNOWTRAIL_HEAP=6g\nNEO4J_DATABASE=x\n"
        f"KNOWTRAIL_CONFIG={config}\nPATH=/nowhere\nNEO4J_URI=\n"
    )
    monkeypatch.chdir(tmp_path)
    for name in ("NEO4J_PASSWORD", "KNOWTRAIL_HEAP", "KNOWTRAIL_CONFIG", "NEO4J_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEO4J_DATABASE", "movies")

    found = Settings.from_env()

    assert (found.password, found.heap, found.uri) == ("a b#c", "6g", None)
    assert (found.database, found.corpus) == ("movies", "c")
    assert "a b#c" not in repr(found)


def test_dotenv_that_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says which file."""
    (tmp_path / ".env").write_bytes(b"NEO4J_URI=\xff\xfe")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingsError, match=r"Cannot read .*\.env"):
        Settings.from_env()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("box", "http://box:11434"),
        (":5000", "http://127.0.0.1:5000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - where it listens
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("[::1]:5000", "http://[::1]:5000"),
    ],
)
def test_ollama_is_found_by_its_own_variable(host: str, url: str) -> None:
    """All forms that Ollama takes; Knowtrail's own variable wins."""
    env = {"OLLAMA_HOST": host}
    own = env | {"KNOWTRAIL_OLLAMA_URL": "http://mine:1"}

    assert Settings.from_env(env=env).ollama_url == url
    assert Settings.from_env(env=own).ollama_url == "http://mine:1"


@pytest.mark.parametrize("host", ["ftp://box", "box:port", "box:99999"])
def test_address_that_ollama_cannot_have_is_refused(host: str) -> None:
    """The message names the variable."""
    with pytest.raises(SettingsError, match="OLLAMA_HOST"):
        Settings.from_env(env={"OLLAMA_HOST": host})


def test_retries_have_a_limit_in_seconds() -> None:
    """It is a number; anything else is refused."""
    found = Settings.from_env(env={"KNOWTRAIL_RETRY_SECONDS": "2.5"})

    assert (found.retry_seconds, Settings().retry_seconds) == (2.5, 30.0)
    for bad in ("soon", "-1", "nan", "inf"):
        with pytest.raises(SettingsError, match="retry_seconds"):
            Settings.from_env(env={"KNOWTRAIL_RETRY_SECONDS": bad})
