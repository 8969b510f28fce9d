// purpose: every corpus with the settings that a question must agree with
// params:
// since: 5.26
MATCH (k:Corpus)
WHERE k.name IS NOT NULL
RETURN
  k.name AS name,
  k.embedder AS embedder,
  k.queryPrompt AS queryPrompt,
  k.dimensions AS dimensions,
  k.version AS version,
  coalesce(k.terms AND k.termRules IS NOT NULL, false) AS terms,
  coalesce(toString(k.createdAt), elementId(k)) AS stamp,
  k.status AS status
ORDER BY name
