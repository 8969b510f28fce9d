// purpose: store terms
// params: corpus, rows
// since: 5.26
UNWIND $rows AS row
MERGE (t:Term {id: row.id})
WITH t, row
WHERE t.label IS NULL OR t.label <> row.label OR t.chunks <> row.chunks
SET t.corpus = $corpus, t.name = row.name, t.label = row.label, t.chunks = row.chunks
