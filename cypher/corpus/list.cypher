// purpose: corpora with their size and state
// params: 
// since: 5.26
MATCH (k:Corpus)
WHERE k.name IS NOT NULL
RETURN k.name AS name,
       COUNT { (k)<-[:IN_CORPUS]-(:Document) } AS documents,
       k.embedder AS embedder,
       k.version AS version,
       k.status AS status
ORDER BY name
