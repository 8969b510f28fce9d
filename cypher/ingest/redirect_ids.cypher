// purpose: ids of a corpus' redirects
// params: corpus
// since: 5.26
MATCH (r:Redirect {corpus: $corpus})
RETURN r.id AS id
