// purpose: all chunks have copies of what filters name, so that the vector index may be filtered by them
// params:
// since: 5.26
MATCH (k:Corpus)
WHERE k.copied IS NOT NULL
SET k.filters = k.copied
