// purpose: ingests that were interrupted (run the same ingest again)
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE k.status <> 'complete'
RETURN count(k) AS count, collect(k.status) AS examples
