// purpose: chunks of some documents with their sentences' ids, the terms they name and where one can walk
// params: ids, dimensions
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK d:Document(id)
RETURN
  id AS document,
  c {.*, embedding: null} AS properties,
  CASE WHEN size(c.embedding) = $dimensions THEN c.embedding END AS vector,
  COLLECT {
    MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
    RETURN s.id
    ORDER BY s.index
  } AS sentences,
  COLLECT {
    MATCH (c)-[r:SIMILAR_TO]->(n:Chunk)
    RETURN n.id
    ORDER BY r.scope DESC, r.rank, n.id
  } AS neighbours,
  COLLECT { MATCH (c)-[:NAMES]->(t:Term) RETURN t.name } AS terms
