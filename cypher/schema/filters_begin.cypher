// purpose: from now on chunks that are stored get copies of what filters name of their documents; those that are there may lack them
// params: names
// since: 5.26
MATCH (k:Corpus)
SET k.copied = $names
REMOVE k.filters
