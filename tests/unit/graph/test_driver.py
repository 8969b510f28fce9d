"""What the driver raises, as our errors."""

from __future__ import annotations

import pytest

from graph.driver import translate_errors
from graph.errors import InputError


def test_half_a_character_is_refused_in_one_line() -> None:
    r"""JSON can hold `\ud83e`, which the driver cannot send."""
    with (
        pytest.raises(InputError, match="not valid text at character 4"),
        translate_errors(),
    ):
        "Ice\ud83e".encode()
