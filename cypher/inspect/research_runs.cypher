// @title: Research that was done
// purpose: research over corpora with what it cost and why it ended, the latest first
// params: corpus, limit
// since: 5.26
MATCH (r:Research)
WHERE $corpus IS NULL OR r.corpus = $corpus
RETURN
  r.question AS question,
  r.status AS status,
  r.stopReason AS stopReason,
  r.model AS model,
  r.walks AS walks,
  r.calls AS calls,
  COUNT { (r)-[:ASKS]->()-[:FOUND]->() } AS findings,
  COUNT { (r)-[:CLAIMS]->() } AS claims,
  r.id AS research,
  r.createdAt AS time
ORDER BY time DESC, research
LIMIT coalesce($limit, 25)
