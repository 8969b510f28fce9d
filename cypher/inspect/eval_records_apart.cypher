// @title: Records that two evaluations score differently
// purpose: F1 of each record in two runs, the largest difference first; the last two complete ones where none is named
// params: first, second, limit
// since: 5.26
MATCH (r:EvalRun)
WHERE r.status = 'complete'
WITH r
ORDER BY r.createdAt, r.id
WITH collect(r) AS runs
WITH
  CASE
    WHEN $first IS NULL THEN runs[-2]
    ELSE head([r IN runs WHERE r.id = $first])
  END AS one,
  CASE
    WHEN $second IS NULL THEN runs[-1]
    ELSE head([r IN runs WHERE r.id = $second])
  END AS two
WHERE one IS NOT NULL AND two IS NOT NULL
UNWIND [{run: one, at: 0}, {run: two, at: 1}] AS side
WITH side.run AS r, side.at AS at
MATCH (r)-[:HAS_RECORD]->(e:EvalRecord)
WITH
  e.recordId AS record,
  max(CASE WHEN at = 0 THEN e.f1 END) AS first,
  max(CASE WHEN at = 1 THEN e.f1 END) AS second
WHERE first <> second OR (first IS NULL) <> (second IS NULL)
RETURN
  record,
  round(first, 4) AS first,
  round(second, 4) AS second,
  round(second - first, 4) AS difference
ORDER BY abs(second - first) IS NULL, abs(second - first) DESC, record
LIMIT coalesce($limit, 50)
