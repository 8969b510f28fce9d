// purpose: count a new version and mark the corpus as unfinished; it stays locked until what is written is there
// params: name, version
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k.version = $version, k.status = 'unfinished'
