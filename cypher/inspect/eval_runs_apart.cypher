// @title: Two evaluations side by side
// purpose: metrics of two runs, measures of quality first, then times and extents, each the largest difference first; the last complete one and the one of its kind before where none is named
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
WITH one, two, side.run AS r, side.at AS at
MATCH (r)-[:HAS_METRIC]->(m:Metric)
WITH
  one,
  two,
  m.name AS metric,
  m.path AS field,
  max(CASE WHEN at = 0 THEN m.value END) AS first,
  max(CASE WHEN at = 1 THEN m.value END) AS second
RETURN
  metric,
  field,
  round(first, 4) AS first,
  round(second, 4) AS second,
  round(second - first, 4) AS difference,
  coalesce(one.system, one.variant, one.ranking, one.extracted, one.dataset) AS firstSystem,
  coalesce(two.system, two.variant, two.ranking, two.extracted, two.dataset) AS secondSystem,
  one.id AS firstRun,
  two.id AS secondRun
ORDER BY
  field <> '',
  metric =~ 'milliseconds.*|documents.*|sentences|hops|usable_extractions|.*_(tokens|time_s|latency_s)',
  abs(second - first) IS NULL,
  abs(second - first) DESC,
  metric,
  field
LIMIT coalesce($limit, 50)
