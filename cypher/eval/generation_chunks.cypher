// purpose: chunks with their sentences, neighbours, and documents of like themes
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  c.id AS id,
  d.id AS document,
  d.title AS title,
  c.index AS index,
  COLLECT {
    MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
    RETURN [s.id, s.text, s.index]
    ORDER BY s.index
  } AS sentences,
  COLLECT {
    MATCH (c)-[r:SIMILAR_TO]->(n:Chunk)-[:FROM_DOCUMENT]->(o:Document)
    RETURN [
      n.id,
      o.id,
      r.score,
      r.scope,
      COLLECT { MATCH (n)-[:HAS_SENTENCE]->(m:Sentence) RETURN m.text ORDER BY m.index }
    ]
    ORDER BY r.score DESC, n.id
  } AS neighbours,
  COLLECT {
    MATCH (c)-[:NEXT_CHUNK]-(n:Chunk)
    RETURN n.id
    ORDER BY n.index, n.id
  } AS adjacent,
  COLLECT {
    MATCH (d)-[t:THEME_SIMILAR_TO]->(o:Document)
    RETURN o.id
    ORDER BY t.rank, o.id
  } AS themed
