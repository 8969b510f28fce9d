"""Which models Ollama has, by its list of tags, before the first call of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.skn.benchmark import check_models
from knowtrail.graph.errors import ModelError
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from pytest_httpserver import HTTPServer

TAGS = {"models": [{"name": "qwen2.5:7b"}, {"name": "judge:latest", "digest": "ab"}]}


@pytest.fixture
def settings(httpserver: HTTPServer) -> Settings:
    """Return settings of a server that lists two models."""
    httpserver.expect_request("/api/tags").respond_with_json(TAGS)
    return Settings(ollama_url=httpserver.url_for("/"))


def test_models_that_are_there_pass(httpserver: HTTPServer, settings: Settings) -> None:
    """A name without a tag is the latest; the server is asked once for all."""
    found = check_models(["qwen2.5:7b", "judge", "judge:latest"], settings=settings)

    assert found == {"qwen2.5:7b": None, "judge": "ab", "judge:latest": "ab"}
    assert [request.path for request, _ in httpserver.log] == ["/api/tags"]


def test_a_model_that_is_missing_is_told(settings: Settings) -> None:
    """The message says what to pull."""
    with pytest.raises(
        ModelError, match=r"has no model 'qwen2.5:14b': run `ollama pull"
    ):
        check_models(["judge", "qwen2.5:14b"], settings=settings)


@pytest.mark.parametrize("answer", [[], {}, {"models": [{}]}, {"models": None}])
def test_a_server_that_is_no_ollama_is_told(
    httpserver: HTTPServer, answer: Any
) -> None:
    """Whatever answers there, it is not what is needed."""
    httpserver.expect_request("/api/tags").respond_with_json(answer)

    with pytest.raises(ModelError, match="No answer from Ollama"):
        check_models(["a"], settings=Settings(ollama_url=httpserver.url_for("/")))
