// @title: Rankings against ground truth
// purpose: main metrics of each ranking in runs of `eval zelo benchmark`, the latest first
// params: dataset, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'zelo', status: 'complete'})
WHERE $dataset IS NULL OR r.dataset = $dataset
MATCH (r)-[:HAS_METRIC]->(m:Metric {path: ''})
WITH r, collect(m) AS metrics
WITH r, [name IN ['ndcg', 'accuracy', 'nDCG@' + toString(r.k), 'RR'] |
    head([m IN metrics WHERE m.name = name])] AS found
RETURN
  r.ranking AS ranking,
  r.dataset AS truth,
  r.written AS queries,
  round(found[0].value, 4) AS ndcg,
  round(found[0].ciLow, 4) AS ndcgLow,
  round(found[0].ciHigh, 4) AS ndcgHigh,
  round(found[1].value, 4) AS accuracy,
  r.k AS k,
  round(found[2].value, 4) AS ndcgAtK,
  round(found[3].value, 4) AS reciprocalRank,
  r.id AS run
ORDER BY r.createdAt DESC, ranking
LIMIT coalesce($limit, 25)
