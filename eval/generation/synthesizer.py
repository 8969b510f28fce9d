"""Questions by DeepEval's Synthesizer, one context at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowtrail.eval.generation.chain import ChainError, GeneratedQuestion
from knowtrail.eval.generation.generating import ChainWriter, chain_writer
from knowtrail.eval.judged.judging import (
    UselessAnswerError,
    deepeval_model,
    deepeval_version,
    quiet_deepeval,
)
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from knowtrail.eval.generation.contexts import ContextGroup
    from knowtrail.eval.generation.generating import Writer
    from knowtrail.graph.models.language_models import LanguageModel

LONGEST_CONTEXT = 8_000
"""Characters that the synthesizer is shown."""

_OF_DEEPEVAL = {
    "reasoning": "Reasoning",
    "multi-context": "Multi-context",
    "comparative": "Comparative",
}


def deepeval_writer(model: str | BaseChatModel | LanguageModel, **given: Any) -> Writer:
    """Return a writer that asks DeepEval's Synthesizer.

    Each question has the evolutions that the plan gives it, so that their shares hold
    and a seed repeats them: DeepEval's own choice is at random. A question below the
    critic's threshold at the last look is left out, which DeepEval would keep. Its
    gold is the whole context, since DeepEval does not say what an answer rests on.

    Takes what `chain_writer` does.
    """
    chain = chain_writer(model, **given)
    with quiet_deepeval():
        return _DeepEvalWriter(
            who=chain.who, critic=chain.critic, options=chain.options
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeepEvalWriter(ChainWriter):
    """DeepEval's Synthesizer with a model of ours."""

    @property
    def made_by(self) -> tuple[str, str]:
        """Return what asks, and its version."""
        return "deepeval", deepeval_version()

    def write(
        self,
        group: ContextGroup,
        *,
        evolutions: Sequence[str],
        others: Sequence[str],
        take: int,
    ) -> GeneratedQuestion:
        """Return a question about a context."""
        # The synthesizer cannot be told what was asked already: a further question
        # about the same context is a further take.
        take += len(others)
        try:
            golden = self._golden(group, evolutions, take)
        except UselessAnswerError as error:
            step = "synthesizer"
            raise ChainError(step, str(error)) from error
        question = " ".join(str(golden.input or "").split())
        answer = " ".join(str(golden.expected_output or "").split())
        quality = _quality(golden)
        if quality is None or quality < self.options.threshold:
            step, told = "critique", "no number" if quality is None else f"{quality:g}"
            reason = f"the critic's last score is {told}: {question!r}"
            raise ChainError(step, reason)
        if len(question) < 8 or not answer or question in others:
            step = "answer"
            reason = f"no new question with an answer came: {question!r}"
            raise ChainError(step, reason)
        return GeneratedQuestion(
            id=content_key("question", group.id, question),
            question=question,
            answer=answer,
            group=group,
            gold=group.sentences,
            evolutions=_evolutions(golden),
            quality=quality,
            synthesizer=f"deepeval {deepeval_version()}",
            model=self.who.name,
        )

    def _golden(self, group: ContextGroup, evolutions: Sequence[str], take: int) -> Any:
        """Return DeepEval's golden, its evolutions one after the other."""
        with quiet_deepeval():
            from deepeval.synthesizer import Evolution, Synthesizer
            from deepeval.synthesizer.config import EvolutionConfig, FiltrationConfig

            kinds = sorted({_OF_DEEPEVAL[name] for name in evolutions})
            synthesizer = Synthesizer(
                model=deepeval_model(replace(self.who, take=take)),
                async_mode=False,
                filtration_config=FiltrationConfig(
                    synthetic_input_quality_threshold=self.options.threshold,
                    max_quality_retries=self.options.retries,
                    critic_model=deepeval_model(replace(self.critic, take=take)),
                ),
                evolution_config=EvolutionConfig(
                    num_evolutions=len(evolutions),
                    evolutions={Evolution(kind): 1 / len(kinds) for kind in kinds},
                ),
            )
            goldens = synthesizer.generate_goldens_from_contexts(
                contexts=[_context(group)],
                include_expected_output=True,
                max_goldens_per_context=1,
                _send_data=False,
            )
        if not goldens:
            step = "synthesizer"
            raise ChainError(step, "the synthesizer gave no question")
        return goldens[0]


def _evolutions(golden: Any) -> tuple[str, ...]:
    """Return the evolutions that DeepEval says it used, by our names."""
    ours = {theirs: name for name, theirs in _OF_DEEPEVAL.items()}
    used = (golden.additional_metadata or {}).get("evolutions") or []
    return tuple(ours.get(str(getattr(one, "value", one)), str(one)) for one in used)


def _context(group: ContextGroup) -> list[str]:
    """Return a context's passages, as much as the synthesizer is shown."""
    kept: list[str] = []
    room = LONGEST_CONTEXT
    for passage in group.passages():
        if passage := passage[:room]:
            kept.append(passage)
        room -= len(passage)
    return kept


def _quality(golden: Any) -> float | None:
    """Return the critic's score, None where it is no share."""
    said = (golden.additional_metadata or {}).get("synthetic_input_quality")
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if 0 <= said <= 1 else None
