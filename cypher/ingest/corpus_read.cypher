// purpose: the stored settings and state of a corpus
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
RETURN properties(k) AS properties
