// @title: Ways of finding passages, as they were measured
// purpose: runs of `eval retrieval` with their means, the latest evaluation first
// params: dataset, system, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'retrieval', status: 'complete'})
WHERE ($dataset IS NULL OR r.dataset = $dataset)
  AND ($system IS NULL OR r.system = $system)
OPTIONAL MATCH (r)-[:HAS_METRIC]->(m:Metric {path: ''})
WHERE m.name IN ['recall@5', 'all_recall@5', 'mrr', 'milliseconds_p50']
WITH r, collect(m) AS metrics
RETURN
  r.createdAt AS time,
  r.dataset AS dataset,
  r.system AS system,
  r.unit AS unit,
  r.embedder AS embedder,
  head([m IN metrics WHERE m.name = 'recall@5' | round(m.value, 4)]) AS recall5,
  head([m IN metrics WHERE m.name = 'recall@5' | round(m.ciLow, 4)]) AS low,
  head([m IN metrics WHERE m.name = 'recall@5' | round(m.ciHigh, 4)]) AS high,
  head([m IN metrics WHERE m.name = 'all_recall@5' | round(m.value, 4)]) AS allRecall5,
  head([m IN metrics WHERE m.name = 'mrr' | round(m.value, 4)]) AS mrr,
  head([m IN metrics WHERE m.name = 'milliseconds_p50' | round(m.value, 1)]) AS p50,
  head([m IN metrics WHERE m.name = 'mrr' | m.n]) AS n,
  r.seed AS seed,
  r.commit AS commit,
  r.id AS run
ORDER BY time DESC, dataset, recall5 DESC, system, run
LIMIT coalesce($limit, 50)
