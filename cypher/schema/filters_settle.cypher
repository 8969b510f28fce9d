// purpose: all chunks have copies of what filters name, so that the vector index may be filtered by them
// params: names
// since: 5.26
MATCH (k:Corpus)
WHERE k.copied = $names
SET k.filters = $names
