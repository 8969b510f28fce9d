// purpose: name the state that the texts of a corpus are linked in
// params: name, state
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.linkState IS NULL OR k.linkState <> $state
SET k.linkState = $state
