"""Institutions as documents: one each, of what its row says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.records import RawDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.custodians.records import Custodian
    from ingest.records import Item, Scalar

__all__ = ["CustodianSource", "document_of"]


class CustodianSource:
    """A source of documents whose ids are those of the institutions' nodes."""

    def __init__(
        self,
        name: str,
        custodians: Callable[[], Iterator[Custodian]],
        *,
        corpus: str,
        rows: int,
    ) -> None:
        """Say where the institutions come from.

        Args:
            name: Name of the file.
            custodians: Makes them anew, in their order.
            corpus: Name of the corpus, for their ids.
            rows: How many there are at most, for progress.
        """
        self._name = name
        self._custodians = custodians
        self._corpus = corpus
        self._rows = rows
        self._position = 0

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self._name

    @property
    def size(self) -> int | None:
        """Return the number of rows."""
        return self._rows

    @property
    def position(self) -> int:
        """Return how many institutions were read."""
        return self._position

    def items(self) -> Iterator[Item]:
        """Yield a document for each institution."""
        self._position = 0
        for custodian in self._custodians():
            self._position += 1
            yield document_of(custodian, corpus=self._corpus)


def document_of(custodian: Custodian, *, corpus: str) -> RawDocument:
    """Return the document that tells of an institution."""
    known = {
        "className": custodian.class_name,
        "institutionType": custodian.type,
        "city": custodian.city,
        "countryCode": custodian.country,
    }
    metadata: dict[str, Scalar] = {k: v for k, v in known.items() if v is not None}
    return RawDocument(
        source_id=custodian.id(corpus),
        title=custodian.name,
        raw=custodian.text(),
        url=custodian.url,
        source=custodian.source,
        language=custodian.language,
        metadata=metadata,
    )
