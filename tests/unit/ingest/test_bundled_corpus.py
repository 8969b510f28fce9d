"""The bundled articles and questions keep their promises about size and offsets."""

from __future__ import annotations

from collections import Counter

import sentencex

from knowtrail.ingest.bundled import articles, questions
from knowtrail.ingest.sentences import split_sentences
from tests.cases import each

ARTICLES = list(articles())
QUESTIONS = list(questions())
TITLES = {article["title"] for article in ARTICLES}
TEXTS = {article["id"]: article["text"] for article in ARTICLES}


def sentences(text):
    """Return the sentences of a text as the plain library finds them."""
    return [part.strip() for part in sentencex.segment("en", text) if part.strip()]


every_article = each("article", ARTICLES)
every_question = each("question", QUESTIONS)


def test_there_are_at_least_twelve_articles():
    """The quick start is promised a dozen articles or more."""
    assert len(ARTICLES) >= 12


def test_ids_and_titles_are_unique():
    """No two articles share an id or a title."""
    assert len(TEXTS) == len(TITLES) == len(ARTICLES)


@every_article
def test_article_has_forty_to_sixty_sentences(article):
    """Every article is between forty and sixty sentences long."""
    assert 40 <= len(sentences(article["text"])) <= 60


@every_article
def test_library_and_product_agree_on_the_sentences(article):
    """The product's splitter finds the sentences that the gold answers quote."""
    text = article["text"]

    spans = split_sentences(text, language="en")

    assert [text[span.start : span.end] for span in spans] == sentences(text)


@every_article
def test_links_stand_on_whole_words_and_lead_to_other_articles(article):
    """Link offsets cover whole words in order, and targets are other titles."""
    text, links = article["text"], article["links"]

    ends = [0, *(link["end"] for link in links)]
    wrong = [
        link
        for link, before in zip(links, ends, strict=False)
        if not before <= link["start"] < link["end"] <= len(text)
        or text[link["start"] : link["end"]]
        != text[link["start"] : link["end"]].strip()
        or text[link["start"] - 1 : link["start"]].isalnum()
        or text[link["end"] : link["end"] + 1].isalnum()
        or link["target"] not in TITLES - {article["title"]}
    ]

    assert wrong == []
    assert 6 <= len(links) <= 20


@every_article
def test_sections_begin_where_paragraphs_begin(article):
    """Every section starts a paragraph, in order, after an introduction."""
    starts = [section["start"] for section in article["sections"]]

    assert 3 <= len(starts) <= 6
    assert starts == sorted(set(starts))
    assert {article["text"][start - 2 : start] for start in starts} == {"\n\n"}


@every_article
def test_article_names_its_licence_and_categories(article):
    """Every article says under which licence it may be used."""
    assert article["metadata"] == {"licence": "CC0-1.0", "author": "Knowtrail"}
    assert 2 <= len(article["categories"]) <= 4
    assert (article["url"], article["language"]) == (None, "en")


def test_no_sentence_occurs_twice():
    """No sentence is repeated, within an article or across them."""
    counts = Counter(part for text in TEXTS.values() for part in sentences(text))

    assert [part for part, times in counts.items() if times > 1] == []


def test_every_article_is_linked_from_another():
    """No article is left out of the web of links."""
    targets = {link["target"] for article in ARTICLES for link in article["links"]}

    assert targets == TITLES


def test_there_are_enough_questions():
    """At least twenty questions, eight of which need two articles."""
    assert len(QUESTIONS) >= 20
    assert sum(question["hops"] == 2 for question in QUESTIONS) >= 8
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)


@every_question
def test_gold_sentences_are_sentences_of_their_articles(question):
    """Each gold sentence is exactly one sentence of the article it names."""
    missing = [
        gold
        for gold in question["gold"]
        if sentences(TEXTS[gold["document"]]).count(gold["sentence"]) != 1
    ]

    assert question["gold"]
    assert missing == []


@every_question
def test_documents_and_hops_follow_from_the_gold_sentences(question):
    """A question lists the articles of its gold sentences and counts them."""
    documents = list(dict.fromkeys(gold["document"] for gold in question["gold"]))

    assert question["documents"] == documents
    assert question["hops"] == len(documents) <= 2
    assert question["answer"]
