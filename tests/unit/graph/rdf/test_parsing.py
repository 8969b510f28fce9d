"""RDF files that are odd, broken or made to do harm, without any database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import RdfError
from knowtrail.graph.rdf.staging import parse
from knowtrail.graph.rdf.vocabulary import RDF, XSD, Value

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '{"@context": {}, "@graph": ['
XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:u="urn:"><rdf:Description rdf:about="urn:a"><u:b>&c;</u:b>'
    "</rdf:Description></rdf:RDF>"
)
TRIPLE = ("urn:a", "urn:b", Value("x"))


class Kept:
    """Keeps triples in a list."""

    def __init__(self) -> None:
        self.triples: list[tuple[str, str, str | Value]] = []

    def add(self, subject: str, predicate: str, found: str | Value) -> None:
        """Take a triple."""
        self.triples.append((subject, predicate, found))

    def bind(self, prefix: str, namespace: str) -> None:
        """Take a prefix, and forget it."""

    def clear(self) -> None:
        """Forget the triples."""
        self.triples.clear()


def read(folder: Path, form: str, text: str) -> list[tuple[str, str, str | Value]]:
    """Return the triples of a file with some text."""
    file = folder / "file"
    file.write_bytes(text.encode())
    kept: Any = Kept()
    parse(file, kept, form=form, base="urn:base/")
    triples: list[tuple[str, str, str | Value]] = kept.triples
    return triples


def test_json_ld_that_ends_after_its_first_line_is_told(tmp_path: Path) -> None:
    """An export that was cut off there is not well-formed."""
    with pytest.raises(RdfError, match="line 2: Unexpected end of file"):
        read(tmp_path, "json-ld", f"{HEAD}\n")


def test_json_ld_with_nodes_over_lines_is_read_whole(tmp_path: Path) -> None:
    """A first line as those of exports does not mean that nodes have a line each."""
    text = f'{HEAD}\n{{\n"@id": "urn:a",\n"urn:b": "x"\n}}\n]}}'

    assert read(tmp_path, "json-ld", text) == [TRIPLE]


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY c SYSTEM "file:///etc/hostname">',
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&#38;a;&#38;a;">',
    ],
)
def test_entities_that_grow_or_are_elsewhere_are_refused(
    tmp_path: Path, declared: str
) -> None:
    """Neither is read for ever, nor as if it were empty."""
    with pytest.raises(RdfError, match="line 1: entity 'c'"):
        read(tmp_path, "xml", f"<!DOCTYPE r [{declared}]>{XML}")


def test_plain_entities_are_read(tmp_path: Path) -> None:
    """Files of others shorten namespaces by them."""
    assert read(tmp_path, "xml", f'<!DOCTYPE r [<!ENTITY c "x">]>{XML}') == [TRIPLE]


LITERALS = {
    '"01"^^<http://www.w3.org/2001/XMLSchema#integer>': Value("01", f"{XSD}integer"),
    '"1.50"^^<http://www.w3.org/2001/XMLSchema#double>': Value("1.50", f"{XSD}double"),
    '"x"^^<http://www.w3.org/2001/XMLSchema#string>': Value("x"),
    '"x"@EN-latn-us': Value("x", "", "en-Latn-US"),
}


@pytest.mark.parametrize("form", ["nt", "turtle"])
def test_literals_are_as_they_stand(tmp_path: Path, form: str) -> None:
    """Only tags get their usual case, and texts lose a datatype that all have."""
    text = "".join(f"<urn:a> <urn:b> {literal} .\n" for literal in LITERALS)

    found = [value for _, _, value in read(tmp_path, form, text)]

    assert found == list(LITERALS.values())


@pytest.mark.parametrize("types_first", [True, False])
def test_json_ld_of_a_line_a_node_is_read(tmp_path: Path, types_first: bool) -> None:
    """Exports have types first; those of earlier versions had not."""
    node = {"@id": "urn:a", "@type": ["urn:t"]}
    if types_first:
        node = dict(reversed(node.items()))

    found = read(tmp_path, "json-ld", f"{HEAD}\n{json.dumps(node)}\n]}}\n")

    assert found == [("urn:a", f"{RDF}type", "urn:t")]


def test_json_ld_with_types_behind_in_a_later_line_is_read(tmp_path: Path) -> None:
    """A file that begins as an export does may go on in another way."""
    lines = [
        '{"@type": ["urn:t"], "@id": "urn:x", "urn:b": {"urn:c": "y"}}',
        '{"@id": "urn:a", "urn:b": [{"@value": "x"}]}',
        '{"@id": "urn:a", "@type": ["urn:t"], "urn:d": "z"}',
    ]

    found = read(tmp_path, "json-ld", "\n".join([HEAD, ",\n".join(lines), "]}", ""]))

    known = [(s, p, o) for s, p, o in found if s == "urn:a"]
    assert known == [
        TRIPLE,
        ("urn:a", f"{RDF}type", "urn:t"),
        ("urn:a", "urn:d", Value("z")),
    ]
    assert len(found) == 6


@pytest.mark.parametrize(
    "broken",
    [
        "</rdf:RDF>",
        "</rdf:Description>",
        "</u:b></rdf:Description></rdf:RDF><more/>",
        "\x01</u:b></rdf:Description></rdf:RDF>",
    ],
)
def test_xml_that_is_not_well_formed_is_told_with_its_line(
    tmp_path: Path, broken: str
) -> None:
    """Whatever is missing, too much or no character of XML."""
    with pytest.raises(RdfError, match="line 1: "):
        read(tmp_path, "xml", XML.partition("</u:b>")[0].replace("&c;", "x") + broken)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("nt", '<urn:a> <urn:b> "x" .\n'),
        ("turtle", '<urn:a> <urn:b> "x" .'),
        ("json-ld", '{"@id": "urn:a", "urn:b": "x"}'),
        ("json-ld", f'{HEAD}\n{{"@id": "urn:a", "urn:b": "x"}}\n]}}'),
        ("xml", XML.replace("&c;", "x")),
    ],
)
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, form: str, text: str) -> None:
    """Some programs begin every text with one."""
    assert read(tmp_path, form, f"\ufeff{text}") == [TRIPLE]
