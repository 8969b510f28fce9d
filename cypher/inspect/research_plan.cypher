// @title: What research asked
// purpose: the sub-questions of research (the latest one where none is given), why each was asked and what it found
// params: research, limit
// since: 5.26
MATCH (r:Research)
WHERE $research IS NULL OR r.id = $research
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
MATCH (r)-[:ASKS]->(q:SubQuestion)
OPTIONAL MATCH (q)-[:WALKED]->(t:Traversal)
RETURN
  q.place AS place,
  q.text AS question,
  q.reason AS reason,
  COUNT { (q)-[:FOUND]->() } AS findings,
  head([(p:SubQuestion)-[:LED_TO]->(q) | p.text]) AS after,
  t.id AS traversal
ORDER BY place
LIMIT coalesce($limit, 100)
