"""Structured Knowledge Notation: its objects, its strict and its forgiving reader.

```
[SKN]
@src <domain> | fresh:<high|medium|low> | reliability:<0-1>
@facts
  ! "critical fact" [<0-1>]
  . "supporting detail" [<0-1>]
  ~ "uncertain or implied" [<0-1>]
@causal
  <cause> -> <effect> [<0-1>]
@gaps
  - <what is missing>
@risk misdirection:<high|medium|low> | missing_context:<high|medium|low>
[/SKN]
```
"""

from __future__ import annotations

from ingest.extraction.skn.blocks import (
    Repair,
    SknBlock,
    SknError,
    SknFact,
    SknLink,
    SknRisk,
    SknSource,
)
from ingest.extraction.skn.parsing import check_sections, parse
from ingest.extraction.skn.repairing import parse_forgiving
from ingest.extraction.skn.writing import write

__all__ = [
    "Repair",
    "SknBlock",
    "SknError",
    "SknFact",
    "SknLink",
    "SknRisk",
    "SknSource",
    "check_sections",
    "parse",
    "parse_forgiving",
    "write",
]
