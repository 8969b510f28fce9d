// purpose: every corpus with the settings that a question must agree with
// params:
// since: 5.26
MATCH (k:Corpus)
WHERE k.name IS NOT NULL
RETURN
  k.name AS name,
  k.embedder AS embedder,
  coalesce(k.queryPrompt, '') AS query_prompt,
  k.dimensions AS dimensions,
  coalesce(k.version, 0) AS version,
  coalesce(k.terms AND k.termRules IS NOT NULL, false) AS terms,
  coalesce(toString(k.createdAt), elementId(k)) AS stamp,
  coalesce(k.status = 'complete', false) AS complete,
  coalesce(k.filters, []) AS filters
ORDER BY name
