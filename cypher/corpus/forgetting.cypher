// purpose: count a new version of a complete corpus and mark that documents are being forgotten
// params: name
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.status = 'complete'
SET k.version = k.version + 1, k.status = 'forgetting'
