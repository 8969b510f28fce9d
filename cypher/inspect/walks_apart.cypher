// @title: Where two algorithms part
// purpose: for each question and pair of algorithms the first step at which their latest walks differ, with the beginning of what each read and how they part: other passages, or one ended before; no step where they never do
// params: corpus, question, algorithm, other, limit
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
MATCH (q)<-[:FOR_QUERY]-(t:Traversal)
WHERE (q.corpus = $corpus OR $corpus IS NULL AND NOT q.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($question IS NULL OR q.text = $question)
WITH q, t
ORDER BY t.createdAt DESC, t.id
WITH q, t.algorithm AS algorithm, collect(t)[0] AS t
WITH
  q,
  t,
  algorithm,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
    RETURN s {.chunkId, .title, .text}
    ORDER BY s.index
  } AS steps
WITH q, collect({algorithm: algorithm, time: t.createdAt, steps: steps}) AS walks
UNWIND walks AS a
UNWIND walks AS b
WITH q, a, b
WHERE a.algorithm < b.algorithm
  AND ($algorithm IS NULL OR $algorithm IN [a.algorithm, b.algorithm])
  AND ($other IS NULL OR $other IN [a.algorithm, b.algorithm])
WITH
  q,
  a,
  b,
  [
    i IN range(0, size(a.steps) + size(b.steps))
    WHERE coalesce(a.steps[i].chunkId, '') <> coalesce(b.steps[i].chunkId, '')
  ][0] AS step
RETURN
  a.algorithm + ', ' + b.algorithm AS walks,
  CASE
    WHEN step IS NULL THEN 'never: the steps are the same'
    WHEN step >= size(a.steps) THEN 'the first ended before'
    WHEN step >= size(b.steps) THEN 'the second ended before'
    ELSE 'other passages'
  END AS apart,
  step,
  a.steps[step].title AS title,
  b.steps[step].title AS otherTitle,
  q.text AS question,
  a.algorithm AS algorithm,
  b.algorithm AS other,
  left(a.steps[step].text, 80) + CASE WHEN size(a.steps[step].text) > 80 THEN '…' ELSE '' END AS text,
  left(b.steps[step].text, 80) + CASE WHEN size(b.steps[step].text) > 80 THEN '…' ELSE '' END AS otherText
ORDER BY a.time DESC, question, algorithm, other
LIMIT coalesce($limit, 25)
