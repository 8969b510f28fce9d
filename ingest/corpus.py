"""Corpora: their stored settings, and what can be done with a whole one."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.db.schema import (
    apply_schema,
    copied_properties,
    filter_properties,
    filter_property,
)
from knowtrail.graph.errors import (
    CorpusDriftError,
    InputError,
    UnknownCorpusError,
    near_name,
)
from knowtrail.graph.models.embedders import dimensions_of, embedder_name, query_prompt
from knowtrail.ingest.keys import camel_case, content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.store import removal_of
from knowtrail.ingest.terms import TERM_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection, Counters
    from knowtrail.graph.models.embedders import Embedder

OPTION_KEYS = {
    one.name: "themeSource" if one.name == "themes" else camel_case(one.name)
    for one in fields(IngestOptions)
}
"""Option -> property of the Corpus node."""

_PARTS = (
    "extractions",
    "custodians",
    "battles",
    "themes",
    "terms",
    "categories",
    "redirects",
    "research",
    "walks",
)
"""What a corpus has beside documents, in the order in which it is deleted."""

_EVALUATED = re.compile(r"eval-.+-[0-9a-f]{8}")
"""Names of the corpora that `eval retrieval` makes of data sets."""

_NEEDED = {"embedder", "dimensions", "version", "status"}
"""Properties that every corpus has from its first ingest on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCorpus:
    """A corpus as the graph has it.

    Without a language model that named its themes, files, or terms the properties for
    these are None; `files_root` is the folder that the ids of files are paths in,
    `term_rules` says where terms come from. The version counts committed changes. One
    made anew under its name has another `created`. `link_state` is
    the state of its texts that it is linked in, "" where others wrote; `methods` says
    how similar chunks and themes were searched. The status is `complete`, `unfinished`
    (an ingest was interrupted, or its source broke off), `forgetting` (some documents)
    or `deleting`.
    """

    name: str
    embedder: str
    query_prompt: str
    dimensions: int
    options: IngestOptions
    theme_model: str | None
    files_root: str | None
    term_rules: int | None
    version: int
    created: str
    link_state: str | None
    methods: dict[str, str]
    status: str

    @property
    def next_version(self) -> int:
        """Return the version that the next change makes."""
        return self.version + (self.status == "complete")


def open_corpus(
    connection: Connection,
    name: str,
    *,
    embedder: Embedder,
    options: IngestOptions | None,
    language_model: str,
    progress: Progress = silent,
) -> StoredCorpus:
    """Return a corpus that may be written to, making it if it is new.

    Without options it has those stored, or the defaults.

    Raises:
        InputError: If the name cannot be used or the corpus is being deleted.
        CorpusDriftError: If embedder, options or the language model that names its
            themes differ from those stored.
    """
    _check_name(name)
    model = embedder_name(embedder)
    _check_embedder(connection, model)
    stored = known_corpus(connection, name)
    made = stored is None
    if stored is None:
        dimensions = dimensions_of(embedder)
        apply_schema(connection, dimensions=dimensions, progress=progress)
        chosen, filters = options or IngestOptions(), copied_properties(connection)
        connection.write(
            "ingest/corpus_create",
            name=name,
            properties={
                "embedder": model,
                "queryPrompt": query_prompt(embedder),
                "dimensions": dimensions,
                "version": 1,
                "status": "unfinished",
                "termRules": TERM_RULES,
                **({"copied": filters, "filters": filters} if filters else {}),
                "themeModel": language_model if chosen.themes == "llm" else None,
                **{key: getattr(chosen, n) for n, key in OPTION_KEYS.items()},
            },
        )
        stored = known_corpus(connection, name)
    if stored is None or stored.status == "deleting":
        msg = f"Corpus {name!r} is being deleted: finish with knowtrail corpus delete."
        raise InputError(msg)
    if options is not None and options != stored.options:
        _refuse_drift(stored, options)
    _check_theme_model(stored, language_model)
    if not made:
        apply_schema(connection, dimensions=stored.dimensions, progress=progress)
    terms = (options or stored.options).terms
    settled = connection.write("ingest/corpus_terms", name=name, terms=terms)
    settled += connection.write("ingest/corpus_term_rules", name=name, rules=TERM_RULES)
    return stored_corpus(connection, name) if settled.changed else stored


def declare_filters(
    connection: Connection,
    name: str,
    filters: Sequence[str],
    *,
    progress: Progress = silent,
) -> list[str]:
    """Declare what filters name, as `apply_schema`, unless a corpus has it all.

    Returned are the properties of documents that are declared.
    """
    names = {*map(filter_property, filters)}
    (row,) = connection.read("ingest/corpus_read", name=name)
    known = {*filter_properties(connection)}
    if names - known or (
        names - {*row["properties"].get("filters", ())}
        and connection.capabilities.filtered_vector_index
    ):
        apply_schema(connection, filters=sorted(names), progress=progress)
    owners = (one.partition(".") for one in names | known)
    return [name for owner, _, name in owners if owner == "document"]


def _check_name(name: str) -> None:
    """Refuse a name that a command line cannot give, or that looks like another."""
    if name != name.strip() or not 0 < len(name) <= 200 or not name.isprintable():
        raise InputError(
            f"Corpus name {name[:40]!r}: use 1 to 200 printable characters, without "
            "blanks before or behind."
        )


def _check_theme_model(stored: StoredCorpus, language_model: str) -> None:
    """Refuse another model than the one that named the themes that are stored."""
    if stored.theme_model not in {None, language_model}:
        raise CorpusDriftError(
            f"The themes of corpus {stored.name!r} were named by {stored.theme_model}, "
            f"not by {language_model}: set KNOWTRAIL_LANGUAGE_MODEL to the former."
        )


def _check_embedder(connection: Connection, model: str) -> None:
    """Refuse another embedder than that of the corpora that are stored."""
    for row in connection.read("schema/embedders"):
        if row["embedder"] != model:
            raise CorpusDriftError(
                f"This database's vectors were made by {row['embedder']} (corpus "
                f"{row['corpus']!r}), not by {model}: use that embedder, or another "
                "database or --home."
            )


def check_dimensions(stored: StoredCorpus, found: int) -> None:
    """Raise `CorpusDriftError` for vectors of another length, which no index has."""
    if found != stored.dimensions:
        raise CorpusDriftError(
            f"The embedder's vectors have {found} dimensions, those of corpus "
            f"{stored.name!r} {stored.dimensions}: use the embedder it was made with."
        )


def _refuse_drift(stored: StoredCorpus, options: IngestOptions) -> None:
    """Say which option differs from the stored one; terms can be added."""
    for field in fields(IngestOptions):
        old, new = getattr(stored.options, field.name), getattr(options, field.name)
        if field.name == "terms" and (new or stored.term_rules is None):
            continue
        if old != new:
            option = field.name.replace("_", "-")
            raise CorpusDriftError(
                f"Corpus {stored.name!r} was made with {option} {old}, not {new}: "
                "leave the option out, or delete the corpus first."
            )


def known_corpus(connection: Connection, name: str) -> StoredCorpus | None:
    """Return a stored corpus, None if there is none of that name."""
    rows = connection.read("ingest/corpus_read", name=name)
    return _stored(rows[0]["properties"]) if rows else None


def work_key(connection: Connection, name: str, created: str) -> str:
    """Return what names a corpus' working files; copies on two servers have two."""
    return content_key(connection.place, name, created)


def _stored(properties: dict[str, Any]) -> StoredCorpus:
    """Read a Corpus node; `InputError` if it lacks what an ingest gives it."""
    name = properties["name"]
    if lacking := _NEEDED - properties.keys():
        raise InputError(
            f"Corpus {name!r} was not made by an ingest (its node has no "
            f"{', '.join(sorted(lacking))}): delete it with knowtrail corpus delete "
            f"{shlex.quote(name)}, then ingest."
        )
    return StoredCorpus(
        name=name,
        embedder=properties["embedder"],
        query_prompt=properties.get("queryPrompt", ""),
        dimensions=properties["dimensions"],
        options=IngestOptions(**{
            name: properties[key]
            for name, key in OPTION_KEYS.items()
            if key in properties
        }),
        theme_model=properties.get("themeModel"),
        files_root=properties.get("filesRoot"),
        term_rules=properties.get("termRules"),
        version=properties["version"],
        created=str(properties.get("createdAt", "")),
        link_state=properties.get("linkState"),
        methods={
            kind: properties.get(f"{kind}Method") or "exact"
            for kind in ("similar", "themeSimilar")
        },
        status=properties["status"],
    )


def stored_corpus(connection: Connection, name: str) -> StoredCorpus:
    """Return a stored corpus, or raise `UnknownCorpusError`."""
    stored = known_corpus(connection, name)
    if stored is None:
        if connection.read("corpus/has_custodians", name=name)[0]["found"]:
            raise UnknownCorpusError(textless(name))
        raise _unknown(name, connection.read("corpus/list"))
    return stored


def textless(name: str) -> str:
    """Return that a corpus has institutions and no texts, and what to do."""
    return (
        f"Corpus {name!r} has institutions but no texts: make texts of them with "
        f"knowtrail ingest custodians FILE --corpus {shlex.quote(name)} (without "
        "--no-documents), or ask for the institutions with knowtrail ask --route "
        "templates."
    )


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(repr, names[:most]))}{more}" or "none yet"


def _unknown(name: str, stored: Iterable[dict[str, Any]]) -> UnknownCorpusError:
    names = [row["name"] for row in stored]
    hint = near_name(name, names, none=f"there is {some_of(names)}.")
    return UnknownCorpusError(f"No corpus {name!r}: {hint}")


def asked_corpora(names: Iterable[str]) -> list[str]:
    """Return the names of corpora without those that `eval retrieval` has made.

    Those are asked where they are named; saved queries (`inspect/`) hold to it too.
    """
    return [name for name in names if not _EVALUATED.fullmatch(name)]


def only_corpus(connection: Connection, name: str | None) -> str:
    """Return the name of a stored corpus: the one that is named, or the only one.

    Those that an evaluation made are meant only where they are named.

    Raises:
        UnknownCorpusError: If there is none of that name.
        InputError: If none is named and there is not exactly one.
    """
    if name is not None:
        return stored_corpus(connection, name).name
    names = [row["name"] for row in connection.read("corpus/list")]
    if len(asked := asked_corpora(names)) == 1:
        return asked[0]
    raise InputError(f"Name the corpus with --corpus: there is {some_of(names)}.")


def list_corpora(connection: Connection) -> list[dict[str, Any]]:
    """Return name, state and counts of every corpus, sorted by name.

    Institutions stored without documents have no Corpus node: version, status and
    embedder of such a corpus are None.
    """
    found = {row["name"]: row for row in connection.read("corpus/list")}
    counts = {
        row["name"]: row["custodians"]
        for row in connection.read("corpus/list_custodians")
        if row["name"] is not None
    }
    for name in counts.keys() - found.keys():
        found[name] = {
            "name": name,
            "documents": 0,
            "embedder": None,
            "version": None,
            "status": None,
        }
    return [found[name] | {"custodians": counts.get(name, 0)} for name in sorted(found)]


def check_corpus(connection: Connection, name: str) -> None:
    """Raise `UnknownCorpusError` for what is neither a corpus nor has institutions."""
    known = connection.read("corpus/has_custodians", name=name)[0]["found"]
    if not known and not connection.read("ingest/corpus_read", name=name):
        raise _unknown(name, list_corpora(connection))


def delete_corpus(
    connection: Connection, name: str, *, work: Path | None = None
) -> Counters:
    """Delete a corpus with everything in it; can be interrupted and repeated.

    The walks that were recorded over it go too, and its working files. Institutions
    stored without documents have no Corpus node: they go by the corpus that they name.

    Raises:
        UnknownCorpusError: If there is none of that name.
    """
    check_corpus(connection, name)
    if work:
        for row in connection.read("ingest/corpus_read", name=name):
            created = str(row["properties"].get("createdAt", ""))
            keys = (work_key(connection, name, created), content_key(name, created))
            for path in (path for key in keys for path in work.glob(f"{key}*")):
                path.unlink(missing_ok=True)
        for kind in ("bulk", "ray"):
            shutil.rmtree(work / f"{kind}-{content_key(name)}", ignore_errors=True)
    total = connection.write("corpus/deleting", name=name)
    while ids := connection.read("corpus/some_documents", name=name, limit=10):
        total += connection.write_all(removal_of(connection, [r["id"] for r in ids]))
    for what in _PARTS:
        name_of = f"corpus/delete_{what}"
        while (gone := connection.write(name_of, name=name, limit=5000)).changed:
            total += gone
    return total + connection.write("corpus/delete", name=name)
