// purpose: count a new version and mark the corpus as unfinished; it stays locked until what is written is there
// params: name, version
// since: 5.26
MATCH (k:Corpus {name: $name})
// The lock of who changes its documents.
SET k.name = k.name
WITH k
WHERE k.version <> $version OR k.status <> 'unfinished'
SET k.version = $version, k.status = 'unfinished'
