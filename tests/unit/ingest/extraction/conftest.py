"""A chat model that says what a test tells it to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from knowtrail.graph.models.language_models import LanguageModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Scripted(GenericFakeChatModel):
    """A chat model with given answers, which keeps what it was asked."""

    asked: list[str] = []  # noqa: RUF012 - Pydantic copies it

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self.asked.append(str(messages[-1].text))
        yield from super()._stream(messages, *args, **kwargs)


@pytest.fixture
def saying() -> Callable[..., tuple[LanguageModel, list[str]]]:
    """Return a function that makes a model of answers, with what it is asked."""

    def make(
        *answers: str, prompt_tokens: int | None = 3_584
    ) -> tuple[LanguageModel, list[str]]:
        asked: list[str] = []
        chat = Scripted(messages=iter([AIMessage(a) for a in answers]), asked=asked)
        model = LanguageModel(chat, name="scripted", prompt_tokens=prompt_tokens)
        return model, chat.asked

    return make
