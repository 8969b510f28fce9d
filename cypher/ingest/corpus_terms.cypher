// purpose: add terms to a corpus, or say whether one made before there were terms has them
// params: name, terms
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.terms IS NULL OR k.terms <> $terms
SET k.terms = $terms
REMOVE k.termRules
