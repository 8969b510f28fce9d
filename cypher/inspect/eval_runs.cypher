// @title: Evaluations that are stored
// purpose: stored evaluations with their main numbers, system being the way of finding, the format, the ranking or the file that was measured, the latest first
// params: kind, dataset, limit
// since: 5.26
MATCH (r:EvalRun)
WHERE ($kind IS NULL OR r.kind = $kind)
  AND ($dataset IS NULL OR r.dataset = $dataset)
OPTIONAL MATCH (r)-[:HAS_METRIC]->(m:Metric {name: 'f1', path: ''})
RETURN
  r.dataset AS dataset,
  r.kind AS kind,
  coalesce(r.system, r.variant, r.ranking, r.extracted) AS system,
  round(m.value, 4) AS f1,
  r.id AS run,
  r.createdAt AS time,
  r.status AS status,
  r.written AS records,
  round(m.ciLow, 4) AS f1Low,
  round(m.ciHigh, 4) AS f1High
ORDER BY time DESC, run
LIMIT coalesce($limit, 25)
