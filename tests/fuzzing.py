"""Readers of what others write, tried on texts that nearly fit.

A target reads bytes; its seeds are texts that it takes, which are edited at random.
What a reader raises beside our own errors is a find.
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis.strategies as st

from knowtrail.graph.errors import KnowtrailError, QueryTimeoutError
from knowtrail.graph.rdf.expressions import stopped_after

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

SECONDS = 10.0
"""Longer than this nothing may take."""
_WORDS = """{ } [ ] [[ ]] {{ }} {| |} |- | || ! ( ) < > </ /> <!-- --> & &#0; &#xd800;
&lt; " ' ` ``` # @ $ , : ; . - -- --- -> = == * ** ? ^ ~ _:b ^^ @en \\ \\u0000 \\ud800
0 -1 1e999 NaN Infinity null true [] {} "" 9999999999999999999999999 *a &a <<: %YAML
<nowiki> <ref> </ref> <math> <table> <![CDATA[ <!DOCTYPE $ref !!python/object
SELECT FILTER OPTIONAL UNION regex( VALUES BIND a/b*"""
_DEEP = ("[", "{", '{"a":', "(", "<b>", "- ", "{{a|", "not ")
TOKENS = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (
        *(
            "",
            " ",
            "\n",
            "\r\n",
            "\t",
            "\0",
            "\ufeff",
            "\u2028",
            "\ud800",
            "\U0001f30a",
        ),
        *_WORDS.split(),
        *(opening * 300 for opening in _DEEP),
    )
)


class Target(NamedTuple):
    """A reader, and texts that it reads."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterable[str | bytes]]


def text_of(data: bytes) -> str:
    """Return bytes as a text, which may have what no UTF-8 has."""
    return data.decode("utf-8", "surrogateescape" if data[:1] == b"#" else "replace")


@cache
def _folder() -> Path:
    shared = Path("/dev/shm")  # noqa: S108 - a private folder is made there
    place = shared if shared.is_dir() else None
    held = tempfile.TemporaryDirectory(prefix="knowtrail-fuzzing-", dir=place)
    _HELD.append(held)
    return Path(held.name)


_HELD: list[Any] = []


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _dump(name: str, data: bytes) -> None:
    from knowtrail.ingest.sources.dump import DumpSource

    source = DumpSource([_file(name, data)], max_page_chars=10_000)
    _drain(source.items())
    for part in source.parts(200):
        _drain(source.part_items(part))


def _drain(items: Iterable[Any]) -> None:
    for _ in items:
        pass


def _wikitext(data: bytes) -> None:
    from knowtrail.ingest.wikitext import (
        is_disambiguation,
        parse_wikitext,
        redirect_target,
    )

    text = text_of(data)
    is_disambiguation(text)
    redirect_target(text)
    parsed = parse_wikitext(text)
    assert all(0 <= one.start <= one.end <= len(parsed.text) for one in parsed.links)


def _skn(data: bytes) -> None:
    from knowtrail.ingest.extraction.skn import parse, parse_forgiving, write

    text = text_of(data)
    with suppress(KnowtrailError):
        block = parse(text)
        assert parse(write(block)) == block
    parse_forgiving(text)


def _reply(data: bytes) -> None:
    """Read a model's answer in every way in which one is read."""
    from knowtrail.eval.models import checked_reply
    from knowtrail.ingest.extraction import VARIANTS
    from knowtrail.ingest.extraction.json_answers import read_json
    from knowtrail.retrieval.algorithms.llm_guided_traversal import verdict
    from knowtrail.retrieval.research import prompts as prompts

    text = text_of(data)
    schema = {"type": "object", "properties": {"choice": {"type": "integer"}}}
    for read in (
        lambda: read_json(text, VARIANTS["json_conf"]),
        lambda: checked_reply(text, schema),
    ):
        with suppress(KnowtrailError):
            read()
    verdict(text, 3)
    prompts.parse_notes(text, 3)
    prompts.parse_texts(text, "questions")
    prompts.parse_verdict(text)


def _jsonl(data: bytes) -> None:
    from knowtrail.ingest.sources.jsonl import JsonlSource

    source = JsonlSource([_file("records.jsonl", data)], max_line=100_000)
    for part in source.parts(200):
        _drain(source.part_items(part))
    _drain(source.items())


def _document(name: str, data: bytes) -> None:
    from knowtrail.ingest.sources.files import FilesSource

    _drain(FilesSource(_file(name, data), max_file=1_000_000).items())


def _table(data: bytes) -> None:
    from knowtrail.ingest.sources.table import TableFile

    _drain(TableFile(_file("rows.csv", data)).rows())


def _templates(data: bytes) -> None:
    from knowtrail.retrieval.specificity import load_templates

    load_templates(_file("templates.yaml", data))


def _linkml(data: bytes) -> None:
    from knowtrail.retrieval.specificity import load_lookup

    folder = _folder() / "modules" / "classes"
    folder.mkdir(parents=True, exist_ok=True)
    _file("modules/classes/museum.yaml", data)
    load_lookup(_folder())


@cache
def _triples() -> Any:
    from rdflib import Graph

    from knowtrail.graph.rdf.evaluation import register
    from knowtrail.graph.rdf.store import _CopyStore

    register()
    graph = Graph(_CopyStore(), bind_namespaces="none")
    return graph.parse(data=TURTLE, format="turtle")


def _sparql(data: bytes) -> None:
    with stopped_after(SECONDS / 2), suppress(QueryTimeoutError):
        _drain(_triples().query(text_of(data)))


def _filter(data: bytes) -> None:
    from knowtrail.retrieval.filters import parse_filter
    from tests.memory_reader import matches

    with suppress(ValueError, RecursionError):
        found = parse_filter(json.loads(data))
        if found is not None:
            found.cypher("c")
            found.start()
            matches(found, {"text": "a", "n": 1}, {"title": "b", "themes": ["c"]})


def _rdf(form: str, data: bytes) -> None:
    from knowtrail.graph.rdf import Vocabulary
    from knowtrail.graph.rdf.staging import Staging, parse

    (_folder() / "triples.sqlite").unlink(missing_ok=True)
    base = "https://example.org/"
    with closing(Staging(_folder(), Vocabulary(base))) as staging:
        parse(_file("triples", data), staging, form=form, base=base)


@cache
def _snapshot_files() -> dict[str, bytes]:
    from knowtrail.retrieval.snapshot.folder import current_generation, snapshot_folder
    from tests.conformance import random_graph
    from tests.snapshots import opened

    opened(_folder(), random_graph(3))
    generation = current_generation(snapshot_folder(_folder(), "small"))
    assert generation is not None
    return {path.name: path.read_bytes() for path in generation.iterdir()}


def _snapshot(data: bytes) -> None:
    """Read a snapshot of which one file is another one: its name, a line, its bytes."""
    from knowtrail.retrieval.readers.snapshot import SnapshotReader
    from knowtrail.retrieval.snapshot.files import Snapshot

    files = _snapshot_files()
    name, _, changed = data.partition(b"\n")
    folder = _folder() / "generation"
    folder.mkdir(exist_ok=True)
    for known, content in files.items():
        if known.encode() == name:
            # A file of another size is seen at once; so the size is kept.
            size = len(content) if known != "snapshot.json" else len(changed)
            content = (changed + content[len(changed) :])[:size]
        (folder / known).write_bytes(content)
    try:
        snapshot = Snapshot(folder)
    except FileNotFoundError:  # it names others, or none of its files
        return
    SnapshotReader(snapshot)
    with snapshot.reading():
        for _, row in snapshot.marks():
            snapshot.document(row)


def _schema(data: bytes) -> None:
    from knowtrail.eval.fields import evaluate
    from knowtrail.eval.fields.records import (
        RecordFile,
        check_gold,
        eval_schema,
        infer_eval_schema,
        read_schema,
    )

    written, _, records = data.partition(b"\n---\n")
    path = _file("schema.json", written)
    with suppress(KnowtrailError):
        schema = eval_schema(path, read_schema(path))
        gold = [{"name": "Ulm", "n": 3, "list": [{"a": 1}, {"a": "x"}]}]
        evaluate(gold, [{"name": "ulm ", "n": "3", "list": [{"a": 2}]}], schema)
    gold_file = RecordFile.checked(_file("gold.jsonl", records))
    schema = infer_eval_schema(gold_file)
    check_gold(gold_file, schema)
    rows = list(gold_file.records())
    evaluate(rows, rows[::-1], schema)


def _judges(data: bytes) -> None:
    from knowtrail.eval.zelo.judges import read_judge_file

    read_judge_file(_file("judges.toml", data))


def _dataset(data: bytes) -> None:
    from knowtrail.eval.datasets import read_specification

    asked, _, passages = data.partition(b"\n---\n")
    one, two = _file("asked.jsonl", asked), _file("passages.jsonl", passages)
    for kind in ("jsonl", "hotpotqa", "musique"):
        with suppress(KnowtrailError):
            read_specification(f"{kind}:{one},{two}")


def _request(data: bytes) -> None:
    from knowtrail.retrieval.procedures.registry import PROCEDURES, keywords
    from knowtrail.retrieval.serve.request_values import (
        read_body,
        read_query,
        read_values,
    )

    query, _, body = data.partition(b"\n")
    values = read_values(read_query(query), read_body(body))
    names = {field.name for field in PROCEDURES["traverse"].arguments}
    arguments = {name: values.pop(name) for name in names & values.keys()}
    keywords("traverse", arguments, values, settings=None)


TURTLE = """@prefix a: <https://example.org/> .
a:lamp a a:Thing ; a:name "Lamp"@en , "lamp" ; a:height 3.5 , 4 ; a:near a:bell .
a:bell a:near a:tide ; a:made "1999-02-03"^^<http://www.w3.org/2001/XMLSchema#date> .
"""
_RDF_XML = """<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="urn:a:">
  <a:Thing rdf:about="urn:a:lamp" a:height="4"><a:name xml:lang="en">Lamp</a:name>
    <a:near rdf:resource="urn:a:bell"/><a:of rdf:parseType="Collection"><a:T/></a:of>
    <a:made rdf:datatype="http://www.w3.org/2001/XMLSchema#date">1999-02-03</a:made>
  </a:Thing>
</rdf:RDF>
"""
_PAGE = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11"
 xml:lang="en"><siteinfo><dbname>enwiki</dbname><base>https://a.org/wiki/B</base>
<namespaces><namespace key="0" /><namespace key="1">Talk</namespace></namespaces>
</siteinfo><page><title>Lamp</title><ns>0</ns><id>7</id><revision><id>9</id>
<text xml:space="preserve" bytes="9">A '''lamp''' &amp; a [[bell]].</text></revision>
</page><page><title>Bell</title><ns>0</ns><id>8</id><redirect title="Lamp" />
<revision><id>10</id><text>#REDIRECT [[Lamp]]</text></revision></page></mediawiki>
"""
_WIKITEXT = """{{Infobox a | b = {{c|d}} | e=f}}
'''Lamp''' is a [[light|lights]]<ref name="a">b</ref> of {{convert|3|km}} in [[Ulm]].
== Head ==
* one [[File:a.png|thumb|A [[b]] c]]
{| class="wikitable"
! a !! b
|-
| c || <math>x^2</math> <nowiki>[[d]]</nowiki>
|}
<!-- gone -->
[[Category:Lamps|*]] {{DEFAULTSORT:a}} #REDIRECT [[b]]
"""
_SKN = """[SKN]
@src harbours | fresh:low | reliability:0.9
@facts
  ! "Lamps burn" [0.95]
  ~ "Bells \\"ring\\"" [0.5]
@causal
  oil -> light [0.9]
@gaps
  - the height
@risk misdirection:low | missing_context:low
[/SKN]
"""
_ANSWERS = (
    '{"entities": [{"name": "a", "type": "b"}], "relationships": [{"source": "a", '
    '"relation": "c", "target": "d"}], "claims": [{"statement": "e", "confidence": 1'
    "}]}",
    '```json\n{"choice": 2, "reasoning": "near"}\n```',
    '{"notes": [{"text": "a", "numbers": [1, 2]}], "missing": ["b"], "questions": ["c"'
    '], "verdict": "supported"}',
)
_RECORD = """{"id": "a", "title": "Lamp", "text": "It burns. It is old.", "url": "b",
"links": [{"start": 0, "end": 2, "target": "Bell"}], "categories": ["c"], "revision": 3,
"sections": [{"title": "d", "start": 0, "level": 2}], "metadata": {"e": [1, null]}}
""".replace("\n", "")
_QUERIES = (
    "PREFIX a: <https://example.org/> SELECT ?x (count(*) AS ?n) WHERE { ?x a:near+ ?y "
    'OPTIONAL { ?y a:name ?z FILTER(regex(?z, "^l.*", "i")) } } GROUP BY ?x LIMIT 5',
    "ASK { { ?a ?b 4 } UNION { ?a ?b ?c MINUS { ?a a ?c } } VALUES ?a { UNDEF } }",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o BIND(strlen(str(?o)) AS ?n) } ORDER BY ?n",
    "SELECT * { { SELECT ?s { ?s ?p ?o } } FILTER EXISTS { ?s ?q 'x'@en } }",
)
_FILTERS = (
    '{"$and": [{"title": {"$in": ["a", "b"]}}, {"$not": {"n": {"$gte": 1.5}}}]}',
    '{"$or": [{"themes": "c"}, {"metadata.x": {"$exists": true}}, {"n": 1}]}',
)
_SCHEMA = """{"type": "object", "properties": {"name": {"type": "string",
"x-eval-compare": "exact", "x-eval-transform": ["strip", "lowercase"]}, "n": {"type":
["integer", "null"]}, "list": {"type": "array", "items": {"$ref": "#/$defs/a"},
"x-eval-align": {"match_by": "hungarian"}}},
"$defs": {"a": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"},
{"type": "number", "x-eval-compare": {"numeric": {"tolerance": {"rel": 0.1}}}}]}}}}}
---
{"name": "Ulm", "n": 3, "list": [{"a": 1}, {"a": "x"}]}
{"name": "Ness", "n": null, "list": []}
"""
_MARKDOWN = """---
title: Lamp
tags: [a, b]
---
# Lamp [b](c.md) ![d](e)

> *quoted* [[Bell|bells]] <b>bold</b>

| a | b |
|---|---|
| 1 | `2` |

```python
code
```
1. one
   - two[^1]

[^1]: note
"""
_HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Lamp</title>
<base href="/a/"></head><body><h1>Lamp</h1><p>A <a href="b.html#c">bell</a>&nbsp;&copy;
<table><tr><td>1<td>2</table><script>x</script><pre>y</pre><ul><li>z</ul></body></html>"""
_RST = """Lamp
====

.. note:: A *bell* `b <c.html>`_ and |d|.

.. |d| replace:: e
.. include:: /etc/passwd

=====  =====
a      b
=====  =====
1      2
=====  =====

Part
----
:field: value [1]_

.. [1] note
"""
_LINKML = """id: https://example.org/museum
name: museum
prefixes:
  linkml: https://w3id.org/linkml/
imports:
  - linkml:types
classes:
  Museum:
    description: A museum.
    mixins: [Place]
    annotations:
      specificity_score: 0.5
      template_specificity:
        value:
          museum_search: 0.1
    attributes:
      name: {range: string}
  Place:
    annotations:
      specificity_score: 0.2
"""
_TEMPLATES = """templates:
  - id: none
    description: No other.
    slots: []
    examples: {en: [Why?], nl: [Waarom?]}
  - id: list_institutions
    intent: list
    description: List the institutions of one type.
    slots:
      - {name: institution_type, type: institution_type, required: true}
      - {name: order, type: choice, values: [asc, desc], default: asc}
    one_of: [institution_type]
    each: [institution_type]
    examples:
      en:
        - "{institution_type}"
      nl:
        - Welke {institution_type} zijn er?
    sparql:
      - when: [institution_type]
        query: SELECT ?x WHERE { ?x a ?institution_type . ?x ?p ?order }
      - when: []
        query: |
          SELECT ?x WHERE { ?x a hc:Custodian ; ?p ?institution_type }
"""
_DATASET = """{"id": "q", "question": "Who?", "answer": "a", "gold_documents": ["Lamp"],
"gold_sentences": [{"document": "Lamp", "sentence": 0}]}
---
{"id": "Lamp", "title": "Lamp", "text": "It burns. It is old."}
""".replace(',\n"', ', "')


def _packed(kind: str) -> Iterable[bytes]:
    import bz2
    import gzip

    pack = {"bz2": bz2.compress, "gz": partial(gzip.compress, mtime=0)}[kind]
    yield pack(_PAGE.encode())


def _snapshot_seeds() -> Iterable[bytes]:
    for name, content in _snapshot_files().items():
        yield name.encode() + b"\n" + content


def _bundled_judges() -> Iterable[str]:
    from knowtrail.eval.zelo.judges import bundled_text

    yield bundled_text()


def _pdf() -> Iterable[bytes]:
    import io

    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(100, 100)
    stream = DecodedStreamObject()
    stream.set_data(b"BT /F1 9 Tf 9 9 Td (A lamp burns.) Tj ET")
    page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata({"/Title": "Lamp"})
    file = io.BytesIO()
    writer.write(file)
    yield file.getvalue()


TARGETS = {
    "dump": Target(partial(_dump, "a.xml"), lambda: [_PAGE]),
    "dump-bz2": Target(partial(_dump, "a.xml.bz2"), partial(_packed, "bz2")),
    "dump-gz": Target(partial(_dump, "a.xml.gz"), partial(_packed, "gz")),
    "wikitext": Target(_wikitext, lambda: [_WIKITEXT]),
    "skn": Target(_skn, lambda: [_SKN]),
    "reply": Target(_reply, lambda: _ANSWERS),
    "jsonl": Target(_jsonl, lambda: [f"{_RECORD}\n" * 2]),
    "markdown": Target(partial(_document, "a.md"), lambda: [_MARKDOWN]),
    "html": Target(partial(_document, "a.html"), lambda: [_HTML]),
    "rst": Target(partial(_document, "a.rst"), lambda: [_RST]),
    "pdf": Target(partial(_document, "a.pdf"), _pdf),
    "csv": Target(_table, lambda: ['a,b\r\n"c ""d""",e\r\nf,"g\nh"\r\n']),
    "templates": Target(_templates, lambda: [_TEMPLATES]),
    "linkml": Target(_linkml, lambda: [_LINKML]),
    "sparql": Target(_sparql, lambda: _QUERIES),
    "filter": Target(_filter, lambda: _FILTERS),
    "turtle": Target(partial(_rdf, "turtle"), lambda: [TURTLE]),
    "rdf-xml": Target(partial(_rdf, "xml"), lambda: [_RDF_XML]),
    "json-ld": Target(
        partial(_rdf, "json-ld"), lambda: [_triples().serialize(format="json-ld")]
    ),
    "snapshot": Target(_snapshot, _snapshot_seeds),
    "schema": Target(_schema, lambda: [_SCHEMA]),
    "judges": Target(_judges, _bundled_judges),
    "dataset": Target(_dataset, lambda: [_DATASET]),
    "request": Target(
        _request,
        lambda: ['question=a&maxHops=3&filter={"n":1}\n{"algorithm": "hybrid"}'],
    ),
}


def seeds(name: str) -> list[bytes]:
    """Return texts that a target reads."""
    given = TARGETS[name].seeds()
    return [one if isinstance(one, bytes) else one.encode() for one in given]


def attempt(name: str, data: bytes) -> None:
    """Let a target read; whatever it raises beside our own errors is a find."""
    begin = time.process_time()
    with suppress(KnowtrailError), stopped_after(SECONDS):
        try:
            TARGETS[name].read(data)
        except QueryTimeoutError as error:
            if time.process_time() - begin < SECONDS / 2:
                return  # the machine had other work
            raise AssertionError(f"it takes longer than {SECONDS:g} s") from error


def edits_by(chance: random.Random) -> list[Edit]:
    """Return random edits."""
    return [
        (
            chance.random(),
            chance.choice((0, 0, 1, 2, chance.randrange(40))),
            chance.choice(TOKENS) if chance.random() < 0.8 else chance.randbytes(3),
        )
        for _ in range(chance.randint(1, 8))
    ]


Edit = tuple[float, int, bytes]


def edited(seed: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a text in which at some places so many bytes are replaced."""
    for place, length, token in edits:
        at = int(place * len(seed))
        seed = seed[:at] + token + seed[at + length :]
    return seed


def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Return texts of a target that were edited."""
    token = st.sampled_from(TOKENS) | st.binary(max_size=4)
    edit = st.tuples(st.floats(0, 1), st.integers(0, 40), token)
    return st.builds(edited, st.sampled_from(seeds(name)), st.lists(edit, max_size=8))
