// purpose: delete the node of an emptied corpus
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
DETACH DELETE k
