// @title: Ways of finding passages, as they were measured
// purpose: runs of `eval retrieval` with their means at k = 5, or at the largest k that was evaluated, the latest evaluation first
// params: dataset, system, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'retrieval', status: 'complete'})
WHERE ($dataset IS NULL OR r.dataset = $dataset)
  AND ($system IS NULL OR r.system = $system)
OPTIONAL MATCH (r)-[:HAS_METRIC]->(m:Metric {path: ''})
WITH r, collect(m) AS metrics
WITH
  r,
  metrics,
  COLLECT {
    UNWIND metrics AS m
    WITH toInteger(split(m.name, 'recall@')[1]) AS cutoff
    WHERE cutoff IS NOT NULL
    RETURN DISTINCT cutoff
    ORDER BY cutoff <> 5, cutoff DESC
  }[0] AS k
RETURN
  r.dataset AS dataset,
  r.system AS system,
  k,
  head([m IN metrics WHERE m.name = 'recall@' + k | round(m.value, 4)]) AS recall,
  head([m IN metrics WHERE m.name = 'recall@' + k | round(m.ciLow, 4)]) AS low,
  head([m IN metrics WHERE m.name = 'recall@' + k | round(m.ciHigh, 4)]) AS high,
  head([m IN metrics WHERE m.name = 'all_recall@' + k | round(m.value, 4)]) AS allRecall,
  head([m IN metrics WHERE m.name = 'mrr' | round(m.value, 4)]) AS mrr,
  head([m IN metrics WHERE m.name = 'milliseconds_p50' | round(m.value, 1)]) AS p50,
  head([m IN metrics WHERE m.name = 'mrr' | m.n]) AS n,
  r.createdAt AS time,
  r.unit AS unit,
  r.embedder AS embedder,
  r.seed AS seed,
  r.commit AS commit,
  r.id AS run
ORDER BY time DESC, dataset, recall DESC, system, run
LIMIT coalesce($limit, 50)
