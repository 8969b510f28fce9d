"""Templates, and slots with them, through DSPy with a language model behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import ModelError
from knowtrail.graph.extras import extra
from knowtrail.graph.settings import keep_litellm_local
from knowtrail.retrieval.specificity.class_scores import check_threshold
from knowtrail.retrieval.specificity.classifier import THRESHOLD, Classification
from knowtrail.retrieval.specificity.conversation import Conversation
from knowtrail.retrieval.specificity.query_templates import NONE, Template
from knowtrail.retrieval.specificity.understanding import (
    TOKENS,
    ByModel,
    Reading,
    instructions,
    reading_form,
    said_before,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.specificity.vocabulary import Mention


def _dspy() -> Any:
    keep_litellm_local()
    with extra("dspy", "This classifier"):
        import dspy  # type: ignore[import-untyped]
    return dspy


def ollama_lm(
    model: str, *, url: str, seconds: float = 60.0, tokens: int = TOKENS
) -> Any:
    """Return DSPy's client for a model of Ollama."""
    return _dspy().LM(
        f"ollama_chat/{model}",
        api_base=url.rstrip("/") + "/v1",
        api_key="ollama",  # it needs none, but something must be given
        temperature=0.0,
        max_tokens=tokens,
        timeout=seconds,
        num_retries=0,
        cache=False,
    )


class DspyUnderstanding(ByModel):
    """Understands through DSPy, by one signature for template and slots.

    It tells templates alone, too, as a `TemplateClassifier`. What it says is checked as
    that of any model; see `ByModel`. Nothing global of DSPy is set. `module` is the
    `dspy.Predict` over the signature, for DSPy's optimisers.
    """

    def __init__(
        self,
        templates: Mapping[str, Template],
        lm: Any,
        *,
        threshold: float = THRESHOLD,
    ) -> None:
        check_threshold(threshold)
        super().__init__(lm, threshold=threshold)
        dspy = _dspy()
        self.by, self._templates = "dspy", templates
        signature = dspy.Signature(
            {
                "question": (str, dspy.InputField(desc="a question of a user")),
                "language": (str, dspy.InputField(desc="nl or en")),
                "conversation": (list[dict[str, str]], dspy.InputField()),
                "reading": (reading_form(templates), dspy.OutputField()),
            },
            instructions(templates),
        )
        self.module = dspy.Predict(signature)

    def read(
        self,
        question: str,
        before: Conversation,
        language: str,
        templates: Mapping[str, Template],
    ) -> Reading:
        """Return what the model says; see `ByModel`."""
        dspy = _dspy()
        from dspy.utils.exceptions import (  # type: ignore[import-untyped]
            AdapterParseError,
        )

        try:
            with dspy.context(lm=self.model, adapter=dspy.JSONAdapter()):
                said = self.module(
                    question=question,
                    language=language,
                    conversation=said_before(before),
                )
        except AdapterParseError:
            said = None
        except Exception as error:  # DSPy and its clients raise what they like
            what = " ".join(str(error).split())[:300]
            msg = f"The language model did not classify the question: {what}"
            raise ModelError(msg) from error
        if not isinstance(reading := getattr(said, "reading", None), Reading):
            raise ValueError("its answer cannot be read")
        return reading

    def classify(
        self, question: str, mentions: Sequence[Mention] = (), *, language: str = "en"
    ) -> Classification:
        """Return the template of a question; see `TemplateClassifier`.

        It is `none` with confidence 0 where what the model says is no reading. Raises
        `ModelError` if it does not answer.
        """
        try:
            said = self.read(question, Conversation(), language, self._templates)
        except ValueError:
            return Classification(template_id=NONE, confidence=0.0, by=self.by)
        return said.classification(self.threshold, self.by)
