// @title: Evaluations that are stored
// purpose: stored evaluations with their main numbers, the latest first
// params: kind, dataset, limit
// since: 5.26
MATCH (r:EvalRun)
WHERE ($kind IS NULL OR r.kind = $kind)
  AND ($dataset IS NULL OR r.dataset = $dataset)
OPTIONAL MATCH (r)-[:HAS_METRIC]->(m:Metric {name: 'f1', path: ''})
RETURN
  r.createdAt AS time,
  r.kind AS kind,
  r.dataset AS dataset,
  r.status AS status,
  r.written AS records,
  round(m.value, 4) AS f1,
  round(m.ciLow, 4) AS f1Low,
  round(m.ciHigh, 4) AS f1High,
  r.id AS run
ORDER BY time DESC, run
LIMIT coalesce($limit, 25)
