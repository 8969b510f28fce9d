// @title: Records that two evaluations score differently
// purpose: a number of each record in two runs, F1 or recall at 5 where none is named, the largest difference first; the last complete one and the one of its kind before where none is named
// params: first, second, measure, limit
// since: 5.26
MATCH (r:EvalRun)
WHERE r.status = 'complete'
WITH r
ORDER BY r.createdAt, r.id
WITH collect(r) AS runs
WITH
  runs,
  CASE
    WHEN $second IS NULL THEN [r IN runs WHERE r.id <> coalesce($first, '')][-1]
    ELSE head([r IN runs WHERE r.id = $second])
  END AS two
WITH
  CASE
    WHEN $first IS NULL
      THEN [r IN runs WHERE r.kind = two.kind AND r.id <> two.id][-1]
    ELSE head([r IN runs WHERE r.id = $first])
  END AS one,
  two
WHERE one IS NOT NULL AND two IS NOT NULL
UNWIND [{run: one, at: 0}, {run: two, at: 1}] AS side
WITH side.run AS r, side.at AS at
MATCH (r)-[:HAS_RECORD]->(e:EvalRecord)
WITH
  e.recordId AS record,
  e.question AS question,
  at,
  CASE
    WHEN $measure IS NULL THEN coalesce(e.f1, e.recall_5)
    ELSE toFloatOrNull(e[$measure])
  END AS value
WITH
  record,
  max(question) AS question,
  max(CASE WHEN at = 0 THEN value END) AS first,
  max(CASE WHEN at = 1 THEN value END) AS second
WHERE first <> second OR (first IS NULL) <> (second IS NULL)
RETURN
  record,
  round(first, 4) AS first,
  round(second, 4) AS second,
  round(second - first, 4) AS difference,
  question
ORDER BY abs(second - first) IS NULL, abs(second - first) DESC, record
LIMIT coalesce($limit, 50)
