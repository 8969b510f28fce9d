// purpose: store terms
// params: corpus, rows
// since: 5.26
UNWIND $rows AS row
MERGE (t:Term {id: row.id})
SET t.corpus = $corpus, t.name = row.name, t.label = row.label, t.chunks = row.chunks
