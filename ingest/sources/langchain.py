"""Documents that a LangChain loader gave."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sized
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.errors import SourceError
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import Failure, LeftOut, RawDocument
from knowtrail.ingest.sources._values import BadValueError, metadata_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from langchain_core.documents import Document

    from knowtrail.ingest.records import Item, Metadata

_LOG = logging.getLogger(__name__)
_OWN = frozenset({"title", "source", "url"})


@dataclass(eq=False, repr=False)
class LangChainSource:
    """LangChain `Document`s, in their order.

    The id of a document is `Document.id`, else `metadata["source"]`, else a key of its
    text; the second and further documents of the same id (the pages of one PDF, say)
    have their number behind it, as in `paper.pdf#2`. The title is `metadata["title"]`,
    else the source, else the id. `url` is `metadata["url"]`, or the source where that
    is a web address. Metadata is kept as that of JSON
    Lines is, and left out where no property can hold it.

    They are a sequence, or an iterator, which can be read only once. The language is
    that of documents whose metadata names none.
    """

    name = "LangChain documents"

    documents: Iterable[Document]
    _: KW_ONLY
    language: str = "en"

    def __post_init__(self) -> None:
        given = self.documents
        self.size: int | None = len(given) if isinstance(given, Sized) else None
        self.position = 0
        self._begun = False

    def items(self) -> Iterator[Item]:
        """Yield documents, failures for what is none; an iterator but once."""
        if self._begun and isinstance(self.documents, Iterator):
            msg = "The documents were an iterator and are used up: pass a list."
            raise SourceError(msg)
        self._begun, self.position = True, 0
        return self._read_all()

    def _read_all(self) -> Iterator[Item]:
        from langchain_core.documents import Document

        seen: Counter[str] = Counter()
        for number, document in enumerate(self.documents, start=1):
            self.position = number
            if not isinstance(document, Document):
                kind = type(document).__name__
                message = f"a {kind} is no LangChain Document"
                yield Failure(title=f"document {number}", message=message)
                continue
            yield self._item(document, seen)

    def _item(self, document: Document, seen: Counter[str]) -> RawDocument | LeftOut:
        metadata, text = document.metadata, whole_characters(document.page_content)
        source = _string(metadata, "source")
        identity = whole_characters(document.id or "") or source or content_key(text)
        title = _string(metadata, "title") or source or identity
        if not text.strip():
            return LeftOut(title=title, reason="empty")
        identity = _unused(identity, seen)
        web = source if source.startswith(("https://", "http://")) else None
        return RawDocument(
            source_id=identity,
            title=title,
            raw=text,
            url=_string(metadata, "url") or web,
            source=source,
            language=_string(metadata, "language") or self.language,
            metadata=_kept(metadata),
        )


def _unused(identity: str, seen: Counter[str]) -> str:
    """Return the id, numbered where documents before it have taken it."""
    seen[identity] += 1
    if seen[identity] == 1:
        return identity
    while (numbered := f"{identity}#{seen[identity]}") in seen:
        seen[identity] += 1
    seen[numbered] += 1
    return numbered


def _string(metadata: Mapping[str, object], name: str) -> str:
    value = metadata.get(name)
    return "" if value is None else whole_characters(str(value)).strip()


def _kept(metadata: Mapping[str, object]) -> dict[str, Metadata]:
    kept: dict[str, Metadata] = {}
    for name, value in metadata.items():
        if name in _OWN or value is None or not str(name).strip() or "\0" in str(name):
            continue
        try:
            kept[whole_characters(str(name))] = metadata_value(value, str(name))
        except BadValueError as error:
            _LOG.debug("Metadata left out: %s", error)
    return kept
