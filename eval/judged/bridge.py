"""DeepEval with any LangChain chat model, without telemetry, and with nothing lost."""

from __future__ import annotations

import asyncio
import io
import logging
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from eval.skn.calls import ask
from graph.errors import InputError, MissingExtraError
from graph.settings import keep_deepeval_quiet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.skn.models import Respondent

__all__ = [
    "UselessAnswerError",
    "deepeval_model",
    "deepeval_version",
    "need_deepeval",
    "quiet_deepeval",
]


class UselessAnswerError(InputError):
    """A model's answer was not of the form that DeepEval asked for, twice."""


@contextmanager
def quiet_deepeval() -> Iterator[None]:
    """Import DeepEval so that it sends and shows nothing while it works.

    Raises:
        MissingExtraError: If the extra `deepeval` is not installed.
    """
    # It draws its progress on standard output, which is for data, and says there at
    # its import that it writes no files.
    with redirect_stdout(io.StringIO()):
        need_deepeval()
        loggers = [logging.getLogger(name) for name in ("deepeval", "httpx")]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def need_deepeval() -> None:
    """Import DeepEval, quiet and sending nothing, or say that it is missing.

    Raises:
        MissingExtraError: If the extra `deepeval` is not installed.
    """
    keep_deepeval_quiet()
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        import deepeval  # noqa: F401 - must be there
    except ImportError as error:
        msg = "DeepEval is not installed: pip install 'knowtrail[deepeval]'."
        raise MissingExtraError(msg) from error
    finally:
        logging.disable(before)


def deepeval_version() -> str:
    """Return the version of DeepEval, whose prompts are part of what it finds."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("deepeval")
    except PackageNotFoundError:
        return "none"


def deepeval_model(who: Respondent) -> Any:
    """Return a model as DeepEval's metrics and synthesizer take one.

    An answer is held to the form that DeepEval asks for, and asked for once more where
    it is of another; a second one of no use ends the question or metric.

    Args:
        who: Who answers; what a `KeptRespondent` says is on disk before it is used.

    Returns:
        A `deepeval.models.DeepEvalBaseLLM`.

    Raises:
        MissingExtraError: If the extra `deepeval` is not installed.
    """
    with quiet_deepeval():
        from deepeval.models import DeepEvalBaseLLM

    class Bridged(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
        """A chat model that DeepEval can ask."""

        def load_model(self, *_: Any, **__: Any) -> Any:
            return who.model

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return who.name

        def generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return _answered(who, prompt, schema)

        async def a_generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return await asyncio.to_thread(_answered, who, prompt, schema)

    return Bridged(who.name)


def _answered(who: Respondent, prompt: str, schema: Any) -> Any:
    """Return an answer as an object of DeepEval's, or as text."""
    if schema is None:
        reply = who.reply("", prompt, schema=None)
        if reply.error or not reply.text.strip():
            raise UselessAnswerError(reply.error or "The model said nothing.")
        return reply.text
    form = schema.model_json_schema()
    answer = ask(who, "", prompt, schema=form)
    if answer.value is None:
        msg = answer.error or "no answer came"
        raise UselessAnswerError(msg)
    try:
        return schema.model_validate(answer.value)
    except ValueError as error:
        raise UselessAnswerError(" ".join(str(error).split())[:300]) from error
