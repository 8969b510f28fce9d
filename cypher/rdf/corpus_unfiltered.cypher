// purpose: chunks of a corpus may lack copies of what filters name
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
REMOVE k.filters
