// purpose: mark a corpus as being deleted
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k.status = 'deleting'
