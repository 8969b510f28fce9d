"""A whole ingest against embedding the same texts alone, and a second run.

The model is loaded and warm before either. Alone are embedded, in one call each: before
the ingest its sentences and chunks, and after it all texts that it gave to the model,
those among which themes were chosen too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from measure import Server, Table, Took, cpu, median, served, spread, walls, warmed
from sample import DUMP, generated

from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.sources.dump import DumpSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.records import Item
    from knowtrail.ingest.report import IngestReport

CORPUS = "benchmark"


class Beginning:
    """The first articles of the sample, with all that lies between them."""

    name = "sample"
    size = None
    position = 0

    def __init__(self, articles: int) -> None:
        self._articles = articles

    def items(self) -> Iterator[Item]:
        """Yield the items up to the last article wanted."""
        source = (
            DumpSource([DUMP]).items()
            if DUMP.is_file()
            else generated(self._articles or 100)
        )
        left = self._articles
        for item in source:
            yield item
            if isinstance(item, RawDocument):
                left -= 1
                if left == 0:
                    return


class Noting:
    """An embedder that notes what it is asked for."""

    query_prompt = ""

    def __init__(self, embedder: Embedder, name: str) -> None:
        self._embedder = embedder
        self.name = name
        self.calls: list[list[str]] = []

    def embed_array(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return the embedder's vectors."""
        self.calls.append(texts)
        return embed_texts(self._embedder, texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the embedder's vectors as lists."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the embedder's vector of a question."""
        return self._embedder.embed_query(text)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--articles", type=int, help="articles of the dump (default 12), 0 for all"
    )
    parser.add_argument("--embedder", default=DEFAULT_EMBEDDER)


def run(given: argparse.Namespace) -> None:
    """Measure and print the table."""
    articles = given.articles
    if articles is None:
        articles = 2 if given.small else 12
    embedder = warmed(load_embedder(given.embedder))
    with served() as server:
        noting = Noting(embedder, given.embedder)
        reports: list[IngestReport] = []

        def ingest() -> None:
            reports.append(
                ingest_corpus(
                    server.connection,
                    [Beginning(articles)],
                    corpus=CORPUS,
                    embedder=noting,
                    settings=server.settings,
                )
            )

        before = server.time(lambda: embed_texts(embedder, _known_texts(articles)))
        first = server.time(ingest)
        calls, noting.calls = noting.calls, []
        server.quiet()
        texts = list(dict.fromkeys(text for call in calls for text in call))
        every = server.time(lambda: embed_texts(embedder, texts))
        second = server.time(ingest)
        _print(
            server,
            reports,
            _known_texts(articles),
            texts,
            {
                "alone": [before],
                "with phrases": [every],
                "first": [first],
                "second": [second],
            },
            sum(map(len, noting.calls)),
        )


_KNOWN: dict[int, list[str]] = {}


def _known_texts(articles: int) -> list[str]:
    """Return the sentences and chunks of the articles, each once."""
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.prepare import prepare

    if articles not in _KNOWN:
        texts: dict[str, None] = {}
        for item in Beginning(articles).items():
            if isinstance(item, RawDocument):
                document = prepare(item, corpus=CORPUS, options=IngestOptions())
                for row in (*document.sentences, *document.chunks):
                    texts[row["text"]] = None
        _KNOWN[articles] = list(texts)
    return _KNOWN[articles]


def _print(
    server: Server,
    reports: list[IngestReport],
    known: list[str],
    texts: list[str],
    times: dict[str, list[Took]],
    again: int,
) -> None:
    """Print the table."""
    first, second = reports
    table = Table(
        title=(
            f"whole-ingest: {first.added} documents, {len(known):,} sentences and "
            f"chunks, {len(texts):,} texts with phrases and themes"
        ),
        columns=("side", "seconds", "CPU s: own + server"),
    )
    for key, name in (
        ("alone", "embedding sentences and chunks alone, in one call, before"),
        ("with phrases", "embedding all its texts alone, in one call, after"),
        ("first", "first ingest"),
        ("second", "second ingest of the same"),
    ):
        table.add(name, spread(walls(times[key])), cpu(times[key]))
    whole = median(times["first"])
    spent = _cpu(times["first"])
    stages = ", ".join(f"{name} {s:.1f} s" for name, s in first.seconds.items())
    table.notes += [
        "First ingest over embedding (at most 1.3 is wanted): "
        f"{whole / median(times['with phrases']):.2f}x all its texts, "
        f"{whole / median(times['alone']):.2f}x sentences and chunks alone; "
        f"in CPU seconds {spent / _cpu(times['with phrases']):.2f}x and "
        f"{spent / _cpu(times['alone']):.2f}x. "
        f"Stages: {stages}.",
        "Second over first (less than 10 % is wanted): "
        f"{100 * median(times['second']) / whole:.1f} %; "
        f"it wrote {'something' if second.written.changed else 'nothing'}, skipped "
        f"{second.skipped} documents and embedded {again} texts.",
    ]
    table.print(server)


def _cpu(took: list[Took]) -> float:
    """Return the CPU seconds of both processes."""
    return sum(t.own + (t.server or 0.0) for t in took)
