// purpose: titles among which a mistyped one is looked for
// params: corpus, limit
// since: 5.26
MATCH (d:Document)
WHERE $corpus IS NULL OR d.corpus = $corpus
RETURN d.title AS title
LIMIT $limit
