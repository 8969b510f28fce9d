// @title: Why one chunk beat another
// purpose: what each judge said when two chunks met, or along the shortest chain of battles between them; chunks are named by id or by title of their document, and are the best two of the latest judged question where none is named
// params: corpus, question, winner, loser, limit
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
CALL (q) {
  MATCH (q)-[j:JUDGED]->(w:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE $winner IS NULL OR w.id = $winner OR d.title = $winner
  RETURN w, j.rank AS place
  ORDER BY place
  LIMIT 1
}
CALL (q, w) {
  MATCH (q)-[j:JUDGED]->(l:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE l <> w
    AND ($loser IS NULL OR l.id = $loser OR d.title = $loser)
  RETURN l
  ORDER BY j.rank
  LIMIT 1
}
MATCH p = ALL SHORTEST (w)
  (()-[:LEFT|RIGHT]-(b:Battle WHERE b.queryId = q.id)-[:LEFT|RIGHT]-()){1,4}
  (l)
WITH
  q,
  nodes(p) AS path,
  relationships(p) AS sides,
  reduce(
    sum = 0.0, i IN range(0, size(relationships(p)) - 2, 2) |
    sum
      + CASE type(relationships(p)[i]) WHEN 'LEFT' THEN -1 ELSE 1 END
      * nodes(p)[i + 1].score
  ) AS strength
ORDER BY strength DESC, [n IN path | n.id]
WITH q, collect({path: path, sides: sides}) AS chains
UNWIND chains[..CASE WHEN size(chains[0].path) = 3 THEN 20 ELSE 1 END] AS chain
WITH q, chain.path AS path, chain.sides AS sides
UNWIND range(0, size(path) / 2 - 1) AS step
WITH DISTINCT
  q,
  step,
  path[2 * step] AS one,
  path[2 * step + 1] AS battle,
  path[2 * step + 2] AS two,
  CASE type(sides[2 * step]) WHEN 'LEFT' THEN -1 ELSE 1 END AS side
MATCH (q)-[j1:JUDGED]->(one)-[:FROM_DOCUMENT]->(d1:Document)
MATCH (q)-[j2:JUDGED]->(two)-[:FROM_DOCUMENT]->(d2:Document)
UNWIND range(0, size(battle.judges) - 1) AS i
RETURN
  step + 1 AS step,
  d1.title AS chunk,
  d2.title AS against,
  battle.judges[i] AS judge,
  round(side * battle.scores[i], 3) AS inFavour,
  battle.reasonings[i] AS reasoning,
  round(j1.zelo, 3) AS zelo,
  round(j2.zelo, 3) AS zeloAgainst,
  left(one.text, 120) + CASE WHEN size(one.text) > 120 THEN '…' ELSE '' END AS text,
  left(two.text, 120) + CASE WHEN size(two.text) > 120 THEN '…' ELSE '' END AS textAgainst,
  battle.id AS battle,
  q.text AS question
ORDER BY step, battle, judge
LIMIT coalesce($limit, 25)
