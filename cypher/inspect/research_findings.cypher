// @title: Findings of research with their sentences
// purpose: what research noted (the latest one where none is given), for which question, the sentences of each, and whether a claim was drawn from it
// params: research, limit
// since: 5.26
MATCH (r:Research)
WHERE $research IS NULL OR r.id = $research
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
MATCH (r)-[:ASKS]->(q:SubQuestion)-[:FOUND]->(f:Finding)
WITH DISTINCT q, f
RETURN
  q.text AS question,
  f.text AS finding,
  COLLECT {
    MATCH (f)-[:SUPPORTED_BY]->(s:Sentence)
    MATCH (s)<-[:HAS_SENTENCE]-(:Chunk)-[:FROM_DOCUMENT]->(d:Document)
    WITH DISTINCT s, d
    ORDER BY d.title, s.index
    RETURN d.title + ': ' + s.text
  } AS sentences,
  EXISTS { (:Claim)-[:DRAWN_FROM]->(f) } AS claimed
ORDER BY q.place, f.id
LIMIT coalesce($limit, 100)
