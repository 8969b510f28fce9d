// purpose: chunks that name terms, with all terms of theirs and how many chunks name each
// params: corpus, ids, names
// since: 5.26
UNWIND $names AS name
MATCH (:Term {corpus: $corpus, name: name})<-[:NAMES]-(c:Chunk)
WHERE true /* filter */
WITH collect(DISTINCT c) AS found
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
    UNWIND found AS c
    MATCH (c)-[:NAMES]->(t:Term)
    WITH DISTINCT t
    RETURN [t.name, COUNT { (t)<-[:NAMES]-() }]
  } AS terms,
  COLLECT {
    UNWIND found AS c
    RETURN [c.id, c.text, COLLECT { MATCH (c)-[:NAMES]->(t:Term) RETURN t.name }]
  } AS named
