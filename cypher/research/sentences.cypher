// purpose: sentences with their vectors, documents and the themes of these
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (s:Sentence {id: id})
USING INDEX SEEK s:Sentence(id)
MATCH (s)<-[:HAS_SENTENCE]-(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
WITH s, d, min(c.index) AS first
RETURN
  s.id AS id,
  s.text AS text,
  s.index AS index,
  s.embedding AS vector,
  d.id AS document,
  d.title AS title,
  d.url AS url,
  COLLECT {
    MATCH (d)-[h:HAS_THEME]->(t:Theme)
    RETURN t.name
    ORDER BY h.rank
  } AS themes
