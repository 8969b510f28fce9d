"""Edges that come from texts: aliases, links, mentions, and terms with their names.

What results depends on the documents and redirects alone, not on how they came in: a
phrase that a new document makes a term is linked in the old ones, and one that loses
its second place is no term any more. Texts are read where they changed, and where a
title or term that is new or gone may stand; titles and terms are held in memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from knowtrail.graph.batches import batched
from knowtrail.graph.db.connection import Counters
from knowtrail.graph.errors import IngestError
from knowtrail.ingest.background import in_turn
from knowtrail.ingest.corpus import stored_corpus, work_key
from knowtrail.ingest.keys import content_key, normalise_title
from knowtrail.ingest.mentions import Mention, TitleFinder, TitleIndex, chunk_mentions
from knowtrail.ingest.terms import (
    TERM_RULES,
    TermFinder,
    counted_names,
    names_of_chunks,
    segments,
    title_names,
)
from knowtrail.ingest.text_index import SECONDS, open_text_index, words_in

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.ingest.background import Mapped
    from knowtrail.ingest.terms import Names
    from knowtrail.ingest.text_index import Edges, Found, TextIndex

_DOCUMENTS = 50
"""Documents whose texts and links are read at a time."""
_CHARACTERS = 2_000_000
"""Of these texts, about, that are held at a time."""
_TURNED = 500
"""Documents in which only names that are linked now, or no longer, are written."""
_MODULUS = 1 << 128


def term_id(corpus: str, name: str) -> str:
    """Return the key of a term of this name."""
    return content_key(corpus, "term", name)


def link_texts(
    connection: Connection,
    *,
    corpus: str,
    version: int,
    terms: bool,
    work: Path,
    progress: Progress,
    unclear: Callable[[str], None] = lambda _told: None,
    mapped: Mapped = in_turn,
) -> Counters:
    """Make aliases, LINKS_TO, MENTIONS, terms and NAMES what they must be.

    See `link_corpus`. Progress has the stages `words`, `links` and `terms`; without
    what an earlier linking left in `work`, all texts are read.
    """
    titles = _Titles.read(connection, corpus)
    stored = stored_corpus(connection, corpus)
    new_state = content_key(version, titles.content)
    with open_text_index(
        work,
        work_key(connection, corpus, stored.created),
        about=f"{TERM_RULES} {terms}",
        state=stored.link_state,
        new_state=new_state,
    ) as index:
        connection.write("ingest/corpus_link_state", name=corpus, state=new_state)
        linker = _TextLinker(
            connection, corpus, version, index, titles, progress, mapped
        )
        total = linker.link(terms, unclear)
        return total + linker.write_terms() if terms else total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Titles:
    """The documents of a corpus by their titles."""

    # Each has its content hash, which `content` stands for together, its (title, title
    # key, aliases as stored), and what its aliases must be. Titles and redirects have
    # their names as they are written, by key; the index says what these stand for.

    hashes: dict[str, str]
    content: int
    titles: dict[str, tuple[str, str, list[str]]]
    aliases: dict[str, list[str]]
    names: dict[str, str]
    index: TitleIndex

    @classmethod
    def read(cls, connection: Connection, corpus: str) -> _Titles:
        """Read titles and redirects."""
        redirects, names, content = {}, {}, 0
        for r in connection.stream("ingest/redirects_all", corpus=corpus):
            key = normalise_title(r["title"])
            redirects[key], names[key] = r["targetKey"], r["title"]
            content += int(content_key(r["title"], r["targetKey"]), 16)
        titles, hashes = {}, {}
        for r in sorted(
            connection.stream("ingest/titles", corpus=corpus), key=lambda r: r["id"]
        ):
            titles[r["id"]] = r["title"], r["titleKey"], r["aliases"] or []
            hashes[r["id"]] = r["hash"] or ""
            content += int(content_key(r["id"], r["hash"]), 16)
        index = TitleIndex(((d, key) for d, (_, key, _) in titles.items()), redirects)
        taken = {key for _, key, _ in titles.values()}
        aliases = defaultdict(list)
        for key, title in names.items():
            if key not in taken and (target := index.resolve(key)):
                aliases[target].append(title)
        names |= {key: title for title, key, _ in titles.values()}
        return cls(
            hashes=hashes,
            content=content % _MODULUS,
            titles=titles,
            aliases={
                identity: sorted(aliases.get(identity, ())) for identity in titles
            },
            names=names,
            index=index,
        )

    def targets(self) -> dict[str, tuple[str, str]]:
        """Return what each key is written like, and what it stands for."""
        return {
            key: (name, self.index.resolve(key) or "")
            for key, name in self.names.items()
        }


class _Finders(NamedTuple):
    """What finds titles and names in texts; of the names, which appeared."""

    # Documents whose names are known have others only where one stands that appeared.

    titles: TitleIndex
    in_texts: TitleFinder
    appeared: TermFinder
    names: TermFinder


@dataclass(slots=True)
class _Asked:
    """What a document's text asks for; None is what stays as it is stored."""

    id: str
    kinds: set[Edges]
    named: Found | None = None
    links: list[list[str]] | None = None
    mentions: list[tuple[str, str, str]] | None = None
    unclear: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _TextLinker:
    connection: Connection
    corpus: str
    version: int
    index: TextIndex
    titles: _Titles
    progress: Progress
    mapped: Mapped

    def link(self, terms: bool, unclear: Callable[[str], None]) -> Counters:
        """Write aliases, links and mentions, and find the names in texts."""
        titles, index = self.titles, self.index
        changed = [
            {"id": identity, "aliases": titles.aliases[identity]}
            for identity, (_, _, stored) in titles.titles.items()
            if titles.aliases[identity] != stored
        ]
        total = write_rows(self.connection, "ingest/aliases", changed, self.version)
        known = index.documents()
        index.remove([i for i in known if known[i] != titles.hashes.get(i)])
        new = [i for i, content in titles.hashes.items() if content != known.get(i)]
        self._read(new, known.keys(), terms)
        index.retitle(titles.targets(), self._containing)
        unnamed, appeared = set[str](), set[str]()
        if terms:
            named = [title for title, _, _ in titles.titles.values()]
            named_by = title_names(chain(named, *titles.aliases.values()))
            unnamed, appeared = index.choose(named_by)
        undone = index.undone("linked", "named")
        if not undone:
            return total
        finder = TitleFinder(
            (titles.names[key], target)
            for key in sorted(titles.names)
            if (target := titles.index.resolve(key))
        )
        finders = _Finders(
            titles.index, finder, TermFinder(appeared), TermFinder(index.names())
        )
        kinds = dict(undone)
        linked = [i for i in kinds if "linked" in kinds[i]]
        others = [i for i in kinds if "linked" not in kinds[i]]
        size, before = len(kinds), len(linked)
        texts = chain(
            self._texts("ingest/link_sources", linked, "links", size),
            self._texts("ingest/term_sources", others, "links", size, before),
        )
        parts = (
            [(row, kinds[row["id"]], row["id"] in unnamed) for row in part]
            for part in texts
        )
        for some in self.mapped(_edges, parts, finders):
            total += self._write_edges(some)
            for told in chain.from_iterable(one.unclear for one in some):
                unclear(told)
        self.progress("links", size, size)
        return total

    def _texts(
        self, name: str, ids: Iterable[str], stage: str, size: int, before: int = 0
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield what is known of documents, a few at a time, with progress."""
        for done, part in enumerate(batched(ids, _DOCUMENTS)):
            self.progress(stage, before + done * _DOCUMENTS, size)
            rows: list[dict[str, Any]] = []
            for row in self.connection.stream(name, ids=part):
                rows.append(dict(row))
                if sum(len(one["text"]) for one in rows) > _CHARACTERS:
                    yield rows
                    rows = []
            if rows:
                yield rows

    def _containing(self, phrases: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield the documents whose text has one of the phrases for it."""
        rows = [{"id": key, "phrases": wanted} for key, wanted in phrases.items()]
        for part in batched(rows):
            for row in self.connection.stream("ingest/texts_containing", rows=part):
                yield row["id"]

    def _read(
        self, identities: Sequence[str], known: Collection[str], terms: bool
    ) -> None:
        size = len(identities)
        texts = self._texts("ingest/term_sources", identities, "words", size)
        for found in self.mapped(_counted, texts, terms):
            for identity, chunks, words, names in found:
                self.index.add(
                    identity,
                    content=self.titles.hashes[identity],
                    chunks=chunks,
                    words=words,
                    names=names,
                    appears=identity not in known,
                )
        self.index.commit()
        if identities:
            self.progress("words", size, size)

    def _write_edges(self, asked: Sequence[_Asked]) -> Counters:
        """Write links and mentions of some documents, and note their names."""
        index, version = self.index, self.version
        for one in asked:
            if one.named:
                index.find(one.named)
        index.done("named", [e.id for e in asked if "named" in e.kinds and not e.named])
        links = [{"id": e.id, "links": e.links} for e in asked if e.links is not None]
        mentioning = [e.id for e in asked if e.mentions is not None]
        mentions = [
            {"chunk": c, "document": d, "anchor": a}
            for one in asked
            for c, d, a in one.mentions or ()
        ]
        total = write_rows(self.connection, "ingest/links_replace", links, version)
        if mentioning:
            total += self.connection.write_all([
                ("ingest/mentions_remove", {"ids": mentioning}),
                *(("ingest/mentions", {"rows": part}) for part in batched(mentions)),
                ("ingest/touch_documents", {"ids": mentioning, "version": version}),
            ])
        index.done("linked", [one.id for one in asked if "linked" in one.kinds])
        index.commit(every=SECONDS)
        return total

    def write_terms(self) -> Counters:
        """Write the terms and NAMES that differ; terms that are gone go last."""
        index, connection = self.index, self.connection
        if not index.knows_terms:
            stored = connection.stream("ingest/terms_stored", corpus=self.corpus)
            index.store_terms({r["name"]: (r["label"], r["chunks"]) for r in stored})
            index.knows_terms = True
        before = dict.fromkeys(i for i, _ in index.undone("written"))
        changed, gone, turned, chunks = index.settle()
        total = Counters()
        for part in batched(list(changed.items())):
            rows = [
                {"id": term_id(self.corpus, name), "name": name}
                | dict(zip(("label", "chunks"), term, strict=True))
                for name, term in part
            ]
            total += connection.write("ingest/terms", corpus=self.corpus, rows=rows)
            index.store_terms(dict(part))
        others = [i for i, _ in index.undone("written") if i not in before]
        parts = chain(batched(list(before), _DOCUMENTS), batched(others, _TURNED))
        size, done = len(before) + len(others), 0
        for ids in parts:
            self.progress("terms", done, size)
            found = (
                (i, names if i in before else _only(turned, names))
                for i, names in index.found(ids)
            )
            total += self._name(list(found), before)
            index.done("written", ids)
            index.commit(every=SECONDS)
            done += len(ids)
        if size:
            self.progress("terms", size, size)
        for names in batched(gone):
            total += connection.write("ingest/terms_remove", ids=self._ids(names))
        index.drop_terms(gone)
        return total + connection.write(
            "ingest/corpus_chunks", name=self.corpus, chunks=chunks
        )

    def _name(self, documents: Sequence[Found], whole: Collection[str]) -> Counters:
        """Write the NAMES of some documents' chunks where they differ."""
        # What two processes that did not know of each other wrote twice is mended in
        # those that are read `whole`; of the others, what is given is linked now, or no
        # longer.
        chunks = [
            c for document, found in documents if document in whole for c, _ in found
        ]
        linked = self.index.linked({
            name for _, found in documents for _, names in found for name in names
        })
        rows = self.connection.read("ingest/term_names_stored", ids=chunks)
        stored = {row["id"]: Counter(row["terms"]) for row in rows}
        removed: list[dict[str, Any]] = []
        added: dict[str, list[str]] = {}
        touched = []
        for document, found in documents:
            before = len(removed), len(added)
            for chunk, names in found:
                old = stored.get(chunk, Counter())
                there = set(names)
                if document not in whole:
                    old = Counter(self._ids(there - linked))
                keys = set(self._ids(there & linked))
                once = {key for key, times in old.items() if times == 1}
                missing = keys - once
                # What is added goes first, too: a write may be repeated whose answer
                # alone was lost.
                if gone := missing | (old.keys() - (keys & once)):
                    removed.append({"id": chunk, "terms": sorted(gone)})
                if missing:
                    added[chunk] = sorted(missing)
            if (len(removed), len(added)) != before:
                touched.append(document)
        if not touched:
            return Counters()
        return self._write_names(removed, added, touched)

    def _ids(self, names: Iterable[str]) -> list[str]:
        return [term_id(self.corpus, name) for name in names]

    def _write_names(
        self,
        removed: Sequence[Mapping[str, Any]],
        added: Mapping[str, Sequence[str]],
        touched: Sequence[str],
    ) -> Counters:
        number: dict[str, int] = {}
        rows = [
            [number.setdefault(term, len(number)) for term in terms]
            for terms in added.values()
        ]
        written = self.connection.write_all([
            ("ingest/term_names_remove", {"rows": removed}),
            (
                "ingest/term_names",
                {"chunks": list(added), "terms": list(number), "rows": rows},
            ),
            ("ingest/touch_documents", {"ids": touched, "version": self.version}),
        ])
        if written.relationships_created != sum(map(len, rows)):
            raise IngestError(
                f"Chunks of corpus {self.corpus!r} changed while their terms were "
                "linked: run the ingest again, alone."
            )
        return written


def _only(
    names: Collection[str], chunks: Sequence[tuple[str, Sequence[str]]]
) -> list[tuple[str, list[str]]]:
    """Return the chunks that have some of the names, with these alone."""
    found = ((chunk, [n for n in named if n in names]) for chunk, named in chunks)
    return [(chunk, some) for chunk, some in found if some]


def write_rows(
    connection: Connection, name: str, rows: Sequence[dict[str, Any]], version: int
) -> Counters:
    """Run a statement over rows of documents, and mark these documents."""
    total = Counters()
    for part in batched(rows):
        ids = [row["id"] for row in part]
        total += connection.write_all([
            (name, {"rows": part}),
            ("ingest/touch_documents", {"ids": ids, "version": version}),
        ])
    return total


def _found(row: Any, finder: TermFinder) -> Found:
    """Return the names in a document's chunks."""
    # Its title counts as written at its beginning, in its first chunk.
    found = names_of_chunks(row["text"], [(c[1], c[2]) for c in row["chunks"]], finder)
    if found:
        found[0] |= title_names([row["title"]]).keys()
    named = zip(row["chunks"], found, strict=True)
    return row["id"], [(chunk[0], sorted(names)) for chunk, names in named]


def _counted(
    rows: Sequence[Mapping[str, Any]], terms: bool
) -> list[tuple[str, int, set[str], Names | None]]:
    """Return of each text its id, chunks, words, and the names that it counts."""
    out = []
    for row in rows:
        text, spans = row["text"], [(c[1], c[2]) for c in row["chunks"]]
        pieces = (text[start:end] for start, end in segments(spans))
        # Its first chunk is found by its title, too.
        words = words_in(f"{row['title']} {text}", row["targets"] or ())
        names = counted_names(pieces) if terms else None
        out.append((row["id"], len(spans), words, names))
    return out


def _edges(
    part: Iterable[tuple[Mapping[str, Any], set[Edges], bool]], by: _Finders
) -> list[_Asked]:
    """Return what texts ask for, given with what, and whether names are not known."""
    out = []
    for row, kinds, unnamed in part:
        asked = _Asked(row["id"], kinds)
        if "named" in kinds and (unnamed or by.appeared.find(row["text"])):
            asked.named = _found(row, by.names)
        if "linked" in kinds:
            links, mentions = _wanted(row, by.titles, by.in_texts)
            if links != [list(pair) for pair in row["links"]]:
                asked.links = links
            if mentions != sorted(tuple(m) for m in row["mentions"]):
                asked.mentions = mentions
            asked.unclear = [
                f"{row['title']}: its link to {key!r} is left out, because several "
                "documents have that title"
                for key in sorted(set(filter(by.titles.is_shared, row["targets"])))
            ]
        out.append(asked)
    return out


def _wanted(
    row: Any, index: TitleIndex, finder: TitleFinder
) -> tuple[list[list[str]], list[tuple[str, str, str]]]:
    """Return a document's LINKS_TO as [target, anchor] and MENTIONS, both sorted."""
    text, identity = row["text"], row["id"]
    linked: dict[str, str] = {}
    hyperlinks: list[Mention] = []
    for key, start, end in zip(row["targets"], row["starts"], row["ends"], strict=True):
        target = index.resolve(key)
        if target is not None and target != identity:
            linked.setdefault(target, text[start:end])
            hyperlinks.append(Mention(start, end, target))
    chunks = [(c[0], c[1], c[2]) for c in row["chunks"]]
    mentions = chunk_mentions(
        hyperlinks + finder.find(text, but=identity), chunks, text
    )
    return sorted([t, a] for t, a in linked.items()), sorted(mentions)
