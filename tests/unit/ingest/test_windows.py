"""Windows over sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import SettingsError
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.prepare import windows


@st.composite
def _settings(draw: st.DrawFn) -> tuple[int, int, int]:
    size = draw(st.integers(1, 12))
    return draw(st.integers(0, 200)), size, draw(st.integers(1, size))


@given(_settings())
def test_every_sentence_is_in_a_window(settings: tuple[int, int, int]) -> None:
    """The union of the windows is the whole document."""
    count, size, stride = settings

    found = windows(count, size=size, stride=stride)

    covered = {i for first, last in found for i in range(first, last + 1)}
    assert covered == set(range(count))


@given(_settings())
def test_only_the_last_window_is_short_and_reaches_the_end(
    settings: tuple[int, int, int],
) -> None:
    """All windows but the last are full and end before the last sentence."""
    count, size, stride = settings

    found = windows(count, size=size, stride=stride)

    assert all(last - first + 1 == size for first, last in found[:-1])
    assert all(last < count - 1 for _, last in found[:-1])
    assert [last for _, last in found[-1:]] == [count - 1] * bool(count)


@given(_settings())
def test_windows_begin_one_stride_apart(settings: tuple[int, int, int]) -> None:
    """The first sentences are the multiples of the stride."""
    count, size, stride = settings

    found = windows(count, size=size, stride=stride)

    assert [first for first, _ in found] == [stride * i for i in range(len(found))]


@pytest.mark.parametrize(
    ("count", "number"), [(3, 1), (4, 2), (60, 58), (2, 1), (0, 0)]
)
def test_defaults_give_two_windows_less_than_sentences(count: int, number: int) -> None:
    """Three sentences, stride 1, is the published setting."""
    assert len(windows(count)) == number


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (3, 4), (3, 0), (101, 1)])
def test_settings_that_leave_sentences_out_are_refused(size: int, stride: int) -> None:
    """A stride beyond the window, and sizes that mean nothing, are errors."""
    with pytest.raises(SettingsError, match="so that no sentence is left out"):
        IngestOptions(window=size, stride=stride)
