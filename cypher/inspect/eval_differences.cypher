// @title: Paired differences of two evaluations
// purpose: for each number that records of both runs have, the mean difference over these records with its 95 % interval by Student's t; measures of quality first; the last complete run and the one of its kind before where none is named
// params: first, second, limit
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
WITH at, e
ORDER BY e.index
WITH
  e.recordId AS record,
  head(collect(CASE WHEN at = 0 THEN e END)) AS a,
  head(collect(CASE WHEN at = 1 THEN e END)) AS b
WHERE a IS NOT NULL AND b IS NOT NULL
UNWIND
  [name IN keys(a) WHERE name <> 'index' AND valueType(a[name]) =~ '(FLOAT|INTEGER) .*'] AS measure
WITH measure, toFloat(a[measure]) AS first, toFloatOrNull(b[measure]) AS second
WHERE second IS NOT NULL
WITH
  measure,
  count(*) AS n,
  avg(first) AS first,
  avg(second) AS second,
  avg(second - first) AS difference,
  stDev(second - first) AS deviation,
  sum(CASE WHEN second > first THEN 1 ELSE 0 END) AS higher,
  sum(CASE WHEN second < first THEN 1 ELSE 0 END) AS lower
// the quantile of Student's t for n - 1, by its expansion about that of the normal
WITH
  *,
  CASE
    WHEN n > 4
      THEN
        deviation / sqrt(n) * (1.96 + 2.3722 / (n - 1) + 2.8225 / (n - 1) ^ 2 + 2.5558 / (n - 1) ^ 3)
  END AS half
RETURN
  measure,
  round(difference, 4) AS difference,
  round(difference - half, 4) AS low,
  round(difference + half, 4) AS high,
  n,
  round(first, 4) AS first,
  round(second, 4) AS second,
  higher,
  lower
ORDER BY
  measure =~ 'milliseconds|documentsCrossed|sentences|hops|filled|.*(Fields|Tokens|Seconds)',
  abs(difference) DESC,
  measure
LIMIT coalesce($limit, 50)
