// @title: Claims of research with their sentences
// purpose: the claims of research (the latest one where none is given), the verdict on each, and the sentences it rests on
// params: research, verdict, limit
// since: 5.26
MATCH (r:Research)
WHERE $research IS NULL OR r.id = $research
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
MATCH (r)-[:CLAIMS]->(c:Claim)
OPTIONAL MATCH (c)-[:HAS_VERDICT]->(v:Verdict)
WITH c, v
WHERE $verdict IS NULL OR v.verdict = $verdict
RETURN
  c.text AS claim,
  v.verdict AS verdict,
  v.by AS by,
  v.score AS score,
  COLLECT {
    MATCH (c)-[:DRAWN_FROM]->(:Finding)-[:SUPPORTED_BY]->(s:Sentence)
    MATCH (s)<-[:HAS_SENTENCE]-(:Chunk)-[:FROM_DOCUMENT]->(d:Document)
    WITH DISTINCT s, d
    ORDER BY d.title, s.index
    RETURN d.title + ': ' + s.text
  } AS sentences
ORDER BY c.place
LIMIT coalesce($limit, 25)
