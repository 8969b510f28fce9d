// @title: Where judges disagree most
// purpose: judged pairs of chunks by how far apart the judges' scores are, with what each judge said
// params: corpus, question, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (b:Battle {corpus: name})
  RETURN b
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (b:Battle)
  RETURN b
}
MATCH (q:Query)<-[:FOR_QUERY]-(b)
WHERE ($corpus IS NULL OR b.corpus = $corpus)
  AND ($question IS NULL OR q.text = $question)
  AND size(b.judges) > 1
MATCH (b)-[:LEFT]->(l:Chunk)-[:FROM_DOCUMENT]->(dl:Document)
MATCH (b)-[:RIGHT]->(r:Chunk)-[:FROM_DOCUMENT]->(dr:Document)
RETURN
  round(b.spread, 3) AS apart,
  q.text AS question,
  dl.title AS left,
  dr.title AS right,
  [
    i IN range(0, size(b.judges) - 1) |
    b.judges[i] + ': ' + toString(round(b.scores[i], 2))
  ] AS said,
  b.reasonings AS reasonings,
  left(l.text, 120) + CASE WHEN size(l.text) > 120 THEN '…' ELSE '' END AS leftText,
  left(r.text, 120) + CASE WHEN size(r.text) > 120 THEN '…' ELSE '' END AS rightText,
  b.id AS battle
ORDER BY apart DESC, question, battle
LIMIT coalesce($limit, 25)
