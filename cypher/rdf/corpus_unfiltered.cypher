// purpose: chunks of a corpus may lack copies of what filters name, from now on
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
REMOVE k.filters, k.copied
