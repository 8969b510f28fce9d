// @title: Why a ranking is as it is
// purpose: the judged chunks of a question, best first, with what each won and lost and the strongest reasons for and against it; the latest judged question where none is named
// params: corpus, question, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (q:Query {corpus: name})
  RETURN q
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (q:Query)
  RETURN q
}
WITH q
WHERE q.judgedAt IS NOT NULL
  AND ($corpus IS NULL OR q.corpus = $corpus)
  AND ($question IS NULL OR q.text = $question)
WITH q
ORDER BY q.judgedAt DESC, q.id
LIMIT 1
MATCH (q)-[j:JUDGED]->(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
CALL (q, c) {
  MATCH (q)<-[:FOR_QUERY]-(b:Battle)-[side:LEFT|RIGHT]->(c)
  WITH
    b,
    CASE type(side) WHEN 'RIGHT' THEN 1 ELSE -1 END * b.score AS gain
  ORDER BY gain DESC, b.id
  WITH collect({gain: gain, battle: b}) AS battles
  RETURN
    size([x IN battles WHERE x.gain > 0]) AS won,
    size([x IN battles WHERE x.gain < 0]) AS lost,
    size([x IN battles WHERE x.gain = 0]) AS tied,
    [x IN battles WHERE x.gain > 0][0].battle.reason AS bestReason,
    [x IN battles WHERE x.gain < 0][-1].battle.reason AS worstReason
}
RETURN
  j.rank AS rank,
  round(j.zelo, 3) AS zelo,
  round(j.stderr, 3) AS stderr,
  won,
  lost,
  tied,
  d.title AS title,
  left(c.text, 120) + CASE WHEN size(c.text) > 120 THEN '…' ELSE '' END AS text,
  bestReason AS reasonFor,
  worstReason AS reasonAgainst,
  c.id AS chunk,
  q.text AS question
ORDER BY rank
LIMIT coalesce($limit, 25)
