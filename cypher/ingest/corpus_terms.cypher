// purpose: whether a corpus made before there were terms has them
// params: name, terms
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.terms IS NULL
SET k.terms = $terms
