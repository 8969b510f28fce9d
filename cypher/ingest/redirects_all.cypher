// purpose: redirects of a corpus
// params: corpus
// since: 5.26
MATCH (r:Redirect {corpus: $corpus})
RETURN r.id AS id, r.title AS title, r.targetKey AS targetKey
