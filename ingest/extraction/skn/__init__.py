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

from knowtrail.ingest.extraction.skn.notation import parse, write
from knowtrail.ingest.extraction.skn.repairs import parse_forgiving

__all__ = ["parse", "parse_forgiving", "write"]
