// @title: Answers that rest least on their extraction
// purpose: samples of runs of `eval skn` that are answered worst, with the extractions they judge
// params: variant, model, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'skn', status: 'complete'})-[:HAS_RECORD]->(e:EvalRecord)
WHERE ($variant IS NULL OR r.variant = $variant)
  AND ($model IS NULL OR r.model = $model)
OPTIONAL MATCH (e)-[:JUDGES]->(x:Extraction)
WITH r, e, head(collect(x.id)) AS extraction
RETURN
  e.recordId AS sample,
  r.variant AS format,
  r.model AS model,
  e.correct AS correct,
  round(e.groundedness, 4) AS groundedness,
  round(e.severity, 4) AS severity,
  e.failedJudges AS failedJudges,
  extraction,
  r.id AS run
ORDER BY groundedness, severity DESC, correct, sample, format, run
LIMIT coalesce($limit, 25)
