// purpose: mark a corpus as complete
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.status <> 'complete'
SET k.status = 'complete'
