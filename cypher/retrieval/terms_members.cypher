// purpose: chunks that name terms, and all terms of theirs with how many chunks name each and which of these do, by place
// params: corpus, ids, names, broad, vector, most, sample, looked
// since: 5.26
UNWIND $names AS name
MATCH (:Term {corpus: $corpus, name: name})<-[:NAMES]-(c:Chunk)
WHERE true /* filter */
WITH collect(DISTINCT c) AS found
WITH found + COLLECT {
  UNWIND $broad AS name
  CALL (name) {
    MATCH (:Term {corpus: $corpus, name: name})<-[:NAMES]-(c:Chunk)
    // However many members a name has, a question is to cost the same.
    WITH c
    LIMIT $looked
    WHERE true /* filter */
    WITH c
    ORDER BY c.id
    LIMIT $sample
    // It is dear to look at vectors. During an ingest chunks may have none: the sample is smaller.
    WHERE c.embedding IS NOT NULL
    WITH c
    ORDER BY vector.similarity.cosine(c.embedding, $vector) DESC, c.id
    LIMIT $most
    RETURN c
  }
  WITH DISTINCT c
  WHERE NOT c IN found
  RETURN c
} AS found
WITH found + COLLECT {
  UNWIND $ids AS id
  MATCH (c:Chunk {id: id})
  USING INDEX SEEK c:Chunk(id)
  WHERE NOT c IN found
  RETURN c
} AS found
RETURN
  head(COLLECT {
    MATCH (k:Corpus {name: $corpus})
    RETURN coalesce(k.chunks, COUNT { (k)<-[:IN_CORPUS]-()<-[:FROM_DOCUMENT]-() })
  }) AS chunks,
  COLLECT {
    UNWIND range(0, size(found) - 1) AS place
    WITH place, found[place] AS c
    RETURN [place, c.id, c.text, head([(c)-[:FROM_DOCUMENT]->(d) | d.title])]
  } AS found,
  COLLECT {
    UNWIND range(0, size(found) - 1) AS place
    WITH place, found[place] AS c
    MATCH (c)-[:NAMES]->(t:Term)
    WITH t, collect(place) AS places
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }, places]
  } AS terms
