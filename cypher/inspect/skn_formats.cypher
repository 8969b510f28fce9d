// @title: Extraction formats side by side
// purpose: main metrics of each format in runs of `eval skn`, the latest first
// params: dataset, model, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'skn', status: 'complete'})
WHERE ($dataset IS NULL OR r.dataset = $dataset)
  AND ($model IS NULL OR r.model = $model)
MATCH (r)-[:HAS_METRIC]->(m:Metric {path: ''})
WITH r, collect(m) AS metrics
WITH r, [name IN ['accuracy', 'ece', 'hallucination_rate', 'groundedness', 'abstention_f1', 'avg_context_tokens', 'usable_extractions'] |
    head([m IN metrics WHERE m.name = name | round(m.value, 4)])] AS found
RETURN
  r.variant AS format,
  r.model AS model,
  r.judge AS judge,
  r.dataset AS dataset,
  r.samples AS samples,
  found[0] AS accuracy,
  found[1] AS calibrationError,
  found[2] AS hallucinationRate,
  found[3] AS groundedness,
  found[4] AS abstentionF1,
  found[5] AS contextTokens,
  found[6] AS usableExtractions,
  r.id AS run
ORDER BY r.createdAt DESC, model, format
LIMIT coalesce($limit, 25)
