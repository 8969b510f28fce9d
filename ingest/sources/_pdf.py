"""The text of PDF files, page by page."""

from __future__ import annotations

import io
import logging
import re

from knowtrail.ingest.records import Section
from knowtrail.ingest.sources._page import Page

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[^\W\d_])")


class PdfError(ValueError):
    """A PDF file of which nothing can be read; the message says why."""


def read_pdf(data: bytes) -> Page:
    """Read the text that a PDF file holds; pages become sections.

    Words parted at the end of a line are joined. Pictures are not looked at.

    Raises:
        PdfError: If it is no PDF, locked, or has pictures of text alone.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    # What it mends by itself is no news to who reads the text.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            msg = "it is locked: save it without its password"
            raise PdfError(msg)
        texts = [page.extract_text() for page in reader.pages]
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except PdfError:
        raise
    except (PyPdfError, Exception) as error:  # broken files make it raise anything
        msg = f"it cannot be read as PDF ({' '.join(str(error).split())[:200]})"
        raise PdfError(msg) from error
    sections, parts, length = [], [], 0
    for number, text in enumerate(texts, start=1):
        kept = _HYPHEN.sub("", text).strip()
        sections.append(Section(title=f"Page {number}", start=length))
        if kept:
            parts.append(kept + "\n")
            length += len(kept) + 1
    if texts and not parts:
        msg = "it has pictures and no text: have its text recognised (OCR) first"
        raise PdfError(msg)
    return Page(
        title=title.strip() or None, text="".join(parts), sections=tuple(sections)
    )
