"""What is sent to a language model, and with which options."""

from __future__ import annotations

from knowtrail.graph.models.ollama_client import ANSWER_TOKENS, CONTEXT_TOKENS
from knowtrail.graph.models.requests import ModelRequest

SCHEMA = {"type": "object"}


def test_plain_request_leaves_the_usual_options() -> None:
    """Nothing is set that the client has not."""
    request = ModelRequest(prompt="Why?")

    assert request.messages(is_ollama=True) == "Why?"
    assert request.options(is_ollama=True) == {}


def test_options_keep_the_context() -> None:
    """Any other option comes with all of them, as Ollama would reload the model."""
    request = ModelRequest(prompt="Why?", tokens=100, temperature=0.2, seed=7)

    assert request.options(is_ollama=True) == {
        "options": {
            "temperature": 0.2,
            "num_ctx": CONTEXT_TOKENS,
            "num_predict": 100,
            "seed": 7,
        }
    }


def test_temperature_hangs_on_the_seed_where_it_is_not_given() -> None:
    """Zero for the most likely answer, more for another one."""
    likely = ModelRequest(prompt="Why?", tokens=100).options(is_ollama=True)
    other = ModelRequest(prompt="Why?", seed=1).options(is_ollama=True)

    assert likely["options"]["temperature"] == 0
    assert other["options"]["temperature"] == 0.5
    assert other["options"]["num_predict"] == ANSWER_TOKENS


def test_answer_gets_no_more_than_the_prompt_leaves() -> None:
    """The context is shared; an answer always has the usual number at least."""
    short = ModelRequest(prompt="Why?", tokens=100_000)
    long = ModelRequest(prompt="Why? " * 3_000, system="Be brief.", tokens=100_000)

    assert short.answer_tokens == CONTEXT_TOKENS - 2
    assert long.answer_tokens == ANSWER_TOKENS


def test_ollama_is_held_to_json() -> None:
    """A schema, or any JSON, is an option and not part of the prompt."""
    schema = ModelRequest(prompt="Why?", schema=SCHEMA)
    free = ModelRequest(prompt="Why?", schema="json")

    assert schema.options(is_ollama=True) == {"format": SCHEMA}
    assert free.options(is_ollama=True) == {"format": "json"}
    assert free.messages(is_ollama=True) == "Why?"


def test_other_models_are_told_the_form() -> None:
    """They have no such option, so the prompt says it."""
    schema = ModelRequest(prompt="Why?", schema=SCHEMA)
    free = ModelRequest(prompt="Why?", schema="json", tokens=9)

    assert str(schema.messages(is_ollama=False)).endswith('schema: {"type": "object"}')
    assert "one JSON object" in str(free.messages(is_ollama=False))
    assert free.options(is_ollama=False) == {}


def test_system_message_comes_first() -> None:
    """Halves of characters are replaced in both."""
    request = ModelRequest(prompt="Why\ud800?", system="Be brief.")

    assert request.messages(is_ollama=True) == [
        ("system", "Be brief."),
        ("human", "Why??"),
    ]
