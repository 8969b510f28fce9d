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
  coalesce(d.title, '') AS title,
  coalesce(c.index, 0) AS index,
  COLLECT {
    MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
    RETURN {id: s.id, document: d.id, index: s.index, text: s.text}
    ORDER BY s.index
  } AS sentences,
  COLLECT {
    MATCH (c)-[r:SIMILAR_TO]->(n:Chunk)-[:FROM_DOCUMENT]->(o:Document)
    RETURN {
      id: n.id,
      document: o.id,
      score: r.score,
      intra: r.scope = 'intra',
      texts: COLLECT {
        MATCH (n)-[:HAS_SENTENCE]->(m:Sentence) RETURN m.text ORDER BY m.index
      }
    }
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
