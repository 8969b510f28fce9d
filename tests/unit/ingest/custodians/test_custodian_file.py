"""Rows of a file of institutions, and the institutions they make."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.ingest.custodians import (
    Custodian,
    CustodianFile,
    CustodianSource,
    class_uri,
)
from knowtrail.ingest.custodians.columns import Misplaced
from knowtrail.ingest.custodians.custodian_file import Findings, custodian_of
from knowtrail.ingest.custodians.guessing import Towns

if TYPE_CHECKING:
    from pathlib import Path


def _file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_rows_are_read_by_field(tmp_path: Path) -> None:
    """Columns are renamed, blanks left out, quoted commas kept."""
    path = _file(
        tmp_path,
        '\ufefftitle,institution_address,website\r\n"A, B","1 Road,Leeds",\r\n',
    )

    (found,) = CustodianFile(path).rows()

    assert found == ("rows.csv:2", {"name": "A, B", "address": "1 Road,Leeds"})


def test_json_lines_are_read_by_field(tmp_path: Path) -> None:
    """Numbers become text and nulls are left out."""
    record = {"name": "N", "founded": 1887, "budget": 1.5, "isil": None}
    path = _file(tmp_path, "\n" + json.dumps(record) + "\n", "rows.jsonl")

    (found,) = CustodianFile(path).rows()

    assert found == ("rows.jsonl:2", {"name": "N", "founded": "1887", "budget": "1.5"})


def test_columns_of_later_records_count(tmp_path: Path) -> None:
    """A field that only the second record has is read too."""
    path = _file(tmp_path, '{"name": "A"}\n{"name": "B", "city": "Ghent"}\n', "r.jsonl")

    rows = [row for _, row in CustodianFile(path).rows()]

    assert rows == [{"name": "A"}, {"name": "B", "city": "Ghent"}]


def test_mapping_chooses_the_column(tmp_path: Path) -> None:
    """What the caller says goes before the names."""
    path = _file(tmp_path, "name,label\nA,B\n")

    (found,) = CustodianFile(path, {"name": "label"}).rows()

    assert found[1] == {"name": "B"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "r.jsonl:2: not JSON: .*Nothing was stored"),
        ("[1]", "r.jsonl:2: not a JSON object"),
        ('{"name": ["B"]}', "r.jsonl:2: 'name' is no text or number"),
        ('{"name": true}', "r.jsonl:2: 'name' is no text or number"),
        ('{"name": "' + "x" * 1_000_000 + '"}', "r.jsonl:2: the line is longer than"),
        ("{\n[", "r.jsonl:2: not JSON: .*character 2.*; 2 rows in all cannot be read"),
    ],
)
def test_one_broken_line_refuses_the_file(
    tmp_path: Path, line: str, reason: str
) -> None:
    """What cannot be read is told by its place before anything is made of the rest."""
    path = _file(tmp_path, f'{{"name": "A"}}\n{line}\n{{"name": "C"}}\n', "r.jsonl")

    with pytest.raises(SourceError, match=reason):
        CustodianFile(path)


def test_nested_values_that_no_field_is_read_from_are_left_alone(
    tmp_path: Path,
) -> None:
    """A list in a column that means nothing here does no harm."""
    path = _file(tmp_path, '{"name": "A", "tags": ["x"], "open": true}\n', "r.jsonl")

    rows = [row for _, row in CustodianFile(path).rows()]

    assert rows == [{"name": "A"}]


def test_row_with_too_many_cells_refuses_the_file(tmp_path: Path) -> None:
    """A comma that is not quoted does not shift values into other columns."""
    path = _file(tmp_path, "name,city\nA,Leeds\nB,Leeds,extra\n")

    with pytest.raises(SourceError, match=r"rows.csv:3: 3 cells, but 2 columns: quote"):
        CustodianFile(path)


def test_a_file_that_is_broken_later_is_not_read_on(tmp_path: Path) -> None:
    """A row that was sound before and is no more ends the reading."""
    path = _file(tmp_path, '{"name": "A"}\n{"name": "B"}\n', "r.jsonl")
    file = CustodianFile(path)
    path.write_text('{"name": "A"}\n{', encoding="utf-8")

    with pytest.raises(SourceError, match="changed while it was read"):
        list(file.rows())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has no row"),
        (b"name,city\n", "has no row"),
        (b"name\nCaf\xe9\n", "not UTF-8"),
        (b'name\n"open\n', "rows.csv:2 is no CSV"),
        (b'name\nA\n"open\n', "rows.csv:3 is no CSV.*quote that is not closed"),
        (b"name,city,name\nA,B,C\n", "several columns 'name'"),
        (b"name;city\nA;B\n", "semicolons between its columns"),
        (b"{\n", "rows.csv:1: not JSON"),
    ],
)
def test_file_that_is_none_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """The message says what is wrong with the file."""
    path = tmp_path / "rows.csv"
    path.write_bytes(data)

    with pytest.raises(SourceError, match=reason):
        CustodianFile(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that is not there, and a folder, are the user's mistake."""
    with pytest.raises(SourceError, match="Cannot read"):
        CustodianFile(tmp_path / "none.csv")
    with pytest.raises(SourceError, match="Cannot read"):
        CustodianFile(tmp_path)


def test_file_without_names_is_refused(tmp_path: Path) -> None:
    """Without a column for the name the message tells how to say which."""
    path = _file(tmp_path, "label\nA\n")

    with pytest.raises(InputError, match="--map name=COLUMN"):
        CustodianFile(path)


def test_website_in_another_column_is_found(tmp_path: Path) -> None:
    """A row whose cells have moved gives its website, and says where it stood."""
    text = "title,area,website\nN,http://n.org/a,\nM,Kent,http://m.org\n"

    rows = [row for _, row in CustodianFile(_file(tmp_path, text)).rows()]

    assert rows == [
        {"name": "N", "url": "http://n.org/a", "url_column": "area"},
        {"name": "M", "url": "http://m.org"},
    ]


def _made(
    findings: Findings | None = None,
    *,
    guess: bool = True,
    default: str | None = None,
    misplaced: Misplaced | None = None,
    **row: str,
) -> Custodian:
    return custodian_of(
        row,
        place="f:1",
        source="f",
        towns=Towns(),
        country=default,
        guess=guess,
        findings=findings or Findings(),
        misplaced=misplaced,
    )


def _columns(*rows: tuple[str, str]) -> Misplaced:
    """Return what columns of these regions and bodies tell."""
    columns = Misplaced()
    for region, body in rows:
        columns.learn(region, body)
    return columns


def test_stated_values_are_certain() -> None:
    """What the row says has confidence 1 and no rule."""
    found = _made(name="N", type="Museum", city="Ghent", country="be")

    assert (found.type, found.type_confidence, found.type_rule) == ("M", 1.0, None)
    assert (found.city, found.city_confidence, found.city_rule) == ("Ghent", 1.0, None)
    assert (found.country, found.class_name) == ("BE", "Museum")


def test_ghcid_implies_type_and_codes() -> None:
    """Country, subdivision and type come from the GHCID where the row has none."""
    found = _made(name="N", ghcid="NL-NH-AMS-A-N")

    assert (found.type, found.country, found.subregion) == ("A", "NL", "NL-NH")
    assert (found.type_confidence, found.city) == (1.0, None)


def test_guesses_carry_their_rule() -> None:
    """A guessed type and city have less than full confidence and say how."""
    findings = Findings()

    found = _made(findings, name="Rye Museum", address="1 Road,Rye,Sussex,TN31 7ES")

    assert (found.type, found.type_rule) == ("M", "title-word")
    assert (found.city, found.city_rule) == ("Rye", "before-county")
    assert (found.type_confidence < 1, (found.city_confidence or 1) < 1) == (True, True)
    assert findings.guessed["type", "title-word"] == 1
    assert findings.guessed["city", "before-county"] == 1


def test_nothing_is_guessed_unless_asked() -> None:
    """Without guessing, type and city stay unknown and are counted."""
    findings = Findings()

    found = _made(findings, guess=False, name="Rye Museum", address="1 Road,Rye,Sussex")

    assert (found.type, found.type_confidence, found.city) == ("U", 0.0, None)
    assert (findings.unknown["type"], findings.unknown["city"]) == (1, 1)
    assert not findings.guessed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ghcid", "NL-NH-AMS-M"),
        ("isil", "not an isil"),
        ("founded", "long ago"),
        ("budget", "plenty"),
        ("type", "Local government"),
        ("country", "Holland"),
        ("class_name", "Bad Class>"),
    ],
)
def test_malformed_value_is_reported_and_left_out(field: str, value: str) -> None:
    """The institution is kept without it, and nothing is put in its place."""
    findings = Findings()

    found = _made(findings, guess=False, **{"name": "N", field: value})

    assert findings.malformed[field] == 1
    assert value[:20] in findings.examples[0]
    assert (found.ghcid, found.isil, found.founded, found.budget) == (None,) * 4
    assert (found.type, found.country) == ("U", None)


@pytest.mark.parametrize("row", [{"type": "M"}, {"country": "BE"}])
def test_contradiction_of_the_ghcid_is_reported(row: dict[str, str]) -> None:
    """The row's own word stands, and the contradiction is told."""
    findings = Findings()

    found = _made(findings, name="N", ghcid="NL-NH-AMS-A-N", **row)

    assert findings.malformed["ghcid"] == 1
    assert (found.type == row.get("type", "A"), found.country) == (
        True,
        row.get("country", "NL"),
    )


def test_default_country_is_the_last_resort() -> None:
    """It is used only where row, GHCID and address say nothing."""
    assert _made(default="FR", name="N").country == "FR"
    assert _made(default="FR", name="N", address="1 Road,Leeds,England").country == "GB"


@pytest.mark.parametrize("name", ["", "   ", "\x00"])
def test_row_without_a_name_is_refused(name: str) -> None:
    """An institution has a name."""
    with pytest.raises(InputError, match="no name"):
        _made(name=name)


def test_key_prefers_identifiers() -> None:
    """GHCID, ISIL, id, then name and address tell institutions apart."""
    keys = [
        _made(name="N", ghcid="NL-NH-AMS-A-N", isil="NL-x", id="7").key,
        _made(name="N", isil="NL-x", id="7").key,
        _made(name="N", id="7").key,
    ]

    assert keys == ["ghcid:NL-NH-AMS-A-N", "isil:NL-x", "id:7"]
    assert _made(name="N", address="a").key != _made(name="N", address="b").key


def test_one_name_in_two_towns_is_two_institutions() -> None:
    """Without an identifier or an address, the place tells institutions apart."""
    towns = {_made(name="Museum", city=city).key for city in ("Ghent", "Bruges", "")}
    streets = {_made(name="Museum", address="Quay 1", city=c).key for c in ("A", "B")}

    assert len(towns) == 3
    assert len(streets) == 1


def test_properties_are_those_of_the_graph() -> None:
    """Absent values are no properties, and the hash follows every change."""
    plain = _made(name="N", type="A").properties("c")
    other = _made(name="N", type="A", founded="1900").properties("c")

    assert plain["institutionType"] == "A"
    assert "city" not in plain
    assert (other["founded"], other["foundedYear"]) == ("1900", 1900)
    assert plain["contentHash"] != other["contentHash"]
    assert plain["id"] == other["id"] != _made(name="N", type="A").id("d")


def test_text_tells_what_is_known() -> None:
    """The document names type and place before the description."""
    text = _made(
        name="N", type="A", city="Ghent", country="BE", founded="1900", description="D."
    ).text()

    assert text == "N is an archive in Ghent, BE. It was founded in 1900. D."


def test_documents_carry_the_class(tmp_path: Path) -> None:
    """The source yields one document for each, under the id of its node."""
    path = _file(tmp_path, "name,type\nN,A\n,M\nN,A\n", "f.csv")
    source = CustodianSource(CustodianFile(path), corpus="c")

    (document,) = source.items()

    assert document.source_id == _made(name="N", type="A").id("c")  # type: ignore[union-attr]
    assert document.metadata["className"] == "Archive"  # type: ignore[union-attr]
    assert (source.position, source.size, source.name) == (2, 3, "f.csv")
    assert source.repeated == 1


def test_class_uri_is_of_the_heritage_ontology() -> None:
    """Classes are named as the RDF of the graph names them."""
    assert class_uri("Archive").endswith("/ontology/heritage#Archive")


@given(
    st.dictionaries(
        st.sampled_from([
            "type",
            "city",
            "address",
            "isil",
            "ghcid",
            "founded",
            "budget",
        ]),
        st.text(min_size=1, max_size=60),
    )
)
def test_any_row_with_a_name_becomes_an_institution(row: dict[str, str]) -> None:
    """Whatever the other cells hold, the row is usable and its text readable."""
    found = _made(**{"name": "N", **row})

    assert found.text().startswith("N is a")
    assert found.properties("c")["name"] == "N"


def test_contradicted_ghcid_gives_no_subdivision() -> None:
    """An institution in one country has no subdivision of another."""
    found = _made(name="N", ghcid="NL-NH-AMS-A-N", country="BE")

    assert (found.country, found.subregion) == ("BE", None)


@pytest.mark.parametrize(
    "region",
    ["Museums", "Cross-domain Institutions", "Council", "www.x.org", "51.75"],
)
def test_what_is_no_region_is_left_out_and_noted(region: str) -> None:
    """Kinds, bodies, websites and numbers are no regions, and the row is named."""
    findings = Findings()
    columns = _columns(("Kent", "Council"), ("Kent", "Council"), (region, "Council"))

    found = _made(findings, misplaced=columns, name="N", region=region)

    assert found.region is None
    assert findings.malformed == {"region": 1}
    assert findings.examples[0].startswith(f"f:1: region {region!r} is left out")


def test_region_under_bodies_is_no_body() -> None:
    """A body that the file has more often as a region is left out, the region kept."""
    columns = _columns(("Kent", "Council"), ("Kent", "Kent"))

    found = _made(misplaced=columns, name="N", region="Kent", governing_body="Kent")

    assert (found.region, found.governing_body) == ("Kent", None)


def test_region_that_is_a_state_is_the_country() -> None:
    """A British list has Ireland as a region: it is the country, before the default."""
    found = _made(name="N", region="Ireland", default="GB")

    assert (found.region, found.country) == (None, "IE")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("www.a.org or www.b.org", "www.a.org"),
        ("http://a.org/x", "http://a.org/x"),
        ("me@a.org", None),
        ("None", None),
    ],
)
def test_website_is_an_address_on_the_web(text: str, url: str | None) -> None:
    """Of a cell with more the first address is taken; what has none is left out."""
    assert _made(name="N", url=text).url == url


@pytest.mark.parametrize(
    ("name", "most"), [("city", 200), ("region", 200), ("uri", 2_000)]
)
def test_what_no_index_could_hold_is_left_out(name: str, most: int) -> None:
    """A value that is far too long is told and left out; the longest one is taken."""
    findings = Findings()

    long = _made(findings, name="N", **{name: "x" * (most + 1)})
    fits = _made(findings, name="N", **{name: "x" * most})

    assert getattr(long, name) is None
    assert len(getattr(fits, name)) == most
    assert findings.malformed == {name: 1}


def test_a_town_is_not_guessed_from_an_endless_address() -> None:
    """The last part of an address is no town if it is longer than any."""
    found = _made(name="N", address=f"1 Road, {'Town' * 100}")

    assert found.city is None
