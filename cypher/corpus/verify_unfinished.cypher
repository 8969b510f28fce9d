// purpose: ingests, or deletions of documents, that were interrupted or whose source broke off (run them again)
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE k.status <> 'complete'
RETURN count(k) AS count, collect(k.status) AS examples
