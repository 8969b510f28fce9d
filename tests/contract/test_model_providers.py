"""Language models of providers, asked over HTTP as LangChain's clients ask them.

The services themselves are not asked: a server on this machine answers in their forms.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from knowtrail.eval.models import ModelOptions, Respondent, ask, is_refusal
from knowtrail.eval.zelo.judges import load_judges
from knowtrail.graph.cli.root import main
from knowtrail.graph.doctor import examine
from knowtrail.graph.errors import (
    InputError,
    MissingExtraError,
    ModelError,
    SettingsError,
)
from knowtrail.graph.extras import installing
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.language_models import (
    LanguageModel,
    ModelReply,
    load_language_model,
)
from knowtrail.graph.models.providers import PROVIDERS, without_keys
from knowtrail.graph.settings import Settings
from knowtrail.ingest.themes import LlmThemes
from knowtrail.retrieval.procedures.registry import keywords
from tests.cases import each
from tests.model_services import KEY, Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.language_models import BaseChatModel
    from pytest_httpserver import HTTPServer

VARIABLES = [name for one in PROVIDERS.values() for name in (*one.keys, *one.addresses)]


def model_of(service: Service) -> LanguageModel:
    """Return a model of a service's provider, as the command line names it."""
    return load_language_model(f"{service.provider}:some-model", settings=Settings())


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the user's own keys and addresses away."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["openai", "anthropic"])
def service(
    request: pytest.FixtureRequest,
    httpserver: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Service]:
    """Yield a server of each provider's, where the environment says it is."""
    found = Service(request.param)
    found.open(httpserver, monkeypatch)
    monkeypatch.setattr("knowtrail.graph.models.faults.PAUSE_SECONDS", 0.01)
    yield found
    httpserver.check_assertions()


def test_a_name_is_all_it_takes(service: Service) -> None:
    """Key and address are the environment's; the request says what was asked."""
    model = model_of(service)

    found = model.reply("Hi?", system="Be brief.", tokens=77, temperature=0.3)

    assert found == ModelReply(text="hello you", prompt_tokens=30, completion_tokens=4)
    assert model.name == f"{service.provider}:some-model"
    assert model.prompt_tokens is None
    (sent,) = service.sent
    assert (sent["model"], sent["temperature"]) == ("some-model", 0.3)
    assert 77 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert "Be brief." in json.dumps(sent)
    # Versions of the clients differ in where they put the key.
    headers = service.requests[0].headers
    assert KEY in f"{headers.get('Authorization')} {headers.get('x-api-key')}"


def test_all_four_calls_answer(service: Service) -> None:
    """Also in one event loop after the other, as commands and notebooks have them."""

    async def pieces(model: LanguageModel) -> list[str]:
        return [piece async for piece in model.astream("Hi?")]

    model = model_of(service)

    assert "".join(model.stream("Hi?")) == "hello you"
    for _ in range(2):
        assert asyncio.run(model.areply("Hi?")).text == "hello you"
        assert asyncio.run(pieces(model)) == ["hel", "lo you"]


def test_an_answer_has_a_form_and_is_kept(service: Service, tmp_path: Path) -> None:
    """The schema is told, a fence around the object is no harm; no key is on disk."""
    schema = {"type": "object", "required": ["a"]}
    service.plan = ['```json\n{"a": 1}\n```']
    with State(tmp_path) as state:
        who = Respondent(model=model_of(service), state=state, options=ModelOptions())

        first = ask(who, "S", "P", schema=schema)
        again = ask(who, "S", "P", schema=schema)

    assert first.value == again.value == {"a": 1}
    assert len(service.requests) == 1
    assert json.dumps(schema) in json.dumps(service.sent[0]).replace("\\", "")
    kept = "".join(p.read_text("utf-8") for p in tmp_path.rglob("*") if p.is_file())
    assert "some-model" in kept
    assert KEY not in kept


def test_a_fence_around_json_is_no_harm(service: Service) -> None:
    """As models put it there that are told a schema; in a text it belongs there."""
    fenced = '```json\n{"themes": ["ice", "sea"]}\n```'
    service.plan = [fenced] * 3
    model = model_of(service)

    themes = LlmThemes(model.name, "").themes("Ice", "Ice is cold.", language="en")

    assert themes == ["ice", "sea"]
    assert model.reply("Hi?").text == fenced


def test_an_answer_without_room_is_told(service: Service) -> None:
    """What came is there, and that it is cut."""
    service.ended = "length" if service.provider == "openai" else "max_tokens"

    found = model_of(service).reply("Hi?")

    assert (found.text, found.cut) == ("hello you", True)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "refuses the key (no, *** will not do): look at {key}."),
        (403, "refuses the key (no, *** will not do): look at {key}."),
        (404, "is not there (no, *** will not do): look at its name and at {address}."),
        (400, "(400): no, *** will not do."),
        (500, "(500): no, *** will not do."),
    ],
)
def test_an_error_is_one_line_without_the_key(
    status: int, told: str, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not tried again, and says what to look at; a log at any level is clean."""
    service.plan = [status] * 4
    caplog.set_level(logging.DEBUG)

    with pytest.raises(ModelError) as error:
        model_of(service).reply("Hi?")

    provider = PROVIDERS[service.provider]
    told = told.format(key=provider.keys[0], address=provider.addresses[0])
    assert str(error.value).endswith(told)
    assert f"{service.provider}:some-model" in str(error.value)
    assert len(service.requests) == 1
    assert is_refusal(error.value) is (status == 400)
    assert KEY not in caplog.text


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_busy_server_is_asked_again(status: int, service: Service) -> None:
    """After as long as it asks for, in all calls; the answer counts once."""
    service.plan = [status, "one", status, "two", status, status, "three"]
    service.headers = {"retry-after": "0.2"}
    model = model_of(service)
    begin = time.monotonic()

    found = [model.reply("Hi?").text, asyncio.run(model.areply("Hi?")).text]

    assert [*found, *model.stream("Hi?")] == ["one", "two", "thr", "ee"]
    assert len(service.requests) == 7
    assert time.monotonic() - begin > 0.8


@pytest.mark.parametrize(
    ("headers", "times"), [({}, 3), ({"retry-after": "90"}, 1)], ids=["often", "long"]
)
def test_a_server_that_stays_busy_is_told(
    headers: dict[str, str], times: int, service: Service
) -> None:
    """After three attempts, or at once where it wants more time than there is."""
    service.plan, service.headers = [429] * 4, headers

    with pytest.raises(ModelError, match="takes no more requests"):
        model_of(service).reply("Hi?", seconds=20)

    assert len(service.requests) == times


def test_an_account_without_money_is_told_at_once(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI says so with the status of too many requests; waiting does not help."""
    service = Service("openai", plan=[429] * 3, headers={"code": "insufficient_quota"})
    httpserver.expect_request("/chat/completions").respond_with_handler(service.answer)
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for(""))

    with pytest.raises(ModelError, match="look at your account"):
        model_of(service).reply("Hi?")

    assert len(service.requests) == 1


@pytest.mark.thorough
def test_a_time_limit_holds(service: Service) -> None:
    """A late answer is told in the reply; a stream ends with the same line."""
    service.plan = ["slow"] * 3
    model = model_of(service)
    told = f"the language model '{model.name}' in 0.3 seconds: use a smaller model."

    reply = model.reply("Hi?", seconds=0.3)
    areply = asyncio.run(model.areply("Hi?", seconds=0.3))
    with pytest.raises(ModelError) as error:
        list(model.stream("Hi?", seconds=0.3))

    assert (reply.late, areply.late) == (True, True)
    assert reply.error == areply.error == str(error.value) == f"No answer from {told}"
    end = time.monotonic() + 10  # the server takes one after the other
    while len(service.requests) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(service.requests) == 3


def test_a_model_that_takes_no_temperature_has_its_own(service: Service) -> None:
    """As those that reason: asked once more without, and from then on at once."""
    service.plan = [(400, "Unsupported value: 'temperature' does not support 0")]
    model = model_of(service)

    found = [model.reply("Hi?").text for _ in range(2)]

    assert found == ["hello you"] * 2
    assert ["temperature" in sent for sent in service.sent] == [True, False, False]


def test_a_server_that_is_not_there_is_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, with the variable that says where it is."""
    name = PROVIDERS[service.provider].addresses[0]
    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")

    with pytest.raises(ModelError, match=f"^No answer from .* at {name}"):
        model_of(service).reply("Hi?")


def test_a_compatible_server_needs_no_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an address is given, nothing but a word that is no key is sent."""
    monkeypatch.delenv(PROVIDERS[service.provider].keys[0])

    assert model_of(service).reply("Hi?").text == "hello you"
    assert KEY not in str(service.requests[0].headers)


def test_what_is_missing_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Key, package and model: one line each, with what to do."""
    for bad in ("sk-é", "sk a", "sk\nb"):
        monkeypatch.setenv("ANTHROPIC_API_KEY", bad)
        with pytest.raises(SettingsError, match="copy the key anew") as error:
            load_language_model("anthropic:m", settings=Settings())
        assert bad not in str(error.value)
    with pytest.raises(SettingsError, match="openai:m needs a key: set OPENAI_API_KEY"):
        load_language_model("openai:m", settings=Settings())
    with pytest.raises(InputError, match="'openai:' names no model"):
        load_language_model("openai:", settings=Settings())
    with pytest.raises(InputError, match="google:m judges pairs"):
        load_language_model("google:m", settings=Settings())
    monkeypatch.setitem(__import__("sys").modules, "langchain_openai", None)
    how = re.escape(installing("knowtrail[openai]"))
    told = f"openai:m needs the extra `openai`: {how}"
    with pytest.raises(MissingExtraError, match=told):
        load_language_model("openai:m", settings=Settings())


@each(
    ("name", "model"),
    [
        ("qwen2.5:7b", "qwen2.5:7b"),
        ("ollama:qwen2.5:7b", "qwen2.5:7b"),
        (" mistral ", "mistral"),
        ("hf.co/org/openai:7b", "hf.co/org/openai:7b"),
    ],
)
def test_other_names_are_those_of_ollama(name: str, model: str) -> None:
    """Names have colons there too."""
    found = load_language_model(name, settings=Settings())

    assert (found.name, found.prompt_tokens is None) == (model, False)


@pytest.mark.parametrize(
    "command",
    [
        "eval retrieval --dataset jsonl:q,c --answers openai:m --judge openai:m",
        "eval retrieval --dataset jsonl:q,c --answers m --judge anthropic:m",
        "eval skn --recorded-only --model openai:m --output results",
        "ask --model anthropic:m question",
    ],
)
def test_commands_tell_a_missing_key_before_they_begin(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No server is started, no file read, no model loaded."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit):
        main([f"--home={tmp_path}", *command.split()])

    (told,) = capsys.readouterr().err.splitlines()
    assert "_API_KEY" in told
    assert list(tmp_path.iterdir()) == []


def test_a_caller_of_a_procedure_names_no_model_that_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But that of the server's settings."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(language_model="openai:own")

    def wanted(model: str) -> Any:
        asked = {"question": "Who sings?"}
        return keywords("ask", asked, {"model": model}, settings=settings)["model"]

    with pytest.raises(InputError, match="KNOWTRAIL_LANGUAGE_MODEL"):
        wanted("openai:dear")
    assert wanted("openai:own").name == "openai:own"
    assert wanted("small:1b").name == "small:1b"


def test_doctor_looks_at_the_key_and_asks_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A request would cost money."""
    name = f"{service.provider}:some-model"
    settings = Settings(language_model=name, home=tmp_path)

    def found() -> tuple[str, str]:
        (one,) = (f for f in examine(settings) if f.check == "language model")
        return one.state, f"{one.detail} {one.advice}"

    assert found() == ("ok", f"{name}, its key is set (not tried) ")
    provider = PROVIDERS[service.provider]
    monkeypatch.delenv(provider.keys[0])
    monkeypatch.delenv(provider.addresses[0])
    state, told = found()
    assert state == "warning"
    assert f"Set {provider.keys[0]}" in told
    assert service.requests == []


def made(model: str = "own") -> BaseChatModel:
    """Return a chat model, as a function of a user's does."""
    answer = AIMessage(f'```json\n{{"said by": "{model}"}}\n```')
    return GenericFakeChatModel(messages=iter([answer] * 9))


def test_a_server_is_named_behind_the_model(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wins over the environment's, needs no key, and an error names it."""
    provider = PROVIDERS[service.provider]
    url = provider.address
    monkeypatch.setenv(provider.addresses[0], "http://127.0.0.1:9/v1")
    monkeypatch.delenv(provider.keys[0])
    name = f"{service.provider}:org/some-model@{url}"

    model = load_language_model(name, settings=Settings())
    judge = load_judges([name])[0]

    assert (model.name, model.reply("Hi?").text) == (name, "hello you")
    assert service.sent[0]["model"] == "org/some-model"
    assert judge.name == name
    service.plan = [404]
    with pytest.raises(ModelError, match=f"look at its name and at {url}"):
        model.reply("Hi?")


def test_any_chat_model_is_named_by_its_place() -> None:
    """A class or function is called with the model, or with nothing."""
    schema = {"type": "object"}
    here = f"langchain:{__name__}.made"

    for name, said in ((f"{here}:some:7b", "some:7b"), (here, "own")):
        model = load_language_model(name, settings=Settings())
        (judge,) = load_judges([name])

        assert (model.name, judge.name) == (name, name)
        found = model.reply("Who?", schema=schema)
        assert json.loads(found.text) == {"said by": said}


@each(
    ("name", "error", "told"),
    [
        ("openai:m@http://", InputError, "no address that can be used"),
        ("openai:@http://127.0.0.1/v1", InputError, "no address that can be used"),
        ("openai:m@http://me:pw@127.0.0.1/v1", InputError, "no password in it"),
        ("openai:m@http://127.0.0.1:x/v1", InputError, "no address that can be used"),
        ("langchain:no_such.Chat:m", MissingExtraError, "install its package"),
        ("langchain:nothing", InputError, "is no class or function"),
        (f"langchain:{__name__}.none", InputError, "is no class or function"),
        ("langchain:builtins.dict", InputError, "makes dict: name a chat model"),
        ("langchain:builtins.open:/no/such", SettingsError, "makes no model"),
    ],
)
def test_a_name_that_leads_nowhere_is_told(
    name: str, error: type[Exception], told: str
) -> None:
    """In one line, before anything is asked."""
    with pytest.raises(error, match=told) as found:
        load_language_model(name, settings=Settings())

    assert "\n" not in str(found.value)


def test_a_caller_of_a_procedure_runs_no_function() -> None:
    """A name of the caller's is never imported."""
    asked = {"question": "Who sings?"}

    with pytest.raises(InputError, match="only the server's settings"):
        keywords("ask", asked, {"model": "langchain:os.abort"}, settings=Settings())


def test_no_key_of_the_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever provider it is of; words that are no keys stay."""
    monkeypatch.setenv("OTHER_API_KEY", "gsk-987654")
    monkeypatch.setenv("SHORT_KEY", "no")

    assert without_keys("no gsk-987654 here") == "no *** here"
