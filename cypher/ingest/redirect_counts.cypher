// purpose: how many redirects of a corpus have their target in it
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WITH sum(size(d.aliases)) AS resolved
RETURN resolved, COUNT { MATCH (r:Redirect {corpus: $corpus}) } - resolved AS waiting
