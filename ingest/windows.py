"""Windows of neighbouring sentences: what becomes a chunk."""

from __future__ import annotations

from knowtrail.graph.errors import SettingsError


def windows(count: int, *, size: int = 3, stride: int = 1) -> list[tuple[int, int]]:
    """Return the windows over `count` sentences as (first, last), both inclusive.

    The list ends at the first window that reaches the last sentence, which is shorter
    than the others where the stride leaves a remainder. Fewer sentences than `size`
    make one window; no sentence is left out of every window.

    Args:
        count: Number of sentences, 0 or more.
        size: Sentences in a window, at least 1.
        stride: Sentences from one window's first to the next one's, 1 to `size`.

    Raises:
        SettingsError: If size or stride is out of range, or the count negative.

    Example:
        >>> windows(5)
        [(0, 2), (1, 3), (2, 4)]
        >>> windows(6, size=3, stride=2)
        [(0, 2), (2, 4), (4, 5)]
    """
    check_windows(size=size, stride=stride)
    if count < 0:
        msg = f"A document cannot have {count} sentences: pass 0 or more."
        raise SettingsError(msg)
    steps = 0 if count == 0 else 1 + max(0, -(-(count - size) // stride))
    return [
        (step * stride, min(step * stride + size, count) - 1) for step in range(steps)
    ]


def check_windows(*, size: int, stride: int) -> None:
    """Refuse window settings that would leave sentences out.

    Raises:
        SettingsError: If size is below 1 or stride not between 1 and size.
    """
    if size < 1:
        msg = f"The window is {size} sentences: it must be 1 or more."
        raise SettingsError(msg)
    if not 1 <= stride <= size:
        msg = (
            f"The stride is {stride} sentences with a window of {size}: "
            f"it must be between 1 and the window, or sentences would be left out."
        )
        raise SettingsError(msg)
