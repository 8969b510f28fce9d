// purpose: stored evaluations, the latest first
// params: kind
// since: 5.26
MATCH (r:EvalRun)
WHERE $kind IS NULL OR r.kind = $kind
RETURN
  r.id AS id,
  r.kind AS kind,
  r.dataset AS dataset,
  r.status AS status,
  r.written AS written,
  r.createdAt AS createdAt
ORDER BY createdAt DESC, id
