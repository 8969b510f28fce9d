"""Properties of nodes and relationships: a dictionary in which None is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView

__all__ = ["PropertyDict"]


class PropertyDict(dict[str, Any]):
    """Properties by key; a key that is missing has the value None.

    Setting None takes the key away. What is known only by its identity is read from
    the server (`_freshen`) before anything is looked up.
    """

    def __init__(self, /, *args: Any, **properties: Any) -> None:
        super().__init__()
        self.update(*args, **properties)

    def _freshen(self) -> None:
        """Read the properties, where that has not been done."""

    def _replace(self, properties: dict[str, Any]) -> None:
        """Hold other properties, without a look at the server."""
        super().clear()
        super().update({k: v for k, v in properties.items() if v is not None})

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key, None where there is none."""
        self._freshen()
        return super().get(key)

    def __setitem__(self, key: str, value: Any) -> None:
        """Set the value of a key; None takes it away."""
        self._freshen()
        if not isinstance(key, str):
            msg = f"A property key is text, not {type(key).__name__}: {key!r}."
            raise TypeError(msg)
        if value is None:
            super().pop(key, None)
        else:
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        """Take a key away.

        Raises:
            KeyError: If there is no such key.
        """
        self._freshen()
        super().__delitem__(key)

    def __contains__(self, key: object) -> bool:
        """Return whether there is such a key."""
        self._freshen()
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        self._freshen()
        return super().__iter__()

    def __len__(self) -> int:
        """Count the keys."""
        self._freshen()
        return super().__len__()

    def __bool__(self) -> bool:
        """Return whether there is any key."""
        return len(self) > 0

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """Return the keys."""
        self._freshen()
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Return the values."""
        self._freshen()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Return keys with values."""
        self._freshen()
        return super().items()

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or what stands in for it."""
        self._freshen()
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Take a key away and return its value."""
        self._freshen()
        return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        """Take the last key away and return it with its value."""
        self._freshen()
        return super().popitem()

    def clear(self) -> None:
        """Take all keys away."""
        self._freshen()
        super().clear()

    def copy(self) -> dict[str, Any]:
        """Return a plain dictionary of the properties."""
        return dict(self)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, and set it first where there is none."""
        if key not in self and default is not None:
            self[key] = default
        return self.get(key, default)

    def update(self, /, *args: Any, **properties: Any) -> None:
        """Set many values; None takes a key away."""
        for key, value in dict(*args, **properties).items():
            self[key] = value
