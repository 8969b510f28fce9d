// purpose: name the state that the texts of a corpus are linked in
// params: name, state
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k.linkState = $state
