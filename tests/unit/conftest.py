"""Unit tests reach no network: only this machine's loopback answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_socket

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _loopback_only() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""
    pytest_socket.socket_allow_hosts(
        ["127.0.0.1", "::1", "localhost"], allow_unix_socket=True
    )
    yield
    pytest_socket._remove_restrictions()
