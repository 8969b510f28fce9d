"""The six ways to write down what a text says, each from one declaration.

`skn` has five sections; the ablated variants have all but one. `json` has entities,
relationships and claims; `json_conf` adds a confidence to each claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

Section = Literal["src", "facts", "causal", "gaps", "risk"]
SKN_SECTIONS: tuple[Section, ...] = ("src", "facts", "causal", "gaps", "risk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to write an extraction down.

    Attributes:
        name: What it is called.
        form: The language of the answer.
        sections: Sections of an SKN block, in order; empty for JSON.
        confidences: Whether claims of JSON have a confidence.
        about: What it is, in a few words.
    """

    name: str
    form: Literal["json", "skn"]
    sections: tuple[Section, ...] = ()
    confidences: bool = False
    about: str


def _without(section: Section) -> tuple[Section, ...]:
    """Return the sections of a full block but one."""
    return tuple(s for s in SKN_SECTIONS if s != section)


_DECLARED = (
    Variant(name="json", form="json", about="entities, relationships and claims"),
    Variant(
        name="json_conf",
        form="json",
        confidences=True,
        about="json with a confidence for each claim",
    ),
    Variant(
        name="skn_no_gaps",
        form="skn",
        sections=_without("gaps"),
        about="skn without what is missing",
    ),
    Variant(
        name="skn_no_causal",
        form="skn",
        sections=_without("causal"),
        about="skn without causes and effects",
    ),
    Variant(
        name="skn_no_risk",
        form="skn",
        sections=_without("risk"),
        about="skn without the risk of being misled",
    ),
    Variant(
        name="skn",
        form="skn",
        sections=SKN_SECTIONS,
        about="facts with confidence, causal links, gaps and risk",
    ),
)

VARIANTS: Mapping[str, Variant] = MappingProxyType({v.name: v for v in _DECLARED})
"""Name -> variant, in the order of an ablation."""


def variant_of(name: str) -> Variant:
    """Return a variant by its name.

    Raises:
        InputError: If there is none of that name.
    """
    try:
        return VARIANTS[name]
    except KeyError:
        msg = f"Unknown variant {name!r}: use one of {', '.join(VARIANTS)}."
        raise InputError(msg) from None
