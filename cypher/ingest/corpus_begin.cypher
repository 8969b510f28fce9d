// purpose: count a new version and mark the corpus as unfinished
// params: name, version
// since: 5.26
MATCH (k:Corpus {name: $name})
WHERE k.version <> $version OR k.status <> 'unfinished'
SET k.version = $version, k.status = 'unfinished'
