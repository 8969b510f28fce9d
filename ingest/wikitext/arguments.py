"""Arguments of a template."""

from __future__ import annotations

import re

__all__ = ["Arguments"]

_NAMED = re.compile(r"\s*([\w .()/-]{1,40}?)\s*=(.*)", re.DOTALL)


class Arguments:
    """Positional and named arguments, white space around them removed.

    Attributes:
        positional: The positional ones; `2=text` sets the second.
        language: Language of the wiki.
    """

    def __init__(self, parts: list[str], language: str) -> None:
        """Sort the arguments.

        Args:
            parts: Name of the template, then its arguments as written.
            language: Language of the wiki.
        """
        self.positional: list[str] = []
        self.language = language
        self._named: dict[str, str] = {}
        for part in parts[1:]:
            match = _NAMED.fullmatch(part)
            if match is None:
                self.positional.append(part.strip())
            elif match[1] in {"1", "2", "3", "4", "5"}:
                self._place(int(match[1]), match[2].strip())
            else:
                self._named[match[1].lower()] = match[2].strip()

    def get(self, key: int | str) -> str:
        """Return an argument by its place from 1 or by its name, empty if absent."""
        if isinstance(key, str):
            return self._named.get(key, "")
        return self.positional[key - 1] if key <= len(self.positional) else ""

    def _place(self, place: int, value: str) -> None:
        """Set a numbered argument."""
        while len(self.positional) < place:
            self.positional.append("")
        self.positional[place - 1] = value
