// purpose: corpora whose count of chunks, by which rare terms are told, is not right
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE k.chunks <> COUNT {
  MATCH (c:Chunk {corpus: $corpus})
  USING INDEX c:Chunk(corpus)
  RETURN c
}
RETURN count(k) AS count, collect(toString(k.chunks)) AS examples
