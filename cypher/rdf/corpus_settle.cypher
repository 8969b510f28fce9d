// purpose: set the state of a corpus at the end of an import
// params: name, status
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.status <> $status
SET k.status = $status
