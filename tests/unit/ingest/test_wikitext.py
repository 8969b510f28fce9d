"""Wikitext becomes what a person reads on the page."""

# ruff: noqa: RUF001 - other alphabets and signs are meant

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.records import Section
from knowtrail.ingest.wikitext import is_disambiguation, parse_wikitext, redirect_target
from tests.cases import each


def _text(raw: str, language: str = "en") -> str:
    return parse_wikitext(raw, language=language).text


def _anchors(raw: str, language: str = "en") -> list[tuple[str, str]]:
    """Return each link's visible anchor and its target."""
    page = parse_wikitext(raw, language=language)
    return [(page.text[link.start : link.end], link.target) for link in page.links]


@each(("raw", "shown"), [
        ("'''Bold''' and ''italic'' and '''''both'''''.", "Bold and italic and both."),
        ("The dogs' ''own'' food.", "The dogs' own food."),
        ("L'''amour'' and '''war'''.", "L'amour and war."),
        ("''{{unknown}}'' (DEN)", "(DEN)"),
        ("One<ref>a source</ref> two<ref name=a/> three.", "One two three."),
        ("Kept <!-- hidden --> text.", "Kept text."),
        ("First\n<!-- alone -->\nsecond.", "First second."),
        ("Shown <nowiki>[[as|is]] ''now''</nowiki>.", "Shown [[as|is]] ''now''."),
        ("A &lt;ref&gt; tag &amp; &#91;&#91;b&#93;&#93;.", "A <ref> tag & [[b]]."),
        ("Wide&nbsp;&mdash;&thinsp;dash – and “quotes” stay…",
         "Wide — dash – and “quotes” stay…"),
        ("H<sub>2</sub>O, 10<sup>6</sup>, m<sup>2</sup>, 19<sup>th</sup>.",
         "H2O, 10⁶, m², 19th."),
        ("Line<br/>break and <span style=\"x\">span</span>.", "Line break and span."),
        ("a < b and b > c, if <T> is shown.", "a < b and b > c, if <T> is shown."),
        ("Sort <span style=\"display:none\">007</span>7.", "Sort 7."),
        ("See [http://example.org the site] and [http://example.org].",
         "See the site and."),
        ("Tail [https://example.org/a?b=c|d label].", "Tail label."),
        ("__NOTOC__Text.", "Text."),
        ("<gallery>\nFile:A.jpg|One\n</gallery>\nText.", "Text."),
        ("<syntaxhighlight lang=c>int x;</syntaxhighlight>Text.", "Text."),
        ("Zero\u200bwidth\u00ad and\u0007 control.", "Zerowidth and control."),
        ("Cafe\u0301.", "Café."),
        ("Two\n\n\n\nparagraphs.", "Two\n\nparagraphs."),
        ("A [citation needed] claim.[1][2, 3]", "A claim."),
    ])  # fmt: skip
def test_inline_markup(raw: str, shown: str) -> None:
    """Formatting goes, words and typography stay."""
    assert _text(raw) == shown


@each(("raw", "shown"), [
        ("It is {{convert|1500|km|mi}} long.", "It is 1,500 km long."),
        ("It is {{convert|5|ft|8|in|m}} tall.", "It is 5 ft 8 in tall."),
        ("From {{cvt|3|to|4|sqmi}}.", "From 3 to 4 sq mi."),
        ("At {{convert|-5.5|C}}.", "At −5.5 °C."),
        ("{{lang|fr|raison d'être}}", "raison d'être"),
        ("({{lang-de|Haus}})", "(German: Haus)"),
        ("{{transl|ar|al-jabr}}", "al-jabr"),
        ("{{nowrap|no break}} {{small|fine}}", "no break fine"),
        ("{{abbr|NGO|non-governmental organisation}}", "NGO"),
        ("{{As of|2012|3}}, yes; {{as of|2013|lc=y}}.", "As of March 2012, yes; "
         "as of 2013."),
        ("{{circa|1900}} and {{c.}} 1950", "c. 1900 and c. 1950"),
        ("{{frac|1|2}}, {{frac|3|1|4}}", "1/2, 3 1/4"),
        ("{{formatnum:1234567}} people", "1,234,567 people"),
        ("{{US$|1500}} or {{£|20}}", "US$1,500 or £20"),
        ("{{nihongo|Aikido|合気道|Aikidō}}", "Aikido (合気道, Aikidō)"),
        ("He {{sic|hyphen|alway|s}} says", "He always says"),
        ("1990{{ndash}}1995{{nbsp}}AD", "1990–1995 AD"),
        ("{{chem|H|2|O}} and {{e|9}}", "H2O and × 10⁹"),
        ("{{val|5|u=kg}}", "5 kg"),
        ("{{USS|Enterprise|CVN-65}}", "USS Enterprise (CVN-65)"),
        ("{{ill|de|Altes Haus}}; {{ill|Old House|de}}", "Altes Haus; Old House"),
        ("in {{FRA}}", "in France"),
        ("at {{coord|13|19|N|169|9|W}}", "at 13°19′N 169°9′W"),
        ("Said:\n{{quote|Know thyself.|Someone}}\nAnd so.",
         "Said:\n\nKnow thyself.\n\nAnd so."),
        ("{{nowrap|1={{convert|10|km}} away}}", "10 km away"),
        ("The vowel {{IPA|/a/}} is open.", "The vowel /a/ is open."),
        ("{{Template:Nowrap|x}}", "x"),
        ("{{lc:ABC}} {{uc:abc}} {{ucfirst:abc}} {{lcfirst:ABC}}", "abc ABC Abc aBC"),
        ("{{frac|4}} or {{sfrac|n + 1|2}}", "1/4 or (n + 1)/2"),
        ("{{as of|alt=In 2012}}; {{c.|1900}}", "In 2012; c. 1900"),
        ("about {{Pop density|3000|150|km2}} then", "about 20.0 per km² then"),
        ("none {{Pop density|x|150|km2}} then", "none then"),
        ("{{columns-list|2|\n* a\n* b\n}}", "a.\nb."),
        ("{{ordered list|one|two}}", "one.\ntwo."),
        ("{{HMS|Ajax|22|6}} and {{ship|HMS|Hood}}", "Ajax and HMS Hood"),
        ("{{OldStyleDate|February 2|1905|January 20}}", "February 2 1905 [O.S. January "
         "20]"),
        ("{{simplenuclide2|carbon|14}}, B{{music|flat}}", "carbon-14, B♭"),
        ("{{val|5.2|0.1|e=3|u=m}}", "5.2 ± 0.1 × 10^3 m"),
        ("{{val|1.5|(2)}} of {{railgauge|1435mm}}", "1.5(2) of 1435 mm"),
        ("see {{harvnb|Linden|Mayr|1996|p=3}}", "see Linden and Mayr 1996"),
        ("({{coord|1|2|N|3|4|E|display=title}})Text", "Text"),
        ("{{convert|5}}, {{convert|6+1/2|in}} or {{convert}}", "5, 6 1/2 in or"),
        ("{{yes}}, {{no|Never}}", "Yes, Never"),
        ("{{nihongo||合気道|Aikidō}} {{lang-xyz|text}}", "合気道, Aikidō text"),
        ("{{ill|Old House|de|lt=Villa}}{{quote|text=Said.}}", "Villa\n\nSaid."),
        ("{{birth date|1809|2|12}} {{dts|May 5}}", "12 February 1809 May 5"),
        ("{{{1|default}}}Text", "Text"),
    ])  # fmt: skip
def test_templates_that_belong_to_the_sentence(raw: str, shown: str) -> None:
    """What a template shows within a sentence is shown."""
    assert _text(raw) == shown


@pytest.mark.parametrize(
    ("raw", "language", "shown"),
    [
        ("{{formatnum:1234.5}}", "de", "1.234,5"),
        ("{{formatnum:1234.5}}", "bg", "1 234,5"),
        ("{{formatnum:12}} {{formatnum:x}}", "en", "12 x"),
        ("{{lang-en|house}} {{FRA}}", "bg", "house"),
        ("au {{s|XIX|e}} {{unité|10|km}}", "fr", "au XIXe siècle 10 km"),
    ],
)
def test_templates_follow_the_language(raw: str, language: str, shown: str) -> None:
    """Numbers and names are written as the wiki's readers expect."""
    assert _text(raw, language) == shown


def test_nesting_beyond_reason_shows_nothing() -> None:
    """Forty levels are more than any page needs; deeper text is dropped."""
    deep = "{{nowrap|" * 60 + "x" + "}}" * 60 + "[[a|" * 60 + "y" + "]]" * 60

    assert _text(f"A {deep} b.") == "A a b."


@each(
    "raw",
    [
        "{{Infobox person\n| name = X\n| born = {{birth date|1900|1|2}}\n}}\n",
        "{{About|this|that}}\n{{main|Other}}\n",
        "{{cite web |url=http://x |title=T}}",
        "{{Navbox | list1 = [[A]] }}",
        "{{#if: x | y }}{{DEFAULTSORT:X}}{{#tag:ref|z}}",
        "[[File:A.jpg|thumb|A [[nested]] caption {{convert|1|m}}]]\n",
        "[[Bild:A.jpg|mini|Text]][[Файл:A.jpg|мини]]",
        "[[de:Haus]]\n[[fr:Maison]]",
        ":''See also: [[Other]]''\n",
    ],
)
def test_boxes_notes_and_pictures_vanish(raw: str) -> None:
    """What is not part of the running text leaves no trace."""
    assert _text(f"{raw}Text.") == "Text."
    assert _anchors(f"{raw}Text.") == []


@each(
    ("raw", "shown"),
    [
        ("Ada ({{IPAc-en|ˈ|eɪ|d|ə}}; born 1815) wrote.", "Ada (born 1815) wrote."),
        ("Ada ({{IPA-fr|ada}}) wrote.", "Ada wrote."),
        ("Ada (pronounced {{IPA-fr|ada}}, 1815) wrote.", "Ada (1815) wrote."),
        ("One {{x}}, two {{y}}.", "One, two."),
        ("One,{{x}}, two.", "One, two."),
        ("End, {{x}}.", "End."),
        ("* {{cite book|a=b}}. Still read.", "Still read."),
        ("It cost $5 (${{inflation|US|5|1900}} in 2016) then.", "It cost $5 then."),
    ],
)
def test_sentences_mend_where_something_was_dropped(raw: str, shown: str) -> None:
    """No empty brackets, no double commas, no spaces before full stops."""
    assert _text(raw) == shown


def test_spaces_before_high_punctuation_stay_in_french() -> None:
    """French writes a space there, other languages do not."""
    assert _text("Quoi ? Rien !", "fr") == "Quoi ? Rien !"
    assert _text("What ? Nothing !", "en") == "What? Nothing!"


@each(("raw", "anchors"), [
        ("[[dog]]s and [[cat|Cats]].", [("dogs", "Dog"), ("Cats", "Cat")]),
        ("[[the_old  house#Roof|roof]]", [("roof", "The old house")]),
        ("[[2001: A Space Odyssey]]", [("2001: A Space Odyssey",) * 2]),
        ("'''[[Bold]]''' {{nowrap|[[in a|template]]}}",
         [("Bold", "Bold"), ("template", "In a")]),
        ("{{lang|fr|[[mot]]}} ([[b]] )", [("mot", "Mot"), ("b", "B")]),
        ("[[ spaced | label ]]x", [("labelx", "Spaced")]),
        ("[[кот]]ка", [("котка", "Кот")]),
        ("[[#Section|here]] [[:Category:Dogs|dogs]] [[wikt:dog|dog]]", []),
        ("[[Help:A|b]] [[user talk:C]]", []),
        ("[[:fr:Chien|chien]]", []),
        ("* [[one]]\n* [[two]]", [("one", "One"), ("two", "Two")]),
        ("== [[Heading]] ==\n[[text]]", [("text", "Text")]),
    ])  # fmt: skip
def test_links_point_to_their_anchors(raw: str, anchors: list[tuple[str, str]]) -> None:
    """Offsets give the visible words, targets are normalised titles."""
    assert _anchors(raw) == anchors


def test_characters_that_serve_as_marks_cannot_be_smuggled_in() -> None:
    """Neither raw nor as entities do they make a link or survive."""
    raw = "a\U000f0000b\U0010fffdc &#xF0000;d&#x10FFFD; [[real|link]]"

    assert _text(raw) == "abc d link"
    assert _anchors(raw) == [("link", "Real")]


def test_categories_are_kept_in_several_languages() -> None:
    """Sort keys go, names are normalised, order stays and nothing is twice."""
    raw = "T.[[Category:Old dogs| ]][[категория:Кучета]][[Category:old_dogs]]"

    assert parse_wikitext(raw).categories == ("Old dogs", "Кучета")


def test_lists_are_lines_that_end_like_sentences() -> None:
    """Each item is a line with a full stop; definitions follow their terms."""
    raw = "Intro:\n* one;\n* two!\n** ''three''\n# four,\n; Term\n: its meaning"

    shown = "Intro:\n\none.\ntwo!\nthree.\nfour.\nTerm: its meaning."

    assert _text(raw) == shown


def test_formula_lines_stay_within_their_paragraph() -> None:
    """An indented formula is a line of the sentence around it."""
    raw = "It is\n:<math>E = mc^2</math>\nwhere c is fixed."

    assert _text(raw) == "It is\nE = mc²\nwhere c is fixed."


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\sqrt{2} \times \alpha_1", "√2 × α_1"),
        (r"x^{10} \leq \mathbb{R}", "x¹⁰ ≤ R"),
        (r"\sum_{i=1}^{n} x_i", "∑_(i=1)ⁿ x_i"),
        (r"\{a, b\}", "{a, b}"),
        (r"\begin{matrix} 1 \\ 2 \end{matrix}", ""),
        ("x" * 1000, ""),
    ],
)
def test_formulas_read_as_text(tex: str, shown: str) -> None:
    """Short formulas are readable, matrices and long ones are dropped."""
    assert _text(f"A <math>{tex}</math>") == f"A {shown}".strip()


def test_sections_are_recorded_and_not_in_the_text() -> None:
    """Offsets say where a section's text begins; empty sections do not count."""
    raw = "Lead.\n== One ==\nFirst.\n=== Sub [[a|b]] ===\nSecond.\n== Empty ==\n"

    page = parse_wikitext(raw)

    assert page.text == "Lead.\n\nFirst.\n\nSecond."
    assert page.sections == (
        Section(title="One", start=7, level=2),
        Section(title="Sub b", start=15, level=3),
    )


def test_trailing_sections_go_and_later_ones_stay() -> None:
    """References end at the next heading of their level, not with the page."""
    raw = (
        "Lead.\n== See also ==\n* [[A]]\n=== Deeper ===\nx\n== Notes ==\ncut\n"
        "== Legacy ==\nStays.\n=== References ===\ncut\n=== Fame ===\nToo.\n"
        "== External links ==\n* cut"
    )

    page = parse_wikitext(raw)

    assert page.text == "Lead.\n\nStays.\n\nToo."
    assert [section.title for section in page.sections] == ["Legacy", "Fame"]


@pytest.mark.parametrize(
    ("heading", "language"),
    [("Източници", "bg"), ("Einzelnachweise", "de"), ("Voir aussi", "fr"),
     ("参考文献", "ja"), ("EXTERNAL LINKS:", "en"), ("References", "bg")],
)  # fmt: skip
def test_trailing_headings_of_many_languages(heading: str, language: str) -> None:
    """A wiki's own headings and the English ones are known."""
    assert _text(f"Text.\n== {heading} ==\ncut", language) == "Text."


TABLE = """{| class="wikitable"
|+ Films
! Year !! Director
! style="x" | Film
|-
| rowspan=2 | 1995 || [[Ann|A. Lee]]<br>(born 1950)
| ''Heat''
|-
| B. Ray || –
|-
| colspan=3 | Third part
|-
| 1 || 2 || 3
|}"""


def test_tables_are_left_out_of_prose() -> None:
    """A page that is mostly prose reads on without them."""
    prose = " ".join(["A sentence that makes the prose longer than the table."] * 9)

    assert _text(f"{prose}\n{TABLE}\nAfter.") == f"{prose}\n\nAfter."


def test_a_page_of_tables_keeps_rows_as_sentences() -> None:
    """Cells follow their headings, spanning cells repeat, bare numbers are no row."""
    page = parse_wikitext(f"Lead.\n{TABLE}")

    assert page.text == (
        "Lead.\n\n"
        "Year: 1995; Director: A. Lee (born 1950); Film: Heat.\n"
        "Year: 1995; Director: B. Ray.\n"
        "Year: Third part."
    )
    assert [page.text[link.start : link.end] for link in page.links] == ["A. Lee"]


def test_html_tables_are_tables() -> None:
    """Tags make the same rows as wiki markup."""
    raw = "<table><tr><th>City</th><th>In</th></tr><tr><td>Bonn</td><td>West</td></tr>"

    assert _text(f"{raw}</table>") == "City: Bonn; In: West."


def test_layout_tables_keep_their_lists() -> None:
    """A table without headings around lists only places them side by side."""
    assert _text("{|\n|\n* one\n* two\n|\n* three\n|}") == "one.\ntwo.\n\nthree."


def test_a_table_without_end_hides_no_section() -> None:
    """The next heading ends it."""
    assert _text("A.\n{|\n| x\n== B ==\nText that follows it.") == (
        "A.\n\nText that follows it."
    )


@each(
    ("raw", "shown"),
    [
        ("{{unclosed | text", "unclosed | text"),
        ("[[unclosed | text", "unclosed | text"),
        ("text}} and ]] more", "text and more"),
        ("{{nowrap|[[a}} b", "a b"),
        ("<ref>never closed", "never closed"),
        ("A <!-- never closed", "A"),
        ("[[a|[http://x y]]]", "y"),
        ("[[File:A.jpg|thumb|[[b]]]]c", "c"),
        ("{{{{nowrap|nowrap}}|x}}", "x"),
    ],
)
def test_broken_markup_leaves_its_words(raw: str, shown: str) -> None:
    """What was not closed loses its brackets only."""
    assert _text(raw) == shown


NASTY = [
    "{{", "[[", "{{{", "[[a|", "{{a|", "{{nowrap|", "[http://x ", "<ref>", "<!--",
    "<nowiki>", "<math>", "''", "{|\n|", "|-\n", "=a=\n", "* a\n", "; a\n", "(", "( ",
    "(, ", "[[File:", "}}", "]]", "<sup>", '<span style="', "&", "<td>", "[[a]] ",
    "{{convert|1|", "($ a", " .", "⟨", "<!-- {{dab", "#redirect [[",
]  # fmt: skip


@each("piece", NASTY)
@pytest.mark.thorough
def test_time_is_linear_in_the_page(piece: str) -> None:
    """20,000 characters of any piece of markup take well under a second."""
    length = 200_000
    raw = piece * (length // len(piece))
    started = time.process_time()

    parse_wikitext(raw)
    is_disambiguation(raw)
    redirect_target(raw)

    assert time.process_time() - started < length / 20_000


PIECES = st.sampled_from([
    "{{", "}}", "[[", "]]", "{{{", "}}}", "|", "'''", "''", "\n", "\n\n", "== ", " ==",
    "* ", "# ", ":", ";", "{|", "|}", "|-", "!", "||", "<ref>", "</ref>", "<br>",
    "<!--", "-->", "<nowiki>", "</nowiki>", "<math>", "</math>", "&amp;", "&#91;",
    "[http://a.b ", "]", "(", ")", ", ", ". ", "word", "convert|5|km", "nowrap|",
    "File:", "Category:", "de:", " ", "e\u0301", "é", "\U000f0001", "\U0010fffd",
    "\u200b", "\ud800", "\x00",
    "<sup>2</sup>", "<td>", "ж", "中", "rowspan=2|", "{{IPA-fr|x}}",
])  # fmt: skip


@given(st.lists(PIECES, max_size=60))
def test_any_mixture_of_markup_is_read(pieces: list[str]) -> None:
    """Nothing raises, offsets are inside the text, no mark or control is left."""
    page = parse_wikitext("".join(pieces))

    inside = [
        0 <= link.start < link.end <= len(page.text)
        and page.text[link.start : link.end].strip() == page.text[link.start : link.end]
        for link in page.links
    ]
    assert all(inside)
    assert all(0 <= section.start < len(page.text) for section in page.sections)
    assert (
        re.search("[\U000f0000-\U0010ffff\x00-\x09\x0b-\x1f\ud800]", page.text) is None
    )
    assert page.text == page.text.strip()


WORD = st.text(st.characters(categories=("Ll",), max_codepoint=0x17F), min_size=1,
               max_size=8)  # fmt: skip
FILLER = st.sampled_from([
    ". ", ", ", "{{x}} ", "<ref>y</ref> ", " ({{IPA-fr|z}}) ",
    "''so'' ", "\n\n", "\n* ",
    " <br> ", "{{convert|5|km}} ", "&nbsp;", " [[File:a.jpg|b [[c]]]] ",
])  # fmt: skip


@given(st.lists(st.tuples(WORD, FILLER), min_size=1, max_size=15))
def test_offsets_survive_every_edit_around_them(
    parts: list[tuple[str, str]],
) -> None:
    """Whatever is dropped or mended before a link, its offsets give its anchor."""
    raw = "".join(f"[[Target {n}|q{word}]] {filler}" for n, (word, filler)
                  in enumerate(parts))  # fmt: skip

    found = _anchors(raw)

    assert found == [(f"q{word}", f"Target {n}") for n, (word, _) in enumerate(parts)]


@each("raw", [
        "'''Ada''' may be:\n* [[A]]\n{{disambiguation}}",
        "x {{Disambig|surname}}", "{{hndis|Smith, J}}", "{{пояснение}}", "{{Geodis}}",
        "{{airport_disambiguation}}", "__DISAMBIG__", "{{Begriffsklärung}}",
        "{{ Dab \n}}",
    ])  # fmt: skip
def test_disambiguation_pages_are_told(raw: str) -> None:
    """Templates of many languages and the magic word mark them."""
    assert is_disambiguation(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "{{about|the dab}} Text {{dabble}}", "Disambiguation is a word.",
        "<!-- {{disambig}} --> Text", "<nowiki>{{dab}}</nowiki> <!-- -->",
        "{{other uses|A (disambiguation)}}",
    ],
)  # fmt: skip
def test_articles_are_not_disambiguation_pages(raw: str) -> None:
    """Words, hatnotes and hidden templates do not count."""
    assert not is_disambiguation(raw)


@pytest.mark.parametrize(
    ("raw", "target"),
    [
        ("#REDIRECT [[Amoeba]] {{R from CamelCase}}", "Amoeba"),
        ("#redirect: [[Big dog#Size|x]]", "Big dog#Size"),
        ("#ВИЖ [[Куче]]", "Куче"),
        ("# WEITERLEITUNG [[Hund]]", "Hund"),
        ("Text #REDIRECT [[No]]", None),
        ("#REDIRECT nowhere", None),
    ],
)
def test_redirects_are_read_from_text(raw: str, target: str | None) -> None:
    """The words of many languages are known, only at the beginning of a page."""
    assert redirect_target(raw) == target
