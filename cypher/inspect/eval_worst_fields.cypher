// @title: Fields that an extraction gets wrong most often
// purpose: fields of a run of `eval fields`, the worst first; the latest complete run where none is named
// params: run, limit
// since: 5.26
MATCH (r:EvalRun {kind: 'fields'})
WHERE ($run IS NULL AND r.status = 'complete') OR r.id = $run
WITH r
ORDER BY r.createdAt DESC, r.id
LIMIT 1
MATCH (r)-[:HAS_METRIC]->(m:Metric {name: 'field_score'})
RETURN
  m.path AS field,
  round(m.value, 4) AS score,
  m.n AS n,
  m.matches AS matches,
  m.mismatches AS mismatches,
  m.omissions AS omissions,
  m.hallucinations AS hallucinations,
  r.id AS run
ORDER BY m.value, n DESC, field
LIMIT coalesce($limit, 25)
