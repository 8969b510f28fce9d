// purpose: the chunks that name a term, with their documents
// params: term
// since: 5.26
MATCH named = (:Term {label: $term})<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(:Document)
RETURN named
LIMIT 50
